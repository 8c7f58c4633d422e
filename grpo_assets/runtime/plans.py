"""Plans as they stand now: with the trainings that the store has, and planned against actual."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from grpo_assets.domain.ageing import brier_scores, forecast_of
from grpo_assets.domain.costs import Measured
from grpo_assets.domain.curriculum import curriculum, visiting_order
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.lineage import Ref, scoring_key
from grpo_assets.domain.planning import plan
from grpo_assets.runtime.calibration import circumstances, seconds_of
from grpo_assets.runtime.hardware import kind_of_hardware
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import read_json
from grpo_assets.runtime.store import read_table
from grpo_assets.runtime.training import Training, train


def plan_from(
    project: Project,
    name: str,
    statistics: Mapping[str, Sequence[dict]],
    base: dict,
    sizes: dict[str, int],
    probed: Sequence[Measured] = (),
) -> dict[str, Any]:
    """The plan of an experiment.

    Args:
        statistics: rows of `schemas.STATISTICS` by the name of the reward.
        base: the manifest of the base policy.
        sizes: tasks by split.
        probed: trainings that were measured for this plan.
    """
    around = circumstances(project, name, base, sizes)
    around = replace(around, measured=[*around.measured, *probed])
    content = plan(project.catalog.experiments[name], statistics, around)
    return {"experiment": name, "hardware": around.hardware, **content}


def plan_now(project: Project, name: str, with_probe: bool = False) -> dict[str, Any]:
    """The plan from the artifacts in the store, which must be there; with what has come of it so far in `actual`.

    Args:
        with_probe: train two steps of the first variant, aside, to know how long one takes here.
    """
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
    probed = [_probe(project, name, statistics, base, train)] if with_probe else []
    content = plan_from(project, name, statistics, base, train["facts"]["sizes"], probed)
    return {**content, "actual": _actual(project, name, statistics)}


def _probe(
    project: Project, name: str, statistics: Mapping[str, Sequence[dict]], base: dict, train_tasks: dict
) -> Measured:
    """The second of two steps of the first variant: the first one also warms up."""
    experiment = project.catalog.experiments[name]
    first = next(iter(variants(experiment).values()))
    variant = first.model_copy(update={"recipe": first.recipe.model_copy(update={"steps": 2})})
    order = curriculum(statistics[variant.reward], variant.curriculum, variant.group_size, variant.seed)
    visits = visiting_order(order, variant.visits)
    train_ref, base_ref = Ref("train_tasks", experiment.suite), Ref("base_policy", experiment.policy)
    rows = read_table(project.store.local_folder(train_ref, train_tasks) / "train_tasks.parquet")
    tasks = {task["task_key"]: task for task in rows}
    training = Training(
        variant,
        project.catalog.policies[experiment.policy].sampling,
        [tasks[row["task_key"]] for row in visits],
        base["fingerprint"],
        [row["p_informative"] for row in visits],
        project.catalog.rewards[variant.reward].path,
    )
    with TemporaryDirectory() as scratch:
        folder, state = Path(scratch, "trained"), Path(scratch, "state")
        folder.mkdir()
        state.mkdir()
        train(
            experiment.trainer,
            training,
            project.store.local_folder(base_ref, base),
            folder,
            state,
            lambda line: None,
        )
        steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return Measured(
        hardware=kind_of_hardware(),
        base=base["fingerprint"],
        trainer=experiment.trainer,
        kl=variant.kl_beta > 0,
        steps=1,
        tokens=steps[1]["tokens"] - steps[0]["tokens"],
        seconds=steps[1]["seconds"],
    )


def _actual(project: Project, name: str, statistics: Mapping[str, Sequence[dict]]) -> list[dict[str, Any]]:
    """For each variant that was trained: tokens, hours and informative groups, as planned and as they came.

    Beside them the Brier scores of the pilot's predictions, and of those that training's rollouts keep up to date.
    """
    ref = Ref("experiment_plan", name)
    manifest = project.store.manifest(ref)
    assert manifest is not None
    stored = read_json(project.store.local_folder(ref, manifest) / "plan.json")
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
    return [(group["task_key"], group["rewards"]) for group in project.store.json_lines(ref, "groups.jsonl")]
