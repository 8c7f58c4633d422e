"""The declaration of an experiment and its plan, both made before anything is trained."""

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.lineage import scoring_key
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.pictures import plan_picture
from grpo_assets.runtime.plan_page import plan_markdown
from grpo_assets.runtime.plans import plan_from
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import write_json


@artifact(group="experiments", kinds={"python", "json"})
def experiment_spec(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """The settings of the experiment and its variants; it changes when one is added, removed or changed."""
    experiment = project.catalog.experiments[context.partition_key]
    members = sorted(variants(experiment))
    write_json(
        draft.folder / "spec.json",
        {"experiment": experiment.model_dump(exclude={"rewards", "on_reward_change"}), "variants": members},
    )
    draft.facts = {"variants": len(members)}


@artifact(
    group="experiments",
    reads=["experiment_spec", "base_policy", "train_tasks", "prompt_statistics"],
    kinds={"python", "json"},
)
def experiment_plan(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One entry a variant: what it will visit, what of it can teach, what it costs; the power of the whole matrix."""
    name = context.partition_key
    experiment = project.catalog.experiments[name]
    statistics = {
        reward: inputs.rows("prompt_statistics", scoring_key(experiment, reward))
        for reward in experiment.matrix.rewards
    }
    sizes = inputs.manifest("train_tasks")["facts"]["sizes"]
    content = plan_from(project, name, statistics, inputs.manifest("base_policy"), sizes)
    write_json(draft.folder / "plan.json", content)
    (draft.folder / "plan.md").write_text(plan_markdown(content), encoding="utf-8")
    (draft.folder / "plan_picture.md").write_text(plan_picture(content), encoding="utf-8")
    draft.facts, draft.pages = content["totals"], {"plan": "plan.md", "picture": "plan_picture.md"}
