"""A reward is edited while `grpo-assets ui` runs: schedule and sensor rebuild what it affects, once and in order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from grpo_assets_tests.test_cli import asked, environment, grpo_assets

PORT = 24_000 + os.getpid() % 20_000
GOLD = [{"prompt": "1=", "answer": "1", "completion": "1", "outcome": "pass", "reward": 1.0}]
REWARDS = '''
"""Two rewards of a user."""

HALF = 0.5


def edited(rollout):
    """A pass counts, and a longer fail counts more."""
    if rollout.verdict.outcome == "pass":
        return 1.0
    return HALF * (rollout.token_count > 3)


def steady(rollout):
    return float(rollout.verdict.outcome == "pass")
'''
COSMETIC = REWARDS.replace("A pass counts", "All that passes counts").replace(
    "HALF * (", "HALF *  (  # so far\n        "
)
SEMANTIC = REWARDS.replace("HALF = 0.5", "HALF = 0.25")


@pytest.fixture
def live(data: Path) -> Path:
    """A data folder with an experiment under two rewards of the user's, made once; the schedule looks every minute."""
    experiment = yaml.safe_load((data / "experiments" / "learns.yaml").read_text())
    names = ("edited", "steady")
    experiment["rewards"] = [{"name": name, "path": f"live_rewards:{name}", "gold": GOLD} for name in names]
    experiment["matrix"] |= {"rewards": list(names), "curricula": ["static"]}
    del experiment["heldout"]
    (data / "experiments" / "live.yaml").write_text(yaml.safe_dump(experiment))
    (data / "automation.yaml").write_text('reward_versions: {cron: "* * * * *"}\n')
    (data / "live_rewards.py").write_text(REWARDS)
    made = grpo_assets("run", "live", data=data)
    assert made.returncode == 0, made.stderr
    return data


@pytest.fixture
def server(live: Path) -> Iterator[dg.DagsterInstance]:
    """The UI with its daemon, schedule and sensor switched on; gives the instance that both use."""
    process = subprocess.Popen(
        [sys.executable, "-m", "grpo_assets.cli", "ui", "--port", str(PORT)],
        env=environment(live),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait(lambda: asked(PORT, "{ version }"), 240, "the web server did not answer")
        where = 'repositoryLocationName: "grpo_assets", repositoryName: "__repository__"'
        schedule, sensor = f'{{{where}, scheduleName: "reward_versions"}}', f'{{{where}, sensorName: "reward_changes"}}'
        for what in (f"startSchedule(scheduleSelector: {schedule})", f"startSensor(sensorSelector: {sensor})"):
            wait(lambda what=what: started(what), 240, f"{what} did not work")
        state = "... on Sensor { sensorState { ticks { status } } }"
        ticks = f"{{ sensorOrError(sensorSelector: {sensor}) {{ {state} }} }}"
        wait(lambda: (said := asked(PORT, ticks)) and said["sensorOrError"]["sensorState"]["ticks"], 240, "no tick")
        with dg.DagsterInstance.from_config(str(live / "dagster_home")) as instance:
            yield instance
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def started(what: str) -> bool:
    """Whether switching something on worked; it does not until the code location is loaded."""
    said = asked(PORT, f"mutation {{ {what} {{ __typename }} }}")
    return bool(said) and all("Error" not in found["__typename"] for found in said.values())


def wait(until: Callable[[], Any], seconds: float, otherwise: str) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, otherwise
        time.sleep(1)


def made_since(instance: dg.DagsterInstance, start: float) -> list[tuple[str, str]]:
    """Asset and partition of each materialization since then, in the order in which they were made."""
    found = []
    for key in instance.all_asset_keys():
        records = instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=key, after_timestamp=start), limit=100
        )
        found += [(r.timestamp, key.to_user_string(), str(r.partition_key)) for r in records.records]
    return [(asset, partition) for _, asset, partition in sorted(found)]


@pytest.mark.slow
def test_an_edited_reward_rebuilds_what_it_affects_once_and_in_order(live: Path, server: dg.DagsterInstance) -> None:
    """A cosmetic edit runs nothing; a semantic one exactly its statistics, curriculum, variants, table and decision."""
    module = live / "live_rewards.py"
    start = time.time()
    module.write_text(COSMETIC)
    time.sleep(62)  # at least one tick of the schedule
    assert made_since(server, start) == []

    start = time.time()
    module.write_text(SEMANTIC)
    decided = ("selected_checkpoint", "live")
    wait(lambda: decided in made_since(server, start), 900, f"no decision; made: {made_since(server, start)}")
    time.sleep(40)  # what would run twice has the time to

    made = made_since(server, start)
    slugs = [f"live/edited_static_seed-{seed}_g-4_kl-0_static" for seed in (1, 2)]
    scoring = "tabular.few.k4.r1.edited"
    assert sorted(made) == sorted(
        [
            ("reward", "edited"),
            ("prompt_statistics", scoring),
            ("curriculum", f"{scoring}.static.g4"),
            ("experiment_plan", "live"),
            *(("checkpoint", slug) for slug in slugs),
            *(("dev_evaluation", slug) for slug in slugs),
            ("experiment_table", "live"),
            decided,
        ]
    )
    order = [asset for asset, _ in made]
    assert order[:2] == ["reward", "prompt_statistics"]
    assert set(order[2:4]) == {"curriculum", "experiment_plan"}
    assert max(i for i, asset in enumerate(order) if asset == "dev_evaluation") < order.index("experiment_table")
    assert order[-2:] == ["experiment_table", "selected_checkpoint"]
    assert "0 of " in grpo_assets("status", "live", data=live).stdout
