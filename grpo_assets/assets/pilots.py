"""Pilots: what the base policy does on the training prompts, before anything is trained."""

import dagster as dg

from grpo_assets.assets.resources import HEALTH_CHECK, artifact, verdicts_anew, verified
from grpo_assets.domain.informativeness import fit_prior, value_counts
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.rollouts import prompt_statistics as statistics_of
from grpo_assets.domain.schemas import ROLLOUTS, STATISTICS
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.pictures import statistics_pictures
from grpo_assets.runtime.policies import load_policy
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.rewards import function_at
from grpo_assets.runtime.rollouts import rescored, roll_out
from grpo_assets.runtime.store import write_table


@artifact(
    group="pilots", reads=["base_policy", "train_tasks"], kinds={"python", "parquet"}, gpu=True, checks=HEALTH_CHECK
)
def pilot_rollouts(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a rollout of the base policy on a training prompt, with its verdict; generated once, scored often."""
    pilot = context.partition_key
    settings = project.graph[Ref("pilot_rollouts", pilot)].settings
    tasks = inputs.rows("train_tasks")
    said = verdicts_anew(context, tasks, draft, "pilot_rollouts.parquet")
    if said is None:
        spec = project.catalog.policies[inputs.key("base_policy")]
        policy = load_policy(spec, inputs.folder("base_policy"), inputs.fingerprint("base_policy"))
        samples, seed = settings["samples_per_prompt"], f"pilot round {settings['round']}"
        said = roll_out(policy, tasks, samples, "sampled", seed)
    rows, health = verified(said, tasks, draft)
    write_table(draft.folder / "pilot_rollouts.parquet", rows, ROLLOUTS)
    draft.facts = {
        "rows": len(rows),
        "tokens": sum(row["token_count"] for row in rows),
        "passes": sum(row["outcome"] == "pass" for row in rows),
        "no_verdict": sum(row["outcome"] == "no_verdict" for row in rows),
        "verifier_health": health,
    }


@artifact(group="pilots", reads=["pilot_rollouts", "reward"], kinds={"python", "parquet"})
def prompt_statistics(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a training prompt: its pass rate, the variance of its rewards, and whether its group was informative."""
    reward = function_at(project.catalog.rewards[inputs.key("reward")].path)
    rows = statistics_of(*rescored(inputs.folder("pilot_rollouts") / "pilot_rollouts.parquet", reward))
    write_table(draft.folder / "prompt_statistics.parquet", rows, STATISTICS)
    (draft.folder / "pictures.md").write_text(statistics_pictures(rows), encoding="utf-8")
    draft.pages = {"pictures": "pictures.md"}
    scored = sum(row["scored"] for row in rows)
    draft.facts = {
        "rows": len(rows),
        "scored_rollouts": scored,
        "informative_prompts": sum(row["informative"] for row in rows),
        "pass_rate": sum(row["passes"] for row in rows) / scored if scored else None,
        "prior": fit_prior(value_counts(rows)).described(),
    }
