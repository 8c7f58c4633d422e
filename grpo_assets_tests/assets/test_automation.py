"""What runs by itself, tick by tick: only what a new version of a reward affects, once, in order, never held-out."""

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.events import AssetMaterializationPlannedData  # no public name

from grpo_assets.assets import automation
from grpo_assets.assets.automation import AUTOMATION, FOLLOWS, reward_versions
from grpo_assets.assets.partitions import PROJECT
from grpo_assets.definitions import defs
from grpo_assets.domain.lineage import Ref, ancestors

EXPERIMENT = "mini"
CHANGED, OTHER = "reward_v1_shaped", "reward_v0_correctness"
NODES = ancestors(PROJECT.graph, [Ref("selected_checkpoint", EXPERIMENT)])


class Ticks:
    """A Dagster instance in which the artifacts of one experiment have been made, and its automation, tick by tick."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.cursor = None
        self.trainings = 0

    def make(self, ref: Ref, version: str) -> None:
        """Report a materialization, as the run of a body does."""
        self.instance.report_runless_asset_event(
            dg.AssetMaterialization(ref.asset, partition=ref.key, tags={"dagster/data_version": version})
        )

    def begin(self, refs: set[Ref]) -> dict[Ref, dg.DagsterRun]:
        """Runs of these are on their way."""
        job = defs.resolve_implicit_global_asset_job_def()
        runs = {}
        for ref in refs:
            key = dg.AssetKey(ref.asset)
            runs[ref] = self.instance.create_run_for_job(
                job,
                asset_selection=frozenset({key}),
                tags={"dagster/partition": ref.key},
                status=dg.DagsterRunStatus.STARTED,
            )
            planned = AssetMaterializationPlannedData(key, ref.key)
            self.report(runs[ref], "ASSET_MATERIALIZATION_PLANNED", planned)
        return runs

    def report(self, run: dg.DagsterRun, kind: str, data: AssetMaterializationPlannedData | None = None) -> None:
        """An event of a run."""
        event = dg.DagsterEvent(event_type_value=kind, job_name=run.job_name, event_specific_data=data)
        self.instance.report_dagster_event(event, run.run_id)

    def fail(self, refs: set[Ref]) -> None:
        """Runs of these fail."""
        for run in self.begin(refs).values():
            self.instance.report_run_failed(run)

    def tick(self) -> set[Ref]:
        """Evaluate the conditions once; what is requested."""
        found = dg.evaluate_automation_conditions(
            defs, self.instance, asset_selection=dg.AssetSelection.assets(*FOLLOWS), cursor=self.cursor
        )
        self.cursor = found.cursor
        requested = {
            Ref(result.key.to_user_string(), partition)
            for result in found.results
            for partition in result.true_subset.expensively_compute_partition_keys()
        }
        self.trainings += sum(ref.asset == "checkpoint" for ref in requested)
        return requested

    def run(self, refs: set[Ref], version: str) -> None:
        """All of these are made."""
        for ref in sorted(refs):
            self.make(ref, version)


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ticks]:
    """The experiment is made, and the automation has looked once, which asks for nothing."""
    with dg.DagsterInstance.ephemeral() as instance:
        ticks = Ticks(instance)
        for node in NODES:
            ticks.make(node.ref, "1")
        assert ticks.tick() == set()
        yield ticks


def of(*assets: str, reward: str = CHANGED) -> set[Ref]:
    """The partitions of these assets that a reward leads to."""
    below: set[Ref] = {Ref("reward", reward)}
    for node in NODES:
        if node.ref.asset in FOLLOWS and any(source in below for source in node.inputs):
            below.add(node.ref)
    return {ref for ref in below if ref.asset in assets}


def test_a_new_version_runs_down_the_chain_once_and_in_order(made: Ticks) -> None:
    """Statistics, then curricula and the plan, variants, evaluations, table, decision; nothing of the other reward."""
    made.make(Ref("reward", CHANGED), "2")
    seen = []
    for _ in range(12):
        requested = made.tick()
        seen.append(requested)
        made.run(requested, "2")

    assert seen[:6] == [
        of("prompt_statistics"),
        of("curriculum", "experiment_plan"),
        of("checkpoint"),
        of("dev_evaluation"),
        of("experiment_table"),
        of("selected_checkpoint"),
    ]
    assert seen[6:] == [set()] * 6
    assert made.trainings == 8
    assert of("checkpoint") & of("checkpoint", reward=OTHER) == set()


def test_an_unchanged_order_still_trains_again(made: Ticks) -> None:
    """The curriculum's version covers the reward's, so a reward that moves no score reaches the variants."""
    made.make(Ref("reward", CHANGED), "2")
    made.run(made.tick(), "2")
    made.run(made.tick(), "2")

    assert made.tick() == of("checkpoint")


def test_a_refresh_with_the_same_version_runs_nothing(made: Ticks) -> None:
    """A reward that is materialized again as it was asks for nothing."""
    made.make(Ref("reward", CHANGED), "1")

    assert [made.tick() for _ in range(3)] == [set()] * 3


def test_variants_that_finish_apart_give_one_table(made: Ticks) -> None:
    """The table waits for the last evaluation."""
    made.make(Ref("reward", CHANGED), "2")
    for _ in range(2):
        made.run(made.tick(), "2")
    first, *others = sorted(made.tick())
    made.make(first, "2")
    runs = made.begin(set(others))
    evaluations = made.tick()
    made.run(evaluations, "2")
    assert {ref.asset for ref in evaluations} == {"dev_evaluation"}
    assert [made.tick() for _ in range(3)] == [set()] * 3
    made.run(set(others), "2")
    for run in runs.values():
        made.report(run, "PIPELINE_SUCCESS")
    made.run(made.tick(), "2")

    assert made.tick() == of("experiment_table")
    assert made.trainings == 8


def test_failed_statistics_hold_the_training(made: Ticks) -> None:
    """No variant trains on a curriculum that was not rebuilt, however often the sensor looks."""
    made.make(Ref("reward", CHANGED), "2")
    made.fail(made.tick())

    assert [made.tick() for _ in range(4)] == [set()] * 4
    assert made.trainings == 0


def test_a_failed_variant_does_not_stop_the_table(made: Ticks) -> None:
    """The others are evaluated, the table and the decision are made, and nothing trains twice."""
    made.make(Ref("reward", CHANGED), "2")
    for _ in range(2):
        made.run(made.tick(), "2")
    first, *others = sorted(made.tick())
    made.fail({first})
    made.run(set(others), "2")
    made.run(made.tick(), "2")

    assert made.tick() == of("experiment_table")
    made.run(of("experiment_table"), "2")
    assert made.tick() == of("selected_checkpoint")
    assert made.trainings == 8


def test_a_reward_that_changes_during_training_is_not_lost(made: Ticks) -> None:
    """The variants train once more, after the curriculum has been rebuilt once more."""
    made.make(Ref("reward", CHANGED), "2")
    for _ in range(2):
        made.run(made.tick(), "2")
    training = made.tick()
    made.make(Ref("reward", CHANGED), "3")
    assert made.tick() == of("prompt_statistics")
    made.run(training, "2")
    made.run(of("prompt_statistics"), "3")
    after = [made.tick()]
    while after[-1]:
        made.run(after[-1], "3")
        after.append(made.tick())

    order = [sorted({ref.asset for ref in requested}) for requested in after]
    assert order[:-1] == [
        ["curriculum", "experiment_plan"],
        ["checkpoint"],
        ["dev_evaluation"],
        ["experiment_table"],
        ["selected_checkpoint"],
    ]
    assert made.trainings == 16


def test_partitions_that_were_never_made_stay_unmade(made: Ticks) -> None:
    """An experiment that is added in the middle asks for no GPU; it starts with a run of its own."""
    shared = Ref("reward", CHANGED)
    others = [ref for ref in PROJECT.graph if ref.asset in FOLLOWS and ref not in {node.ref for node in NODES}]
    made.make(shared, "2")
    seen = [made.tick()]
    while seen[-1]:
        made.run(seen[-1], "2")
        seen.append(made.tick())

    assert others
    assert not set().union(*seen) & set(others)


def test_a_run_from_the_command_line_beside_the_sensor_trains_nothing_twice(made: Ticks) -> None:
    """What a command has made under the new version is requested at most once more, where its body does nothing."""
    made.make(Ref("reward", CHANGED), "2")
    for asset in ("prompt_statistics", "curriculum", "experiment_plan", "checkpoint", "dev_evaluation"):
        made.run(of(asset), "2")
    made.run(of("experiment_table", "selected_checkpoint"), "2")
    seen = [made.tick() for _ in range(8)]
    flat = [ref for requested in seen for ref in requested]

    assert len(flat) == len(set(flat))
    assert seen[-1] == set()


def test_a_rebuilt_base_policy_asks_for_nothing(made: Ticks) -> None:
    """New weights need new pilots, which are a person's decision."""
    made.make(Ref("base_policy", "tabular"), "2")

    assert [made.tick() for _ in range(3)] == [set()] * 3


