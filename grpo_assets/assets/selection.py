"""The decision of an experiment."""

import dagster as dg

from grpo_assets.assets.resources import REOPEN, artifact, now
from grpo_assets.domain.experiments import axis_values
from grpo_assets.domain.lineage import Ref, assets_above
from grpo_assets.domain.selection import decide
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.ledger import record_selection
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import decision_markdown, read_json, write_json
from grpo_assets.runtime.scored import read_scores


@artifact(group="experiments", reads=["experiment_table", "experiment_plan"], kinds={"python", "json"})
def selected_checkpoint(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One decision: the checkpoint to keep or why none, how sure that is, and the proof that nothing leaked."""
    name = context.partition_key
    experiment = project.catalog.experiments[name]
    table = read_json(inputs.folder("experiment_table") / "summary.json")
    plan = read_json(inputs.folder("experiment_plan") / "plan.json")
    costs = {
        row["variant"]: row["trained_tokens"] if row["flops"] is None else row["flops"] for row in plan["variants"]
    }
    scores = read_scores(inputs.folder("experiment_table"))
    decision = decide(table["variants"], scores, costs, experiment.selection, axis_values(experiment))
    reason = context.run.tags.get(REOPEN)
    ledger = record_selection(project.store, experiment.suite, name, draft.request, scores.keys_sha256, reason, now)
    isolation = {
        "made_from": assets_above(project.graph, Ref("selected_checkpoint", name)),
        **table["isolation"],
        "ledger": ledger,
    }
    decision = {"experiment": name, **decision, "isolation": isolation}
    write_json(draft.folder / "selected_checkpoint.json", decision)
    (draft.folder / "decision.md").write_text(decision_markdown(decision), encoding="utf-8")
    draft.facts = {name: decision[name] for name in ("outcome", "selected", "configuration", "reason")}
    draft.pages = {"decision": "decision.md"}
