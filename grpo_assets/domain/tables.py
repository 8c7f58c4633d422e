"""The experiment table: one row a variant, and what the trained variants gained over the untrained policy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t

from grpo_assets.domain.arms import matched_variants
from grpo_assets.domain.evaluation import gain
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.scores import TaskRates

MEASURED = (
    "checkpoint",
    "reward_version",
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
    "dev_troubles",
    "recipe",
    "weights",
)
WEIGHTS = ("adapter/", "policy.json")
"""The files of a checkpoint that hold what was trained, by the start of their names."""


def table_row(slug: str, axes: Mapping[str, Any], trained: Mapping[str, Any], evaluated: Mapping[str, Any]) -> dict:
    """The row of a variant; what was not measured is None, and `reason` says why.

    `informative_by_tenth` has the predicted and the realised share of informative groups of each tenth of training.

    Args:
        axes: the variant's value on each axis of the matrix, and whether it is a `control`.
        trained, evaluated: `condition` and `reason` of its checkpoint and of its dev evaluation, and where they are
            fresh their `manifest`.

    Returns:
        among others `reward_version`, that of the reward under which it was trained and its prompts were scored;
        `recipe`, the identity of all settings of training and evaluation beside the axes, and `weights`,
        that of what was trained.
    """
    row = {"variant": slug, **axes}
    for step in (trained, evaluated):
        if step["condition"] != "fresh":
            status = "failed" if step["condition"] == "failed" else "missing"
            return {**row, "status": status, "reason": step["reason"], **dict.fromkeys(MEASURED)}
    training, evaluation = trained["manifest"], evaluated["manifest"]
    facts = {**{f"dev_{name}": value for name, value in evaluation["facts"].items()}, **training["facts"]}
    facts["kl_to_base"] = evaluation["facts"]["kl_to_base"]
    facts["dev_troubles"] = evaluation["facts"]["verifier_health"]["troubles"]
    facts["checkpoint"] = training["fingerprint"]
    facts["reward_version"] = training["inputs"][f"reward {axes['reward']}"][:12]
    facts["recipe"] = fingerprint([_beside(axes, training["settings"]), evaluation["settings"]])
    facts["weights"] = fingerprint({n: f["sha256"] for n, f in training["files"].items() if n.startswith(WEIGHTS)})
    parts = facts["ageing"]["parts"]
    facts["predicted_informative_groups"] = round(sum(part["predicted"] * part["groups"] for part in parts), 2)
    facts["informative_by_tenth"] = [[round(part["predicted"], 4), round(part["realised"], 4)] for part in parts]
    facts["pilot_aged"] = facts["ageing"]["aged"]
    return {**row, "status": "complete", "reason": None, **{name: facts[name] for name in MEASURED}}


def _beside(axes: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a training but for its values on the axes."""
    recipe = {key: value for key, value in settings["recipe"].items() if key not in axes}
    return {**settings, "variant": None, "recipe": recipe}


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
    pairs = matched_variants(realised, axes, "curriculum", "informative", "random")
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


def comparison(untrained: TaskRates, trained: Sequence[TaskRates]) -> dict[str, dict] | None:
    """The gain of the trained variants over the untrained policy, sampled and greedy; None where none is complete."""
    if not trained:
        return None
    return {
        "sampled": gain(untrained.sampled, np.array([rates.sampled for rates in trained])),
        "greedy": gain(untrained.greedy, np.array([rates.greedy for rates in trained])),
    }
