"""The experiment table: one row a variant, and what the trained variants gained over the untrained policy."""

from collections.abc import Mapping, Sequence
from typing import Any

from grpo_assets.domain.evaluation import gain, pass_rates

MEASURED = (
    "checkpoint",
    "dev_pass_rate",
    "dev_pass_rate_interval",
    "dev_greedy_pass_rate",
    "dev_greedy_pass_rate_interval",
    "kl_to_base",
    "last_reward_mean",
    "groups",
    "informative_groups",
    "informative_prompts_training",
    "informative_prompts_final_step",
    "warnings",
)


def table_row(slug: str, axes: Mapping[str, Any], trained: Mapping[str, Any], evaluated: Mapping[str, Any]) -> dict:
    """The row of a variant; what was not measured is None, and `reason` says why.

    Args:
        axes: the variant's value on each axis of the matrix.
        trained, evaluated: `condition` and `reason` of its checkpoint and of its dev evaluation, with their
            `facts` and `fingerprint` where they are fresh.
    """
    row = {"variant": slug, **axes}
    for step in (trained, evaluated):
        if step["condition"] != "fresh":
            status = "failed" if step["condition"] == "failed" else "missing"
            return {**row, "status": status, "reason": step["reason"], **dict.fromkeys(MEASURED)}
    facts = {**{f"dev_{name}": value for name, value in evaluated["facts"].items()}, **trained["facts"]}
    facts["kl_to_base"] = evaluated["facts"]["kl_to_base"]
    facts["checkpoint"] = trained["fingerprint"]
    return {**row, "status": "complete", "reason": None, **{name: facts[name] for name in MEASURED}}


def comparison(baseline: Sequence[dict], trained: Sequence[Sequence[dict]]) -> dict[str, dict] | None:
    """The gain of the trained variants over the untrained policy, sampled and greedy; None where none is complete.

    Args:
        baseline: dev rollouts of the untrained policy.
        trained: dev rollouts of each complete variant.
    """
    if not trained:
        return None
    return {
        decoding: gain(pass_rates(baseline, decoding), [pass_rates(rows, decoding) for rows in trained])
        for decoding in ("sampled", "greedy")
    }
