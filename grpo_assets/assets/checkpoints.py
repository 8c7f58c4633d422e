"""Checkpoints: the trained variants."""

from grpo_assets.assets.resources import artifact
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
def checkpoint(project: Project, key: str, inputs: Inputs, draft: Draft) -> None:
    """A trained variant: what training added to the base policy, a line of metrics a step, the last rollouts."""
    settings = project.graph[Ref("checkpoint", key)].settings
    variant, recipe = Variant(**settings["variant"]), Recipe(**settings["recipe"])
    tasks = {task["task_key"]: task for task in inputs.rows("train_tasks")}
    visits = recipe.steps * recipe.rollouts_per_step // variant.group_size
    prompts = [tasks[row["task_key"]] for row in visiting_order(inputs.rows("curriculum"), visits)]
    sampling = project.catalog.policies[inputs.key("base_policy")].sampling
    training = Training(variant, recipe, sampling, prompts)
    draft.facts = train(settings["trainer"], training, inputs.folder("base_policy"), draft.folder)
