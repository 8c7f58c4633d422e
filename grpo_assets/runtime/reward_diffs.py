"""What a change of a reward means: for stored pilots, for the variants that would train again, and what that costs."""

from typing import Any

from grpo_assets.domain.experiments import variants
from grpo_assets.domain.lineage import Ref, by_content, pilot_key, scoring_key
from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.reward_diff import statistics_diff
from grpo_assets.domain.rollouts import prompt_statistics
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import read_json
from grpo_assets.runtime.rollouts import rescored
from grpo_assets.runtime.store import read_table

STORED = "@stored"
"""After a name: the statistics that the store has, not the reward as its code is now."""


def rewards_diff(project: Project, old: str, new: str) -> list[dict[str, Any]]:
    """Compare two rewards, or two versions of one, on every pilot that is stored.

    Args:
        old, new: names of rewards, scored by the code as it is now; `NAME@stored` is what was scored before.

    Returns:
        one entry a pilot: `pilot`, `statistics_diff`'s result in `changed`, and `retrained`: each variant that is
        declared with the old reward's name and has a checkpoint, with its planned rollouts and hours.

    Raises:
        UserMistake: for an unknown reward, or when there is nothing stored to compare on.
    """
    for name in (old, new):
        if name.removesuffix(STORED) not in project.catalog.rewards:
            allowed = f"one of {listed(project.catalog.rewards)}, or one with {STORED}"
            raise refuse("grpo-assets", "reward", name, allowed)
    by_pilot: dict[str, list[str]] = {}
    for name, experiment in project.catalog.experiments.items():
        by_pilot.setdefault(pilot_key(experiment), []).append(name)
    found = []
    for pilot, experiments in by_pilot.items():
        before, after = (_statistics(project, pilot, experiments[0], name) for name in (old, new))
        if before is None or after is None:
            continue
        sizes = sorted({size for name in experiments for size in project.catalog.experiments[name].matrix.group_sizes})
        retrained = [row for name in experiments for row in _retrained(project, name, old, new)]
        found.append({"pilot": pilot, "changed": statistics_diff(before, after, sizes), "retrained": retrained})
    if not found:
        raise UserMistake(
            f"rewards diff {old} {new}: no pilot has stored rollouts to compare them on\n"
            "  make one first: grpo-assets plan EXPERIMENT, with an experiment that has the reward in its matrix"
        )
    return found


def _statistics(project: Project, pilot: str, experiment: str, name: str) -> list[dict] | None:
    """The statistics of a pilot under a reward, from stored rollouts alone; None where these are not there."""
    if name.endswith(STORED):
        ref = Ref("prompt_statistics", scoring_key(project.catalog.experiments[experiment], name.removesuffix(STORED)))
        manifest = project.store.manifest(ref)
        return read_table(project.store.local_folder(ref, manifest) / "prompt_statistics.parquet") if manifest else None
    reward, ref = project.catalog.rewards[name], Ref("pilot_rollouts", pilot)
    if reward.function is None:
        raise UserMistake(f"{name}: {reward.version}")
    manifest = project.store.manifest(ref)
    if manifest is None:
        return None
    return prompt_statistics(
        *rescored(project.store.local_folder(ref, manifest) / "pilot_rollouts.parquet", reward.function)
    )


def _retrained(project: Project, name: str, old: str, new: str) -> list[dict[str, Any]]:
    """The variants of an experiment that have a checkpoint under the old reward, and what they were planned to cost."""
    ref = Ref("experiment_plan", name)
    manifest = project.store.manifest(ref)
    planned: dict[str, Any] = {}
    if manifest:
        content = read_json(project.store.local_folder(ref, manifest) / "plan.json")
        planned = {row["variant"]: row for row in content["variants"]}
    reward = old.removesuffix(STORED)
    found = []
    for slug, variant in variants(project.catalog.experiments[name]).items():
        checkpoint = project.store.manifest(Ref("checkpoint", f"{name}/{slug}"))
        if variant.reward == reward and checkpoint and _changes(project, checkpoint, old, new):
            row = planned.get(slug)
            cost = {field: row[field] if row else None for field in ("rollouts", "hours")}
            found.append({"experiment": name, "variant": slug, **cost})
    return found


def _changes(project: Project, checkpoint: dict, old: str, new: str) -> bool:
    """Whether a checkpoint was trained under another version than the new reward's."""
    if old.removesuffix(STORED) != new.removesuffix(STORED):
        return True
    name = new.removesuffix(STORED)
    ref = Ref("reward", name)
    return checkpoint["inputs"][str(ref)] != by_content(ref, project.catalog.rewards[name].version)
