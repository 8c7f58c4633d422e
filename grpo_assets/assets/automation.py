"""What runs by itself once it is switched on: the schedule that looks at rewards, and what follows from a new version.

An asset is due when an input that it follows has another version than at its last request; it is requested when it is
due, has been made before, and everything above it has settled. `eager` and plain conditions on changed inputs do
neither: they fire on refreshes, train before the curriculum is rebuilt, and lose what changes during a training.
Blocking checks need no term of their own: what fails one is not made, so its version does not change.
"""

import json
import subprocess
import sys
import warnings

import dagster as dg
from dagster._utils.schedules import is_valid_cron_string  # no public name

from grpo_assets.assets.partitions import PROJECT
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.mistakes import refuse

# a condition of our own runs in the code server, which Dagster calls beta; a test on a live daemon says that it works
warnings.filterwarnings("ignore", category=dg.BetaWarning, message=".*use_user_code_server")

AC = dg.AutomationCondition
CRON = PROJECT.catalog.automation.reward_versions.cron
if not is_valid_cron_string(CRON):
    raise refuse("automation.yaml", "reward_versions.cron", CRON, "minute, hour, day, month and weekday, as 0 * * * *")

FOLLOWS: dict[str, list[str]] = {
    "prompt_statistics": ["reward"],
    "curriculum": ["prompt_statistics"],
    "experiment_plan": ["prompt_statistics"],
    "checkpoint": ["reward", "curriculum"],
    "dev_evaluation": ["checkpoint"],
    "experiment_table": ["checkpoint", "dev_evaluation"],
    "selected_checkpoint": ["experiment_table"],
}
"""The inputs whose new version makes an asset due; held-out tasks are opened by nothing here."""

WAITS = {"selected_checkpoint": ["experiment_plan"]}
"""Inputs that must have settled too, though their new version alone asks for nothing."""

GOES_ON = frozenset({"experiment_table", "selected_checkpoint"})
"""Made also where something above has failed: a table says which of its variants did."""


class Reruns(dg.AutomationCondition):
    """Variants of experiments that say `on_reward_change: rerun`; the others are only reported as stale."""

    @property
    def name(self) -> str:
        """As the UI shows it."""
        return "on_reward_change: rerun"

    def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:
        """The partitions of such experiments."""
        candidates = context.candidate_subset
        wanted = candidates.expensively_compute_partition_keys() - reported_variants()
        return dg.AutomationResult(context, candidates.compute_intersection_with_partition_keys(wanted))


def reported_variants() -> set[str]:
    """The partitions of checkpoints that do not train again by themselves."""
    return {
        f"{name}/{slug}"
        for name, experiment in PROJECT.catalog.experiments.items()
        if experiment.on_reward_change == "report"
        for slug in variants(experiment)
    }


def _is_due(asset: str) -> dg.AutomationCondition:
    changed = AC.any_deps_match(AC.data_version_changed()).allow(_assets(FOLLOWS[asset])) & ~AC.missing()
    if asset == "checkpoint":
        changed = changed & Reruns()
    return changed.since(AC.newly_requested() & ~changed)


def _is_unsettled(asset: str, also_failed: bool) -> dg.AutomationCondition:
    unsettled = _is_due(asset) | AC.in_progress()
    if also_failed:
        unsettled = unsettled | AC.execution_failed()
    for above in FOLLOWS[asset]:
        if above in FOLLOWS:
            unsettled = unsettled | AC.any_deps_match(_is_unsettled(above, also_failed)).allow(_assets([above]))
    return unsettled


def _assets(names: list[str]) -> dg.AssetSelection:
    return dg.AssetSelection.assets(*names)


def condition_of(asset: str) -> dg.AutomationCondition | None:
    """When an asset is requested by itself; None for one that never is."""
    if asset not in FOLLOWS:
        return None
    also_failed = asset not in GOES_ON
    inputs = [*FOLLOWS[asset], *WAITS.get(asset, [])]
    condition = (
        _is_due(asset) & ~AC.missing() & ~AC.in_progress() & ~AC.any_deps_match(AC.in_progress()).allow(_assets(inputs))
    )
    for above in inputs:
        if above in FOLLOWS:
            condition = condition & ~AC.any_deps_match(_is_unsettled(above, also_failed)).allow(_assets([above]))
    return condition.with_label(f"{asset} is due and settled")


AUTOMATION = dg.AutomationConditionSensorDefinition(
    "reward_changes",
    target=_assets(list(FOLLOWS)),
    use_user_code_server=True,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="After a new version of a reward: statistics, curricula, plan, variants, evaluations, table, decision.",
)

REWARD_JOB = dg.define_asset_job("reward_versions_job", selection=_assets(["reward"]))


@dg.schedule(
    name="reward_versions",
    job=REWARD_JOB,
    cron_schedule=CRON,
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Materializes the rewards whose code has another version than the one on record.",
)
def reward_versions(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
    """A run for each reward that was made before and has another version now."""
    rewards = versions_now()
    changed = {name: found["request"] for name, found in rewards.items() if found["condition"] == "changed"}
    if changed:
        return [
            dg.RunRequest(run_key=f"{name}@{request}", partition_key=name) for name, request in sorted(changed.items())
        ]
    kinds = {"refused": "refused, see its asset", "missing": "never made, so left alone"}
    others = [f"{name} ({kinds[found['condition']]})" for name, found in rewards.items() if found["condition"] in kinds]
    return dg.SkipReason("no reward has changed" + (f"; {', '.join(others)}" if others else ""))


def versions_now() -> dict[str, dict[str, str]]:
    """How each reward stands, by the code on disk: a process that has loaded it before would not see an edit.

    Raises:
        RuntimeError: with what the process said, such as a mistake in a YAML file.
    """
    command = [sys.executable, "-m", "grpo_assets.assets.reward_watch", str(PROJECT.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)
