"""Checks: the gate that blocks a suite, leaks, and the health of verdicts, each on the partition that it is about."""

import dagster as dg
import pytest

from grpo_assets.assets.partitions import PROJECT
from grpo_assets.definitions import defs
from grpo_assets.domain.lineage import Ref
from grpo_assets.runtime.store import place


def made(asset: str, key: str, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """One partition of one asset, made by Dagster."""
    job = defs.resolve_implicit_global_asset_job_def()
    selection = [dg.AssetKey(asset)]
    return job.execute_in_process(partition_key=key, asset_selection=selection, instance=instance, raise_on_error=False)


def checks_of(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {check.check_name: check for check in result.get_asset_check_evaluations()}


@pytest.fixture(scope="module")
def pilot(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """The pilot of the smoke experiment with what it is made from."""
    for asset, key in (("tasks", "python-basics"), ("train_tasks", "python-basics"), ("base_policy", "tabular")):
        assert made(asset, key, instance).success
    return made("pilot_rollouts", "tabular.python-basics.k8.r1", instance)


def test_a_suite_that_can_be_trusted_passes_its_gate(instance: dg.DagsterInstance) -> None:
    """The check has the numbers of tasks; made again, the artifact is reused and the check is reported again."""
    for _ in range(2):
        result = made("tasks", "python-basics", instance)

        admission = checks_of(result)["admission"]
        assert (result.success, admission.passed, admission.blocking) == (True, True, True)
        assert admission.metadata["read"].value == admission.metadata["admitted"].value == 72


def test_a_suite_that_cannot_be_trusted_is_blocked_and_not_made(instance: dg.DagsterInstance) -> None:
    """The check fails with the reason for each task, the run fails with the same words, and no table is written."""
    result = made("tasks", "untrustworthy", instance)

    admission = checks_of(result)["admission"]
    [rejected] = admission.metadata["rejected"].value
    assert (result.success, admission.passed, admission.severity) == (False, False, dg.AssetCheckSeverity.ERROR)
    assert rejected == {
        "task_id": "shout",
        "reason": "its own answer does not pass: wrong_answer, 1 of 2 checks",
    }
    failure = PROJECT.store.failure(Ref("tasks", "untrustworthy"))
    assert failure is not None
    assert "suite untrustworthy: 1 of 1 tasks are rejected" in failure["reason"]
    assert PROJECT.store.manifest(Ref("tasks", "untrustworthy")) is None
    assert not PROJECT.store.fs.exists(
        PROJECT.store.path(place(Ref("tasks", "untrustworthy")).folder) + "/tasks.parquet"
    )


def test_the_health_of_verdicts_stands_on_the_pilot(pilot: dg.ExecuteInProcessResult) -> None:
    """Candidates that know only the shown tests are a hack: the check warns, blocks nothing, and has the rates."""
    health = checks_of(pilot)["verifier_health"]

    assert (pilot.success, health.passed, health.severity) == (True, False, dg.AssetCheckSeverity.WARN)
    assert health.metadata["flip_rate"].value == 0.0
    assert health.metadata["no_verdict_rate"].value == 0.0
    assert health.metadata["repeated"].value > 50
    assert 0.1 < health.metadata["hack_rate"].value < 0.9
    assert "hack_rate" in str(health.metadata["troubles"].value)


def test_a_check_is_about_one_partition(pilot: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> None:
    """A bad suite does not mark a good one: each partition has a result of its own."""
    made("tasks", "untrustworthy", instance)
    made("tasks", "python-basics", instance)
    key = dg.AssetCheckKey(dg.AssetKey("tasks"), "admission")

    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=20)
    by_partition = {}
    for record in reversed(records):
        evaluation = record.event.dagster_event.event_specific_data
        by_partition[evaluation.partition] = evaluation.passed

    assert by_partition["untrustworthy"] is False
    assert by_partition["python-basics"] is True
