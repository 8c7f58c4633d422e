"""Checkpoints: the trained variants."""

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.assets.training_process import train_apart
from grpo_assets.domain.curriculum import visiting_order
from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.specs import Recipe
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.training import Training, train


@artifact(
    group="training",
    reads=["curriculum", "train_tasks", "reward", "base_policy"],
    kinds={"python", "pytorch"},
    gpu=True,
)
def checkpoint(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """A trained variant: what training added to the base policy, metrics of each step and group, last rollouts."""
    settings = project.graph[Ref("checkpoint", context.partition_key)].settings
    variant = Variant(**settings["variant"], recipe=Recipe(**settings["recipe"]))
    tasks = {task["task_key"]: task for task in inputs.rows("train_tasks")}
    visits = visiting_order(inputs.rows("curriculum"), variant.visits)
    sampling = project.catalog.policies[inputs.key("base_policy")].sampling
    prompts, predicted = [tasks[row["task_key"]] for row in visits], [row["p_informative"] for row in visits]
    path = project.catalog.rewards[variant.reward].path
    training = Training(variant, sampling, prompts, inputs.fingerprint("base_policy"), predicted, path)
    base = inputs.folder("base_policy")
    if settings["trainer"] == "smoke":  # too short to be worth a process of its own
        draft.facts = train("smoke", training, base, draft.folder, draft.state, lambda line: None)
    else:
        draft.facts = train_apart(context, project, settings["trainer"], training, base, draft.folder, draft.state)
    draft.facts["training_prompts"] = len(tasks)
