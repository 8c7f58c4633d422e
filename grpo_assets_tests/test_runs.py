"""A run makes what is missing or stale, in order, once, and goes on past a variant that fails."""

import json
import os
import signal
from pathlib import Path

import dagster as dg
import pytest

from grpo_assets import runs
from grpo_assets.assets.partitions import PROJECT
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runs import Batch, Ran, batches, needed, run
from grpo_assets.runtime.survey import survey


@pytest.fixture(scope="module")
def mini(instance: dg.DagsterInstance) -> list[Ran]:
    """The small smoke experiment, run once."""
    return list(run(PROJECT, "mini", instance))


def folder(experiment: str) -> Path:
    return PROJECT.folder / "store" / "experiments" / experiment


def test_every_artifact_is_made_after_its_inputs() -> None:
    """In the batches of an experiment no artifact comes before one of its inputs, and each comes once."""
    nodes = needed(PROJECT, "tiny")
    order = [ref for batch in batches(nodes) for ref in batch]

    assert sorted(order) == sorted(node.ref for node in nodes)
    for node in nodes:
        assert all(order.index(ref) < order.index(node.ref) for ref in node.inputs)


def test_a_variant_is_trained_and_evaluated_in_one_run_after_the_plan() -> None:
    """A Dagster run makes a checkpoint and its evaluation, and the plan stands before the first."""
    order = batches(needed(PROJECT, "tiny"))
    variants = [batch for batch in order if batch[0].asset == "checkpoint"]

    assert len(variants) == 16
    assert all([ref.asset for ref in batch] == ["checkpoint", "dev_evaluation"] for batch in variants)
    plan = next(i for i, batch in enumerate(order) if Ref("experiment_plan", "tiny") in batch)
    assert plan < order.index(variants[0])


def test_a_run_ends_with_a_decision(mini: list[Ran]) -> None:
    """All files of the experiment are there, and the decision names one of the variants."""
    names = {file.name for file in folder("mini").iterdir()}
    decision = json.loads((folder("mini") / "selected_checkpoint.json").read_text())

    assert not [ran.failures for ran in mini if ran.failures]
    assert names >= {"plan.md", "plan.json", "experiment_table.md", "summary.json", "selected_checkpoint.json"}
    assert decision["selection_policy"] == "dev_or_smoke_metrics_only_no_heldout_test"
    assert len(decision["passed_over"]) == 7  # of 8 configurations
    assert decision["outcome"] == "no winner"  # four steps teach too little to be told from luck
    assert decision["selected"] is None


def test_a_variant_has_its_files(mini: list[Ran]) -> None:
    """Metrics, last rollouts and a manifest with axes, recipe, inputs, versions and hashes lie in its folder."""
    variant = next((folder("mini") / "variants").iterdir())
    manifest = json.loads((variant / "checkpoint_manifest.json").read_text())

    assert {file.name for file in variant.iterdir()} == {
        "metrics.jsonl",
        "groups.jsonl",
        "last_rollouts.jsonl",
        "policy.json",
        "checkpoint_manifest.json",
    }
    assert manifest["settings"]["variant"].keys() == {"seed", "group_size", "kl_beta", "reward", "curriculum"}
    assert manifest["settings"]["recipe"] == {"steps": 4, "rollouts_per_step": 8, "learning_rate": 0.5}
    assert {name.split()[0] for name in manifest["inputs"]} == {"curriculum", "train_tasks", "reward", "base_policy"}


def test_the_decision_carries_the_isolation_of_the_dev_tasks(mini: list[Ran]) -> None:
    """What the tasks asset found of the splits arrives in the decision."""
    decision = json.loads((folder("mini") / "selected_checkpoint.json").read_text())
    dev = PROJECT.store.manifest(Ref("dev_tasks", "few"))

    made_from = decision["isolation"].pop("made_from")
    ledger = decision["isolation"].pop("ledger")
    assert dev is not None
    assert decision["isolation"] == dev["facts"]["isolation"]
    assert {"tasks", "dev_tasks", "experiment_table"} <= set(made_from)
    assert "heldout_tasks" not in made_from
    assert ledger["selections_on_these_dev_tasks"] >= 1
    assert (ledger["openings_before"], ledger["reopened"]) == ([], None)


def test_a_second_run_makes_nothing(mini: list[Ran], instance: dg.DagsterInstance) -> None:
    """When all is current no Dagster run is started."""
    before = instance.get_runs_count()

    again = list(run(PROJECT, "mini", instance))

    assert {ran.seconds for ran in again} == {0.0}
    assert instance.get_runs_count() == before


