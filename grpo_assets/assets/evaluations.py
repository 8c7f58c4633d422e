"""Evaluations on the dev tasks: the untrained policy, and each checkpoint."""

import dagster as dg

from grpo_assets.assets.resources import HEALTH_CHECK, artifact, verdicts_anew, verified
from grpo_assets.domain.evaluation import measure, task_rates
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.schemas import ROLLOUTS, TASK_RATES
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.policies import load_policy
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.rollouts import evaluate
from grpo_assets.runtime.store import write_table


@artifact(
    group="training",
    reads=["base_policy", "dev_tasks"],
    kinds={"python", "parquet"},
    gpu=True,
    checks=HEALTH_CHECK,
)
def baseline_evaluation(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a dev rollout of the untrained policy, sampled and greedy."""
    _evaluate(context, project, Ref("baseline_evaluation", context.partition_key), inputs, draft)
    draft.facts["isolation"] = inputs.manifest("dev_tasks")["facts"]["isolation"]


@artifact(
    group="training",
    reads=["checkpoint", "base_policy", "dev_tasks"],
    kinds={"python", "parquet"},
    gpu=True,
    checks=HEALTH_CHECK,
)
def dev_evaluation(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a dev rollout of a checkpoint, sampled and greedy, with its KL to the base policy."""
    _evaluate(context, project, Ref("dev_evaluation", context.partition_key), inputs, draft)


def _evaluate(context: dg.AssetExecutionContext, project: Project, ref: Ref, inputs: Inputs, draft: Draft) -> None:
    tasks = inputs.rows("dev_tasks")
    said = verdicts_anew(context, tasks, draft, f"{ref.asset}.parquet")
    if said is None:
        spec = project.catalog.policies[inputs.key("base_policy")]
        trained = inputs.folder("checkpoint") if ref.asset == "dev_evaluation" else None
        policy = load_policy(spec, inputs.folder("base_policy"), inputs.fingerprint("base_policy"), trained)
        said = evaluate(policy, tasks, project.graph[ref].settings["samples_per_task"])
    rows, health = verified(said, tasks, draft)
    write_table(draft.folder / f"{ref.asset}.parquet", rows, ROLLOUTS)
    write_table(draft.folder / "pass_rates.parquet", task_rates(rows), TASK_RATES)
    draft.facts = {"rows": len(rows), **measure(rows), "verifier_health": health}
