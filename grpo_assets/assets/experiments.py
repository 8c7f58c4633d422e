"""The experiment table: what came out of each variant, and what of the matrix helps."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.effects import axis_effects, interactions
from grpo_assets.domain.experiments import axis_values, is_control, variants
from grpo_assets.domain.scores import scores_of
from grpo_assets.domain.specs import Experiment
from grpo_assets.domain.tables import comparison, informative_over_random, table_row
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.ledger import entries, opening_line, openings
from grpo_assets.runtime.pictures import interaction_picture
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import table_markdown, write_json
from grpo_assets.runtime.scored import read_rates, write_scores
from grpo_assets.runtime.survey import State


@artifact(
    group="experiments",
    reads=["experiment_spec", "dev_tasks", "baseline_evaluation", "reward", "checkpoint", "dev_evaluation"],
    kinds={"python", "json"},
)
def experiment_table(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a variant: its axes, how it did on the dev tasks and in training, or why it is missing."""
    name = context.partition_key
    trained, evaluated = inputs.all("checkpoint"), inputs.all("dev_evaluation")
    rows, rates = [], {}
    experiment = project.catalog.experiments[name]
    for slug, variant in variants(experiment).items():
        key = f"{name}/{slug}"
        control = is_control(variant.curriculum, variant.reward, experiment)
        cell = {**variant.axes(experiment), "configuration": variant.configuration, "control": control}
        rows.append(table_row(slug, cell, trained[key].summary, evaluated[key].summary))
        if rows[-1]["status"] == "complete":
            rates[slug] = read_rates(inputs.folder("dev_evaluation", key))
    clusters = {task["task_key"]: task["cluster"] for task in inputs.rows("dev_tasks")}
    untrained = read_rates(inputs.folder("baseline_evaluation"))
    write_scores(draft.folder, scores_of(clusters, untrained, rates))
    baseline = inputs.manifest("baseline_evaluation")["facts"]
    axes = axis_values(experiment)
    content = {
        "experiment": name,
        "baseline": {k: v for k, v in baseline.items() if k not in ("isolation", "rows")},
        "isolation": baseline["isolation"],
        "heldout_openings": [opening_line(e) for e in openings(entries(project.store, experiment.suite))],
        "informative_over_random": _arms(rows, experiment, trained),
        "comparison": comparison(untrained, list(rates.values())),
        "effects": axis_effects(rows, axes),
        "interactions": interactions(rows, axes),
        "variants": rows,
    }
    write_json(draft.folder / "summary.json", content)
    (draft.folder / "experiment_table.md").write_text(table_markdown(content), encoding="utf-8")
    (draft.folder / "interactions.md").write_text(interaction_picture(content["interactions"]), encoding="utf-8")
    statuses = [row["status"] for row in rows]
    draft.facts = {"rows": len(rows), **{s: statuses.count(s) for s in ("complete", "failed", "missing")}}
    draft.pages = {"table": "experiment_table.md", "interactions": "interactions.md"}


def _arms(rows: list[dict], experiment: Experiment, trained: Mapping[str, State]) -> dict[str, Any] | None:
    """What the informative order realised over its control; the pilot has a rollout of every training prompt."""
    prompts = max(
        (state.manifest["facts"]["training_prompts"] for state in trained.values() if state.manifest), default=0
    )
    recipe = experiment.recipe
    pilot = experiment.pilot.samples_per_prompt * prompts
    return informative_over_random(rows, list(axis_values(experiment)), pilot, recipe.steps * recipe.rollouts_per_step)