def test_held_out_tasks_are_not_opened_by_a_run(mini: list[Ran]) -> None:
    """The held-out split is not even written."""
    assert PROJECT.store.manifest(Ref("heldout_tasks", "few")) is None


def test_dagster_has_the_fingerprint_as_the_version(mini: list[Ran], instance: dg.DagsterInstance) -> None:
    """The data version of a materialization is the fingerprint in the manifest."""
    ref = Ref("selected_checkpoint", "mini")
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=dg.AssetKey(ref.asset), asset_partitions=[ref.key]), limit=1
    )

    event = records.records[0].asset_materialization
    manifest = PROJECT.store.manifest(ref)
    assert event is not None
    assert event.tags is not None
    assert manifest is not None
    assert event.tags["dagster/data_version"] == manifest["fingerprint"]


def test_the_table_is_on_its_page_in_the_ui(mini: list[Ran], instance: dg.DagsterInstance) -> None:
    """The materialization of the table has it as Markdown, with its path and row count."""
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=dg.AssetKey("experiment_table"), asset_partitions=["mini"]), limit=1
    )

    event = records.records[0].asset_materialization
    assert event is not None
    assert event.metadata["table"] == dg.MetadataValue.md((folder("mini") / "experiment_table.md").read_text())
    assert event.metadata["dagster/row_count"].value == 16
    assert event.metadata["path"].value == str(folder("mini"))


def test_a_damaged_checkpoint_is_made_again_and_nothing_else(mini: list[Ran], instance: dg.DagsterInstance) -> None:
    """A file of other content is found; training again gives the same bytes, so nothing follows."""
    checkpoint = next(ref for ref in PROJECT.graph if ref.asset == "checkpoint" and ref.key.startswith("mini/"))
    file = folder("mini") / "variants" / checkpoint.key.split("/")[1] / "policy.json"
    good = file.read_text()
    file.write_text(good.replace("0", "1"))

    again = list(run(PROJECT, "mini", instance))

    assert [ran.batch[0] for ran in again if ran.seconds] == [checkpoint]
    assert file.read_text() == good


def test_a_variant_that_fails_does_not_stop_the_others(instance: dg.DagsterInstance) -> None:
    """The table shows it with its reason, failure.json has it, and the decision is among the rest."""
    ran = list(run(PROJECT, "half-broken", instance))

    failures = {ref: state for r in ran for ref, state in r.failures.items()}
    table = (folder("half-broken") / "experiment_table.md").read_text()
    decision = json.loads((folder("half-broken") / "selected_checkpoint.json").read_text())
    broken, _ = [ref for ref, state in failures.items() if state.condition == "failed"]
    slug = broken.key.split("/")[1]
    failure = json.loads((folder("half-broken") / "variants" / slug / "failure.json").read_text())
    assert "has diverged" in failure["reason"]
    assert f"| {slug} | failed: {failure['reason']} |" in table
    [passed_over] = decision["passed_over"].values()
    assert failure["reason"] in passed_over
    assert decision["configuration"] == "reward_v0_correctness_static_g-4_kl-0_static"
    assert survey(PROJECT, [broken])[broken].condition == "failed"


def test_a_failed_variant_is_tried_again_by_the_next_run(instance: dg.DagsterInstance) -> None:
    """A second run tries what failed, and nothing else, since its outcome is the same."""
    list(run(PROJECT, "half-broken", instance))

    again = [ran for ran in run(PROJECT, "half-broken", instance) if ran.seconds]

    assert [ran.batch[0].asset for ran in again] == ["checkpoint"] * 2
    assert again[0].failures


def test_a_signal_that_dagster_loses_still_stops_a_run(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its steps Dagster only notes a signal and forgets it; the run ends all the same."""

    def signalled(project: object, experiment: str, batch: Batch, *_: object) -> Ran:
        os.kill(os.getpid(), signal.SIGINT)
        return Ran(batch, {})

    monkeypatch.setattr(runs, "_run_batch", signalled)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(run(PROJECT, "mini", instance))
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_run_that_fails_outside_its_artifacts_says_why(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no artifact recorded a failure, Dagster's own reason ends the run."""
    trouble = Ran((Ref("tasks", "few"),), {}, 1.0, 1.0, "Dagster run 7: No space left on device")
    monkeypatch.setattr(runs, "_run_batch", lambda *_: trouble)

    with pytest.raises(FailedWork, match="No space left on device"):
        next(run(PROJECT, "mini", instance))
