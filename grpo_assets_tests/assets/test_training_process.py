"""Training in a process of its own: seen while it goes on, stopped with its state saved, gone with its parent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import psutil
import pytest

from grpo_assets.assets.partitions import PROJECT
from grpo_assets.domain.lineage import Ref
from grpo_assets.runs import run
from grpo_assets_tests.conftest import make_data_folder

VARIANT = "reward_v1_shaped_static_seed-1_g-4_kl-0.1_static"


@pytest.fixture(scope="module")
def mini(instance: dg.DagsterInstance) -> None:
    """The small TRL experiment, run through Dagster."""
    assert not [ran.failures for ran in run(PROJECT, "mini-trl", instance) if ran.failures]


def test_each_step_is_in_the_log_of_the_run(mini: None, instance: dg.DagsterInstance) -> None:
    """The child's steps are log lines of the run that started it."""
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=dg.AssetKey("checkpoint"), asset_partitions=[f"mini-trl/{VARIANT}"]), limit=1
    )
    messages = [entry.user_message for entry in instance.all_logs(records.records[0].run_id)]

    assert [message[:7] for message in messages if message.startswith("step ")] == ["step 1:", "step 2:", "step 3:"]
    assert any("groups informative" in message for message in messages)


def test_steps_are_observations_of_the_checkpoint(mini: None, instance: dg.DagsterInstance) -> None:
    """The numbers of a step stand on the asset's page, to be plotted."""
    records = instance.fetch_observations(
        dg.AssetRecordsFilter(asset_key=dg.AssetKey("checkpoint"), asset_partitions=[f"mini-trl/{VARIANT}"]), limit=10
    )
    observations = [record.asset_observation for record in records.records]

    assert sorted(observation.metadata["step"].value for observation in observations if observation) == [1.0, 2.0, 3.0]


def test_the_state_is_gone_when_the_checkpoint_is_there(mini: None) -> None:
    """Nothing is left of what a stopped training would have gone on from."""
    states = PROJECT.store.scratch / "states"

    assert not [file for file in states.rglob("*") if file.is_file()]
    assert PROJECT.store.manifest(Ref("checkpoint", f"mini-trl/{VARIANT}")) is not None


COMMAND = [sys.executable, "-m", "grpo_assets.cli", "run", "long-trl"]


def environment(data: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    return {**ours, "GRPO_DATA_DIR": str(data)}


def start(data: Path, until_step: int) -> subprocess.Popen[str]:
    """Start the long experiment and come back in the middle of its training."""
    process = subprocess.Popen(
        COMMAND,
        env=environment(data),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    for _ in range(900):
        if steps_taken(data) >= until_step:
            return process
        time.sleep(0.1)
    raise AssertionError("the training did not begin")


def steps_taken(data: Path) -> int:
    files = list((data / "store/.scratch/states").glob("*/*/metrics.jsonl"))
    return len(files[0].read_text().splitlines()) if files else 0


def saved_steps(data: Path) -> list[int]:
    folders = (data / "store/.scratch/states").glob("*/*/checkpoint-*/complete.json")
    return [int(file.parent.name.removeprefix("checkpoint-")) for file in folders]


def trainer_of(process: subprocess.Popen[str]) -> psutil.Process:
    [child] = [
        c for c in psutil.Process(process.pid).children(recursive=True) if "training_child" in " ".join(c.cmdline())
    ]
    return child


def finish(data: Path) -> dict:
    """Run the long experiment to its end; gives what its checkpoint's files are, those with seconds in them apart."""
    process = subprocess.run(COMMAND, env=environment(data), capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    manifest = data / f"store/experiments/long-trl/variants/{VARIANT}/checkpoint_manifest.json"
    files = json.loads(manifest.read_text())["files"]
    return {name: file["sha256"] for name, file in files.items() if name != "metrics.jsonl"}


@pytest.mark.slow
def test_whatever_stops_a_training_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """A killed trainer, a cancelled run and a killed run are clean, and the result is that of an undisturbed one."""
    data = make_data_folder(tmp_path / "disturbed")

    process = start(data, until_step=20)
    trainer_of(process).kill()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the training process ended by itself" in output
    assert "code -9" in output
    assert "Traceback" not in output

    process = start(data, until_step=40)
    trainer, asked = trainer_of(process), time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the run and to the trainer
    output, _ = process.communicate(timeout=60)
    assert time.monotonic() - asked < 20
    assert process.returncode == 130, output
    assert not trainer.is_running()
    [saved] = saved_steps(data)
    assert saved >= 40

    process = start(data, until_step=saved + 20)
    trainer = trainer_of(process)
    process.kill()
    process.communicate()
    assert psutil.wait_procs([trainer], timeout=10)[1] == []

    assert finish(data) == finish(make_data_folder(tmp_path / "undisturbed"))
