"""The Dagster instance that everything runs on, and the pool slots that killed runs left behind."""

import os
from pathlib import Path
from shutil import copyfile

import dagster as dg
import psutil
import yaml
from dagster._core.storage.event_log import SqliteEventLogStorage  # no public name

from grpo_assets.domain.mistakes import UserMistake

SHIPPED_CONFIG = Path(__file__).parent / "dagster.yaml"


def open_instance(data_folder: Path) -> dg.DagsterInstance:
    """The instance of `DAGSTER_HOME`, by default the one in the data folder; never a throw-away one.

    Raises:
        UserMistake: when the folder cannot be written.
    """
    home = Path(os.environ.get("DAGSTER_HOME") or data_folder / "dagster_home").absolute()
    os.environ["DAGSTER_HOME"] = str(home)
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dagster.yaml").exists():
            copyfile(SHIPPED_CONFIG, home / "dagster.yaml")
        return dg.DagsterInstance.get()
    except OSError as error:
        raise UserMistake(
            f"DAGSTER_HOME: {home}: cannot be used: {error.strerror}\n  allowed: a folder that this user can write"
        ) from None
    except (dg.DagsterError, yaml.YAMLError) as error:
        raise UserMistake(f"{home / 'dagster.yaml'}: {error}\n  allowed: the settings of a Dagster instance") from None


def free_slots_of_killed_runs(instance: dg.DagsterInstance) -> list[str]:
    """End the runs that hold a pool slot though their process is gone, and free the slots; returns their ids.

    A run killed with SIGKILL stays STARTED and keeps its slot for ever, and the next one waits for it.
    Only a local instance can be judged by its processes; a shared one has Dagster's run monitoring.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):
        return []
    freed = []
    for pool in storage.get_concurrency_keys():
        slots = storage.get_concurrency_info(pool)
        for run_id in sorted(slots.active_run_ids | slots.pending_run_ids):
            run = instance.get_run_by_id(run_id)
            if run and not run.is_finished:
                if _works(instance, run_id):
                    continue
                instance.report_run_failed(run, "Its process is gone; grpo-assets ended the run.")
            storage.free_concurrency_slots_for_run(run_id)
            freed.append(run_id)
    return freed


def _works(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether the process that executes a run is alive; one that started after the run is another process."""
    record = instance.get_run_record_by_id(run_id)
    started = record.start_time if record else None
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        pid = entry.get_dagster_event().engine_event_data.metadata.get("pid")
        if pid and started and psutil.pid_exists(int(str(pid.value))):
            try:
                return psutil.Process(int(str(pid.value))).create_time() <= started
            except psutil.NoSuchProcess:
                return False
    return False
