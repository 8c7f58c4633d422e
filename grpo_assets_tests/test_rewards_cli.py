"""Rewards of the user's on the command line: checked before they count, and the old version holds until then."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from grpo_assets.runtime.catalog import load_catalog
from grpo_assets.runtime.store import read_table
from grpo_assets_tests.builders import gold_case
from grpo_assets_tests.conftest import SMALL
from grpo_assets_tests.test_cli import edit, environment, grpo_assets, materialize, written

BREVITY = """
LONGEST = 8


def brevity(rollout):
    if rollout.verdict.outcome != "pass":
        return 0.0
    return max(0, LONGEST - rollout.token_count) / LONGEST
"""
GOLD = [
    gold_case(token_count=4, reward=0.5),
    gold_case(completion="2", outcome="fail", reward=0.0),
]


@pytest.fixture
def own(data: Path) -> Path:
    """A data folder with an experiment on a reward of its own."""
    (data / "own").mkdir()
    (data / "own" / "rewards.py").write_text(BREVITY)
    declare(data, [{"name": "brevity", "path": "own.rewards:brevity", "gold": GOLD}])
    return data


def declare(data: Path, rewards: list[dict]) -> None:
    """Write the small experiment with these rewards, on `brevity`."""
    spec = json.loads(json.dumps(SMALL["experiments/mini.yaml"]))
    spec["matrix"] |= {"rewards": ["brevity"], "curricula": ["static"], "group_sizes": [4]}
    (data / "experiments" / "own.yaml").write_text(yaml.safe_dump({**spec, "rewards": rewards}))


def summary(data: Path) -> dict:
    return json.loads((data / "store/experiments/own/summary.json").read_text())


def artifacts(data: Path) -> dict[str, bytes]:
    """All files of artifacts by name, records of failures left out."""
    names = (n for n in written(data) if n.startswith("store/") and ".scratch" not in n and "failure" not in n)
    return {name: (data / name).read_bytes() for name in names}


def test_an_experiment_runs_on_a_reward_by_path(own: Path, tmp_path: Path) -> None:
    """The module lies in the data folder, wherever the command runs; the table has its version."""
    done = grpo_assets("run", "own", data=own, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    rows = summary(own)["variants"]
    manifest = json.loads((own / "store/reward/brevity/manifest.json").read_text())
    assert {row["status"] for row in rows} == {"complete"}
    assert {row["reward_version"] for row in rows} == {manifest["fingerprint"][:12]}
    assert manifest["facts"]["path"] == "own.rewards:brevity"
    assert manifest["checks"] == {"gold_cases": {"passed": True, "facts": {"cases": 2}}}
    assert "reward version" in (own / "store/experiments/own/experiment_table.md").read_text()
    assert "0 of" in grpo_assets("status", "own", data=own).stdout


def test_a_new_version_that_misses_a_gold_case_leaves_the_old_one_in_force(own: Path) -> None:
    """The case is shown, every file stays as it was, and status says why; put right, the new version is trained on."""
    assert grpo_assets("run", "own", data=own).returncode == 0
    before = artifacts(own)
    edit(own / "own" / "rewards.py", "LONGEST = 8", "LONGEST = 6")

    refused = grpo_assets("run", "own", data=own)

    assert refused.returncode == 1
    assert "reward brevity: 1 of 2 gold cases do not hold, so this version does not count" in refused.stderr
    assert "case 1: completion '210': expected 0.5, got 0.333" in refused.stderr
    assert artifacts(own) == before

    said = grpo_assets("status", "own", data=own).stdout
    assert "failed   reward brevity: reward brevity: 1 of 2 gold cases do not hold" in said
    assert "stale    experiment_table own: input" in said
    assert "tasks few" not in said

    declare(own, [{"name": "brevity", "path": "own.rewards:brevity", "gold": [{**GOLD[0], "reward": 1 / 3}, GOLD[1]]}])
    done = grpo_assets("run", "own", data=own)
    assert done.returncode == 0, done.stdout + done.stderr
    after = artifacts(own)
    [rollouts] = [name for name in after if name.endswith("pilot_rollouts.parquet")]
    assert after[rollouts] == before[rollouts]
    assert summary(own)["variants"][0]["reward_version"] not in str(before["store/experiments/own/summary.json"])


def test_another_gold_case_is_checked_and_retrains_nothing(own: Path) -> None:
    """Only the reward is made again."""
    assert grpo_assets("run", "own", data=own).returncode == 0
    before = artifacts(own)
    more = [*GOLD, gold_case(token_count=6, reward=0.25)]
    declare(own, [{"name": "brevity", "path": "own.rewards:brevity", "gold": more}])

    done = grpo_assets("run", "own", data=own)

    assert done.returncode == 0, done.stderr
    assert "Dagster runs: 1," in done.stdout
    after = artifacts(own)
    assert {name for name in after if after[name] != before[name]} == {"store/reward/brevity/manifest.json"}


def test_a_reward_that_cannot_be_imported_stops_its_own_experiment_only(own: Path) -> None:
    """Its asset fails with the reason and nothing is made from it; what the old version made stays."""
    assert grpo_assets("run", "own", data=own).returncode == 0
    before = artifacts(own)
    (own / "own" / "rewards.py").write_text("import no_such_library\n")

    broken = grpo_assets("run", "own", data=own)
    other = grpo_assets("run", "mini", "--dry-run", data=own)

    reason = "own.rewards:brevity: cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"
    assert broken.returncode == 1
    assert f"reward brevity: {reason}" in broken.stderr
    assert "Traceback" not in broken.stderr
    assert artifacts(own) == before
    assert f"failed   reward brevity: {reason}" in grpo_assets("status", "own", data=own).stdout
    assert other.returncode == 0, other.stderr
    assert materialize(own, "reward", "reward_v0_correctness").returncode == 0


def test_a_path_that_is_none_ends_with_2(own: Path) -> None:
    """The message names file, field, value and what is allowed."""
    edit(own / "experiments" / "own.yaml", "own.rewards:brevity", "own.rewards.brevity")

    done = grpo_assets("status", "mini", data=own)

    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: experiments/own.yaml: rewards.0.path: 'own.rewards.brevity' is not allowed\n"
        "  allowed: module:function, as my_package.rewards:brevity"
    )


def test_a_declared_reward_is_in_the_catalog(own: Path) -> None:
    """Its gold cases and its version stand beside those of the shipped ones."""
    assert len(load_catalog(own).rewards["brevity"].gold) == 2


STRICTER = """
import sys
from dataclasses import replace
from pathlib import Path
from grpo_assets.domain import lineage
from grpo_assets.runtime.tabular import TabularPolicy
from grpo_assets.runtime.verifier import exact

