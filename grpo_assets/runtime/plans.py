"""Plans as they stand now: with the trainings that the store has, and planned against actual."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from grpo_assets.domain.ageing import brier_scores, forecast_of
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.lineage import Ref, scoring_key
from grpo_assets.domain.planning import plan
from grpo_assets.runtime.calibration import circumstances, seconds_of
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import read_table


def plan_from(
    project: Project, name: str, statistics: Mapping[str, Sequence[dict]], base: dict, sizes: dict[str, int]
) -> dict[str, Any]:
    """The plan of an experiment.

    Args:
        statistics: rows of `schemas.STATISTICS` by the name of the reward.
        base: the manifest of the base policy.
        sizes: tasks by split.
    """
    around = circumstances(project, name, base, sizes)
    content = plan(project.catalog.experiments[name], statistics, around)
    return {"experiment": name, "hardware": around.hardware, **content}


def plan_now(project: Project, name: str) -> dict[str, Any]:
    """The plan from the artifacts in the store, which must be there; with what has come of it so far in `actual`."""
    experiment = project.catalog.experiments[name]
    manifests = {}
    for asset, key in (("base_policy", experiment.policy), ("train_tasks", experiment.suite)):
        manifests[asset] = project.store.manifest(Ref(asset, key))
    statistics = {}
    for reward in experiment.matrix.rewards:
        ref = Ref("prompt_statistics", scoring_key(experiment, reward))
        manifest = project.store.manifest(ref)
        assert manifest is not None
        statistics[reward] = read_table(project.store.local_folder(ref, manifest) / "prompt_statistics.parquet")
    base, train = manifests["base_policy"], manifests["train_tasks"]
    assert base is not None
    assert train is not None
    content = plan_from(project, name, statistics, base, train["facts"]["sizes"])
    return {**content, "actual": _actual(project, name, statistics)}


def _actual(project: Project, name: str, statistics: Mapping[str, Sequence[dict]]) -> list[dict[str, Any]]:
    """For each variant that was trained: tokens, hours and informative groups, as planned and as they came.

    Beside them the Brier scores of the pilot's predictions, and of those that training's rollouts keep up to date.
    """
    ref = Ref("experiment_plan", name)
    manifest = project.store.manifest(ref)
    assert manifest is not None
    stored = json.loads((project.store.local_folder(ref, manifest) / "plan.json").read_text(encoding="utf-8"))
    planned = {row["variant"]: row for row in stored["variants"]}
    forecasts = {reward: forecast_of(rows) for reward, rows in statistics.items()}
    found = []
    for slug, variant in variants(project.catalog.experiments[name]).items():
        ref = Ref("checkpoint", f"{name}/{slug}")
        manifest = project.store.manifest(ref)
        if manifest is None:
            continue
        facts, row = manifest["facts"], planned[slug]
        found.append(
            {
                "variant": slug,
                "tokens": [row["generated_tokens"], facts["tokens"]],
                "hours": [row["hours"], seconds_of(project, ref) / 3600],
                "informative_groups": [row["expected_interval"], facts["informative_groups"]],
                "pilot_aged": facts["ageing"]["aged"],
                **brier_scores(_visits(project, ref), forecasts[variant.reward]),
            }
        )
    return found


def _visits(project: Project, ref: Ref) -> list[tuple[str, list[float | None]]]:
    """Task key and rewards of each group of a training, in its order."""
    groups = map(json.loads, project.store.text(ref, "groups.jsonl").splitlines())
    return [(group["task_key"], group["rewards"]) for group in groups]
