"""The experiment table: what came out of each variant."""

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.tables import comparison, table_row
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import table_markdown, write_json


@artifact(
    group="experiments",
    reads=["experiment_spec", "baseline_evaluation", "checkpoint", "dev_evaluation"],
    kinds={"python", "json"},
)
def experiment_table(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a variant: its axes, how it did on the dev tasks and in training, or why it is missing."""
    name = context.partition_key
    trained, evaluated = inputs.all("checkpoint"), inputs.all("dev_evaluation")
    rows, rollouts = [], []
    experiment = project.catalog.experiments[name]
    for slug, variant in variants(experiment).items():
        key = f"{name}/{slug}"
        rows.append(table_row(slug, variant.axes(experiment), trained[key].summary, evaluated[key].summary))
        if rows[-1]["status"] == "complete":
            rollouts.append(inputs.rows("dev_evaluation", key))
    baseline = inputs.manifest("baseline_evaluation")["facts"]
    content = {
        "experiment": name,
        "baseline": {k: v for k, v in baseline.items() if k not in ("isolation", "rows")},
        "isolation": baseline["isolation"],
        "comparison": comparison(inputs.rows("baseline_evaluation"), rollouts),
        "variants": rows,
    }
    write_json(draft.folder / "summary.json", content)
    (draft.folder / "experiment_table.md").write_text(table_markdown(content), encoding="utf-8")
    statuses = [row["status"] for row in rows]
    draft.facts = {"rows": len(rows), **{s: statuses.count(s) for s in ("complete", "failed", "missing")}}
    draft.pages = {"table": "experiment_table.md"}
