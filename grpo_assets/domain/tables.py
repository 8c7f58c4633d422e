"""The experiment table: one row a variant, and what the trained variants gained over the untrained policy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t

from grpo_assets.domain.arms import matched_variants
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
    "predicted_informative_groups",
    "informative_by_tenth",
    "pilot_aged",
    "informative_prompts_training",
    "informative_prompts_final_step",
    "warnings",
)


def table_row(slug: str, axes: Mapping[str, Any], trained: Mapping[str, Any], evaluated: Mapping[str, Any]) -> dict:
    """The row of a variant; what was not measured is None, and `reason` says why.

    `informative_by_tenth` has the predicted and the realised share of informative groups of each tenth of training.

    Args:
        axes: the variant's value on each axis of the matrix, and whether it is a `control`.
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
    parts = facts["ageing"]["parts"]
    facts["predicted_informative_groups"] = round(sum(part["predicted"] * part["groups"] for part in parts), 2)
    facts["informative_by_tenth"] = [[round(part["predicted"], 4), round(part["realised"], 4)] for part in parts]
    facts["pilot_aged"] = facts["ageing"]["aged"]
    return {**row, "status": "complete", "reason": None, **{name: facts[name] for name in MEASURED}}


def informative_over_random(
    rows: Sequence[Mapping[str, Any]], axes: Sequence[str], pilot_rollouts: int, rollouts: int
) -> dict[str, Any] | None:
    """The ratio of realised informative groups of the informative order to those of its control.

    Over pairs of variants that differ in nothing else: the geometric mean, with Student's interval over the pairs'
    log ratios, None with one pair; None altogether where there is no pair.

    Args:
        axes: names of all axes.
        pilot_rollouts, rollouts: of the pilot, and of one variant.
    """
    realised = [row for row in rows if row["status"] == "complete" and row["informative_groups"]]
    pairs = matched_variants(realised, axes, "informative", "random")
    if not pairs:
        return None
    logs = np.log([ours["informative_groups"] / control["informative_groups"] for ours, control in pairs])
    interval = None
    if len(logs) > 1:
        reach = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
        interval = [float(np.exp(logs.mean() - reach)), float(np.exp(logs.mean() + reach))]
    ratio = float(np.exp(logs.mean()))
    spent = len(pairs) * rollouts
    with_pilot = ratio * spent / (spent + pilot_rollouts)
    return {"pairs": len(pairs), "ratio": ratio, "interval": interval, "ratio_with_pilot": with_pilot}


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
