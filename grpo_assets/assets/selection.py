"""The decision of an experiment."""

import json

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.selection import decide
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import write_json


@artifact(group="experiments", reads=["experiment_table"], kinds={"python", "json"})
def selected_checkpoint(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One decision: the checkpoint to keep, the rule and the evidence, and why each other variant was passed over."""
    name = context.partition_key
    table = json.loads((inputs.folder("experiment_table") / "summary.json").read_text(encoding="utf-8"))
    decision = decide(table["variants"], project.catalog.experiments[name].selection)
    decision = {"experiment": name, **decision, "isolation": table["isolation"]}
    write_json(draft.folder / "selected_checkpoint.json", decision)
    draft.facts = {"selected": decision["selected"], "reason": decision["reason"]}