def test_an_experiment_that_only_reports_trains_nothing(made: Ticks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics, curricula and plan are made anew, so that status and plan say what a training would change."""
    catalog = PROJECT.catalog
    reporting = catalog.experiments[EXPERIMENT].model_copy(update={"on_reward_change": "report"})
    experiments = {**catalog.experiments, EXPERIMENT: reporting}
    of_reports = type(PROJECT)(
        PROJECT.folder, catalog.model_copy(update={"experiments": experiments}), PROJECT.graph, PROJECT.store
    )
    monkeypatch.setattr(automation, "PROJECT", of_reports)
    made.make(Ref("reward", CHANGED), "2")
    seen = [made.tick()]
    while seen[-1]:
        made.run(seen[-1], "2")
        seen.append(made.tick())

    assert set().union(*seen) == of("prompt_statistics", "curriculum", "experiment_plan")


def test_nothing_held_out_runs_by_itself() -> None:
    """Neither held-out tasks nor their evaluation, nor rollouts of the base policy, have a condition."""
    conditions = {spec.key.to_user_string(): spec.automation_condition for spec in defs.resolve_all_asset_specs()}

    assert {name for name, condition in conditions.items() if condition} == set(FOLLOWS)


def test_sensor_and_schedule_are_off_until_they_are_switched_on() -> None:
    """As usual in Dagster."""
    assert AUTOMATION.default_status == dg.DefaultSensorStatus.STOPPED
    assert reward_versions.default_status == dg.DefaultScheduleStatus.STOPPED
    assert reward_versions.cron_schedule == "0 * * * *"


def evaluate(monkeypatch: pytest.MonkeyPatch, **conditions: str) -> list[tuple[str, str]] | str:
    """What the schedule asks for where rewards stand so: run keys and partitions, or its reason for nothing."""
    names = dict(zip("abc", sorted(PROJECT.catalog.rewards), strict=True))
    found = {names[name]: {"condition": condition, "request": "9" * 64} for name, condition in conditions.items()}
    monkeypatch.setattr(automation, "versions_now", lambda: found)
    data = reward_versions.evaluate_tick(dg.build_schedule_context(repository_def=defs.get_repository_def()))
    if data.skip_message:
        return data.skip_message
    return [(str(request.run_key), str(request.partition_key)) for request in data.run_requests or []]


def test_the_schedule_asks_for_exactly_the_rewards_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a run key, so that one version is asked for once."""
    asked = evaluate(monkeypatch, a="current", b="changed", c="missing")

    assert asked == [(f"reward_v0_correctness@{'9' * 64}", "reward_v0_correctness")]


def test_the_schedule_says_why_it_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changed; a refused version and a reward that was never made are named."""
    reason = evaluate(monkeypatch, a="current", b="refused", c="missing")

    assert reason == (
        "no reward has changed; reward_v0_correctness (refused, see its asset), "
        "reward_v1_shaped (never made, so left alone)"
    )