verify, complete = exact.verify, TabularPolicy.complete

def counted(self, tasks, samples, decoding, seed):
    with calls.open("a") as file:
        file.write(f"{seed}, {decoding}\\n")
    return complete(self, tasks, samples, decoding, seed)

lineage.VERIFIER = 99
exact.verify = lambda *arguments: replace(verify(*arguments), reason="anew")
TabularPolicy.complete = counted
calls, sys.argv = Path(sys.argv[1]), ["grpo-assets", "run", "mini"]
from grpo_assets.cli import main
main()
"""
"""The command with another verifier, which notes each time that a policy is asked for completions."""


def test_another_verifier_judges_stored_completions(data: Path, tmp_path: Path) -> None:
    """Pilot and baseline keep their completions and get new verdicts; only what was trained anew is sampled anew."""
    assert grpo_assets("run", "mini", data=data).returncode == 0
    files = [
        next((data / "store" / name).rglob(f"{name}.parquet")) for name in ("pilot_rollouts", "baseline_evaluation")
    ]
    before = [read_table(file) for file in files]

    calls = tmp_path / "calls"
    command = [sys.executable, "-c", STRICTER, str(calls)]
    done = subprocess.run(command, env=environment(data), capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(calls.read_text().splitlines()) == ["evaluation, greedy"] * 16 + ["evaluation, sampled"] * 16
    for file, stored in zip(files, before, strict=True):
        rows = read_table(file)
        assert {row["reason"] for row in rows} == {"anew"}
        assert [{**row, "reason": ""} for row in rows] == [{**row, "reason": ""} for row in stored]


@pytest.mark.slow
def test_a_reward_by_path_is_trained_on_in_a_process_of_its_own(own: Path, tmp_path: Path) -> None:
    """The trainer's process finds the module in the data folder too."""
    spec = json.loads(json.dumps(SMALL["experiments/mini-trl.yaml"]))
    spec["matrix"]["rewards"] = ["brevity"]
    spec["rewards"] = [{"name": "brevity", "path": "own.rewards:brevity", "gold": GOLD}]
    (own / "experiments" / "own.yaml").write_text(yaml.safe_dump(spec))

    done = grpo_assets("run", "own", data=own, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert {row["status"] for row in summary(own)["variants"]} == {"complete"}


def test_rewards_diff_says_what_moves_and_what_it_costs(data: Path) -> None:
    """Two rewards differ on named prompts; a version moves nothing against itself; unknown names end with 2."""
    assert grpo_assets("run", "mini", data=data).returncode == 0

    other = grpo_assets("rewards", "diff", "reward_v0_correctness", "reward_v1_shaped", data=data)
    same = grpo_assets("rewards", "diff", "reward_v1_shaped@stored", "reward_v1_shaped", data=data)
    unknown = grpo_assets("rewards", "diff", "reward_v9", "reward_v1_shaped", data=data)

    assert other.returncode == 0, other.stderr
    assert "8 variants would train again, since training calls the reward: 256 rollouts" in other.stdout
    assert "no stored score moved" not in other.stdout
    assert "no stored score moved" in same.stdout
    assert "no checkpoint would train again" in same.stdout
    assert (unknown.returncode, "'reward_v9' is not allowed" in unknown.stderr) == (2, True)


def test_superseded_checkpoints_stay_until_gc(data: Path) -> None:
    """Another recipe trains anew; the former checkpoints are kept, listed and then removed."""
    assert grpo_assets("run", "mini", data=data).returncode == 0
    edit(data / "experiments" / "mini.yaml", "learning_rate: 0.5", "learning_rate: 0.25")
    assert grpo_assets("run", "mini", data=data).returncode == 0

    listed = grpo_assets("gc", "--dry-run", data=data)
    kept = list((data / "store" / "superseded").iterdir())
    removed = grpo_assets("gc", data=data)

    assert f"{len(kept)} superseded artifacts would be removed" in listed.stdout
    assert listed.stdout.count("checkpoint mini/") == 16
    assert removed.returncode == 0
    assert list((data / "store" / "superseded").iterdir()) == []
    assert "mini: 0 of " in grpo_assets("status", "mini", data=data).stdout
