"""The decision: which checkpoint of an experiment to keep, how sure that is, or why none."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t

from grpo_assets.domain.contest import ROUNDING, Contest, Verdicts, judge
from grpo_assets.domain.eligibility import Row, check_table, eligible
from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.optimism import bias_corrected, shrunken
from grpo_assets.domain.power import LEVEL
from grpo_assets.domain.scores import Floats, Scores, clustered_variance
from grpo_assets.domain.specs import Selection

SELECTION_POLICY = "dev_or_smoke_metrics_only_no_heldout_test"
TIE_BREAK = "planned cost to two digits, then lower KL to the base policy, then static curriculum, then name"
RULE = {
    "version": 2,
    "compared": "configurations, by the mean over their seeds of paired dev pass rates",
    "tie": "within one standard error of the best: clustered paired task variance + 2 run variance / seeds",
    "tie_break": TIE_BREAK,
    "checkpoint": "highest dev pass rate of the configuration's seeds, then lower KL to the base policy",
    "better_than_untrained": "one-sided 5%, Student's t, Bonferroni over the configurations",
}
RUN = (
    *("variant", "seed", "checkpoint", "dev_pass_rate", "dev_pass_rate_interval", "kl_to_base"),
    *("informative_prompts_training", "informative_prompts_final_step"),
)
"""What the decision shows of each run; the rest is in the table."""


def decide(
    rows: Sequence[Row], scores: Scores, costs: Mapping[str, float], rule: Selection, axes: Mapping[str, Sequence]
) -> dict[str, Any]:
    """The selected checkpoint with the evidence, and for every other variant and configuration why not.

    Args:
        rows: the variants of the experiment table.
        costs: planned cost of each variant, in FLOPs or another unit that is the same for all.
        axes: the declared values of each axis.

    Returns:
        `outcome` is `selected` (one configuration is ahead by more than a standard error), `tie` (the tie-break chose
        from the `tie_set`), `no winner` (not better than the untrained policy) or `nothing eligible`; `selected` is a
        slug in the first two.

    Raises:
        FailedWork: where no choice can stand, see `eligibility.check_table`.
    """
    if len(scores.sizes) < 2:
        raise FailedWork(f"{len(scores.tasks)} dev tasks in one cluster: there is no spread to take an error from")
    seeds = check_table(rows, axes, rule)
    found, passed_over = eligible(rows, seeds, rule)
    decision: dict[str, Any] = {
        "selection_policy": SELECTION_POLICY,
        "rule": {**RULE, **rule.model_dump()},
        "outcome": "nothing eligible",
        "selected": None,
        "checkpoint": None,
        "folder": None,
        "configuration": None,
        "runs": [],
        "reason": f"none of the {len(found) + len(passed_over)} configurations is eligible",
        "tie_set": [],
        "dev": {"tasks": len(scores.tasks), "clusters": len(scores.sizes), "task_keys_sha256": scores.keys_sha256},
        "evidence": None,
        "configurations": [],
        "passed_over": passed_over,
    }
    if not found:
        return decision
    places = sorted(found, key=lambda name: _preference(name, found[name], costs))
    contest = _contest([found[name] for name in places], scores)
    judged = judge(contest, np.ones((1, len(scores.sizes))), np.ones(len(seeds), dtype=np.int64))
    doubt = bias_corrected(contest, seed_of("selection", list(scores.tasks)))
    place = int(judged.winner[0])
    chosen = found[places[place]]
    winner = min(chosen, key=lambda row: (-round(row["dev_pass_rate"], 12), row["kl_to_base"], row["variant"]))
    gain = gain_over_untrained(contest, place, scores)
    outcome, reason = _outcome(places, judged, gain)
    kept = outcome in ("selected", "tie")
    beaten = {name: _beaten(index, judged, places) for index, name in enumerate(places) if index != place}
    return {
        **decision,
        "outcome": outcome,
        "selected": winner["variant"] if kept else None,
        "checkpoint": winner["checkpoint"] if kept else None,
        "folder": f"variants/{winner['variant']}" if kept else None,
        "configuration": places[place],
        "runs": [row["variant"] for row in chosen],
        "reason": reason,
        "tie_set": [name for name, tied in zip(places, judged.tied[0], strict=True) if tied],
        "evidence": {"variant": winner, **{name: doubt[name] for name in ("checkpoint", "configuration")}},
        "over_untrained": gain,
        "raw_maximum": {"value": doubt["raw_maximum"], "optimism": doubt["raw_optimism"]},
        "configurations": _configurations(places, found, contest, judged, doubt["wins"], costs),
        "passed_over": dict(sorted({**passed_over, **beaten}.items())),
    }


def _configurations(
    places: Sequence[str],
    found: Mapping[str, Sequence[Row]],
    contest: Contest,
    judged: Verdicts,
    wins: Floats,
    costs: Mapping[str, float],
) -> list[dict[str, Any]]:
    """The evidence on each eligible configuration and each of its runs, in the order of the tie-break."""
    means = contest.sums.sum(axis=(1, 2)) / (contest.sums.shape[1] * contest.sizes.sum())
    others = np.arange(len(places)) != judged.best[0]
    noise = float((judged.error[0, others] ** 2).mean()) / 2 if len(places) > 1 else 0.0
    shrunk = shrunken(means, noise)
    return [
        {
            "configuration": name,
            "dev_pass_rate": float(means[index]),
            "shrunken": float(shrunk[index]),
            "behind": float(judged.ahead[0, index]),
            "behind_error": float(judged.error[0, index]),
            "tied": bool(judged.tied[0, index]),
            "wins": float(wins[index]),
            "planned_cost": _cost(found[name], costs),
            "kl_to_base": _kl(found[name]),
            "runs": [{field: row[field] for field in RUN} for row in found[name]],
        }
        for index, name in enumerate(places)
    ]


def _preference(name: str, runs: Sequence[Row], costs: Mapping[str, float]) -> tuple:
    """The place of a configuration in the tie-break; less is preferred."""
    return (float(f"{_cost(runs, costs):.2g}"), _kl(runs), runs[0]["curriculum"] != "static", name)


def _cost(runs: Sequence[Row], costs: Mapping[str, float]) -> float:
    return float(np.mean([costs[row["variant"]] for row in runs]))


def _kl(runs: Sequence[Row]) -> float:
    return float(np.mean([row["kl_to_base"] for row in runs]))


def _contest(configurations: Sequence[Sequence[Row]], scores: Scores) -> Contest:
    for row in (row for runs in configurations for row in runs):
        if row["variant"] not in scores.variants:
            raise FailedWork(f"{row['variant']}: it is complete in the table and has no scores")
    rates = np.array([[scores.variants[row["variant"]] for row in runs] for runs in configurations])
    for runs, of_runs in zip(configurations, rates, strict=True):
        for row, of_run in zip(runs, of_runs, strict=True):
            if abs(of_run.mean() - row["dev_pass_rate"]) > 1e-9:
                raise FailedWork(f"{row['variant']}: its dev_pass_rate is not the mean of its scores")
    return Contest(scores.sums(rates), scores.sizes)


def gain_over_untrained(contest: Contest, place: int, scores: Scores) -> dict[str, Any]:
    """How much better than the untrained policy a configuration is on the same dev tasks.

    The variance between runs is pooled over all configurations; the p value is Bonferroni's over them.

    Args:
        place: of the configuration in the contest.
    """
    configurations, seeds, _ = contest.sums.shape
    tasks = scores.sizes.sum()
    difference = contest.sums[place].mean(axis=0) - scores.sums(scores.untrained)
    runs = contest.sums.sum(axis=2) / tasks
    between = runs.var(axis=1, ddof=1).mean() / seeds
    error = np.sqrt(clustered_variance(difference, scores.sizes) + between)
    gain = float(difference.sum() / tasks)
    if error < ROUNDING:
        p = 0.0 if gain > ROUNDING else 1.0
    else:
        p = min(1.0, configurations * float(t.sf(gain / error, len(scores.sizes) - 1)))
    return {"gain": gain, "error": float(error), "p": p, "better": p <= LEVEL}


def _outcome(places: Sequence[str], judged: Verdicts, gain: Mapping[str, Any]) -> tuple[str, str]:
    place, tied = int(judged.winner[0]), int(judged.tied[0].sum())
    if not gain["better"]:
        return "no winner", (
            f"{places[place]} is not better than the untrained policy: {gain['gain']:+.3f}, standard error "
            f"{gain['error']:.3f}, p {gain['p']:.2g} over {len(places)} configurations"
        )
    if tied > 1:
        return "tie", (
            f"decided by tie-break ({TIE_BREAK}) among {tied} of {len(places)} eligible "
            "configurations within one standard error of the best"
        )
    if len(places) == 1:
        return "selected", "the only eligible configuration"
    return "selected", f"ahead of the other {len(places) - 1} eligible configurations by more than one standard error"


def _beaten(index: int, judged: Verdicts, places: Sequence[str]) -> str:
    behind, error = judged.ahead[0, index], judged.error[0, index]
    if judged.tied[0, index]:
        return f"tied ({behind:.3f} behind the best, standard error {error:.3f}); lost the tie-break"
    return f"{behind:.3f} behind {places[int(judged.best[0])]}, more than one standard error ({error:.3f})"
