"""The statistics of a held-out evaluation: two policies on the same tasks, with near-duplicate tasks as one unit.

A score is the share of a task's samples that passed, in [0, 1]: samples are averaged before they come here, because
it is the tasks, and of these the clusters, that are independent (Miller, arXiv 2411.00640).
`ours`, `theirs` and `clusters` have one entry a task, in the same order; a difference is ours minus theirs.
Every function refuses with a ValueError no tasks, unequal lengths, and scores that are no number or outside [0, 1].
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from scipy.stats import binom, bootstrap, hypergeom, permutation_test
from statsmodels.regression.linear_model import OLS
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from grpo_assets.domain.evaluation import CONFIDENCE
from grpo_assets.domain.power import LEVEL, Z

Numbers = Sequence[float] | np.ndarray
Clusters = Sequence[str] | Sequence[int] | np.ndarray
FLIPS, RESAMPLES, AT_ONCE = 99_999, 9_999, 1000
"""Up to 16 units have fewer sign flips, and all are enumerated; 1000 at a time take 0.2 GB for 2,000 clusters."""
DECIMALS = 10
"""Means are rounded to these, so that equal ones are ties: three thirds and one, in whatever order they were added."""


def _by_cluster(values: Numbers, clusters: Clusters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The number of each task's cluster, and the sum and the size of each cluster, in the order of their names."""
    if not len(values) or len(values) != len(clusters):
        raise ValueError(f"{len(values)} tasks and {len(clusters)} clusters: give the cluster of each task")
    if not np.isfinite(np.asarray(values, float)).all():
        raise ValueError("the value of a task is not a number")
    numbers = np.unique(np.asarray(clusters), return_inverse=True)[1]
    return numbers, np.bincount(numbers, np.asarray(values, float)), np.bincount(numbers)


def _mean(sums: np.ndarray, sizes: np.ndarray, axis: int) -> np.ndarray:
    return (sums.sum(axis=axis) / sizes.sum(axis=axis)).round(DECIMALS)


def _differences(ours: Numbers, theirs: Numbers) -> np.ndarray:
    if not len(ours) or len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} scores of ours and {len(theirs)} of theirs: both arms need the same, and some")
    scores = np.array([ours, theirs], float)
    if odd := scores[~((scores >= 0) & (scores <= 1))].tolist():
        raise ValueError(f"every task needs a share of passes in both arms, in [0, 1], which {odd[0]:g} is not")
    return scores[0] - scores[1]


def clustered_error(values: Numbers, clusters: Clusters) -> float:
    """Standard error of the mean of the tasks' values, clustered, without a correction for few clusters.

    The values may be of any range; a single cluster has no spread and is refused with a ValueError.
    """
    numbers, sums, _ = _by_cluster(values, clusters)
    if len(sums) < 2:
        raise ValueError("1 cluster has no spread to take an error from: the suite needs more")
    groups = {"groups": numbers, "use_correction": False}
    fitted = OLS(np.asarray(values, float), np.ones(len(numbers))).fit(cov_type="cluster", cov_kwds=groups)
    return round(float(fitted.bse[0]), DECIMALS)


def least_p(units: int) -> float:
    """The least two-sided p that a sign-flip test over this many independent pairs can give."""
    return 2.0 ** (1 - units)


def paired_p(ours: Numbers, theirs: Numbers, clusters: Clusters, seed: int) -> float:
    """Two-sided p of no difference: the mean difference over tasks when whole clusters swap their arms at random.

    Exact where at most 16 clusters differ; else drawn, (b + 1) / (B + 1) on either side. Clusters without a
    difference change nothing and are left out, and one alone that differs gives 1.
    """
    return sign_flip_p(*_by_cluster(_differences(ours, theirs), clusters)[1:], seed)


def sign_flip_p(sums: np.ndarray, sizes: np.ndarray, seed: int) -> float:
    """Two-sided p of a mean of 0 when the signs of independent units flip, see `paired_p`; `sizes` counts their tasks.

    `sums` has the differences of each unit, summed over its tasks.
    """
    moved = sums[sums.round(DECIMALS) != 0]
    if len(moved) < 2:
        return 1.0
    mean = partial(_mean, sizes=sizes)
    drawing = {"n_resamples": FLIPS, "batch": AT_ONCE, "rng": np.random.default_rng(seed)}
    return float(permutation_test((moved,), mean, permutation_type="samples", vectorized=True, **drawing).pvalue)


def paired_interval(ours: Numbers, theirs: Numbers, clusters: Clusters, seed: int) -> tuple[float, float]:
    """95% interval, in [-1, 1], of the mean difference over tasks: the BCa bootstrap of whole clusters.

    Resampling knows only what was seen. Where all m clusters differ alike, or are fewer than six (the range of five
    misses their median with probability 2/32), it is the range of the clusters' means, widened by what may be unseen:
    Clopper and Pearson's bound for 0 of m clusters, at worst at -1 or 1. BCa is a little narrow below 100 clusters.
    """
    return _interval(_differences(ours, theirs), clusters, (-1.0, 1.0), seed)


def _interval(values: Numbers, clusters: Clusters, scale: tuple[float, float], seed: int) -> tuple[float, float]:
    _, sums, sizes = _by_cluster(values, clusters)
    means = (sums / sizes).round(DECIMALS)
    low, high = float(means.min()), float(means.max())
    if low == high or least_p(len(means)) > LEVEL:
        unseen = float(proportion_confint(0, len(means), alpha=1 - CONFIDENCE, method="beta")[1])
        return low + unseen * (scale[0] - low), high + unseen * (scale[1] - high)
    drawing = {"vectorized": True, "n_resamples": RESAMPLES, "batch": AT_ONCE, "rng": np.random.default_rng(seed)}
    found = bootstrap((sums, sizes), _mean, method="BCa", confidence_level=CONFIDENCE, paired=True, **drawing)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def mcnemar(ours: Numbers, theirs: Numbers) -> dict:
    """McNemar's test of one sample a task: tasks that only one arm passed, as `wins` and `losses` of ours.

    `p` is exact; `mid_p` counts the observed split by half. Both take the tasks as independent: with near-duplicates,
    or several samples a task, read `paired_p`. Scores other than 0 and 1 are refused with a ValueError.
    """
    differences = _differences(ours, theirs)
    if odd := {float(score) for score in (*ours, *theirs)} - {0.0, 1.0}:
        raise ValueError(f"McNemar's test needs one sample a task, passed or failed: {min(odd):g} is neither 0 nor 1")
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    exact = contingency_tables.mcnemar([[0, wins], [losses, 0]], exact=True)
    least, split = min(wins, losses), binom(wins + losses, 0.5)
    mid_p = min(1.0, float(2 * split.cdf(least) - split.pmf(least)))
    return {"wins": wins, "losses": losses, "p": float(exact.pvalue), "mid_p": mid_p}


def pass_at(samples: Numbers, passes: Numbers, k: int) -> np.ndarray:
    """Unbiased pass@k of each task, shape (tasks,): the chance that k of its samples hold a pass (arXiv 2107.03374).

    A ValueError where a task has fewer than k samples, or more passes than samples.
    """
    drawn, passed = np.asarray(samples), np.asarray(passes)
    if not drawn.size or drawn.shape != passed.shape:
        raise ValueError(f"{drawn.size} tasks have samples and {passed.size} have passes: give both of every task")
    if (passed < 0).any() or (passed > drawn).any():
        raise ValueError("a task has fewer passes than 0 or more than samples")
    if not 1 <= k <= drawn.min():
        raise ValueError(f"pass@{k} needs a k from 1 to the samples of a task, of which one has {drawn.min()}")
    return hypergeom.sf(0, drawn, passed, k)


def pass_at_k(samples: Numbers, passes: Numbers, clusters: Clusters, seed: int) -> list[dict]:
    """Mean pass@k over tasks: `k`, `value` and `interval`, by the rule of `paired_interval` but in [0, 1].

    For k = 1, 2, 4, ... up to the samples of the task that has fewest.
    """
    powers = [2**power for power in range(max(1, int(min(samples, default=0)).bit_length()))]
    rates = {k: pass_at(samples, passes, k) for k in powers}
    intervals = {k: list(_interval(rates[k], clusters, (0.0, 1.0), seed)) for k in powers}
    return [{"k": k, "value": float(rates[k].mean()), "interval": intervals[k]} for k in powers]


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p values of the contrasts that were registered beforehand, each adjusted by Holm for there being several."""
    if not all(0 <= p <= 1 for p in p_values.values()):
        raise ValueError(f"p values lie in [0, 1]: {dict(p_values)}")
    adjusted = multipletests(list(p_values.values()), method="holm")[1] if p_values else []
    return dict(zip(p_values, map(float, adjusted), strict=True))


def detectable(error: float) -> float:
    """The smallest difference that is found with 80% power at 5%, two-sided, at this standard error."""
    return Z * error


def seed_level(ours: Numbers, theirs: Numbers) -> dict:
    """Two arms over training seeds, matched by position: `seeds`, the mean `difference`, and `p` over seeds.

    `p` is that of the sign-flip test (exact up to 16 seeds), None with a `reason` where no outcome could reach 5%.
    """
    differences = _differences(ours, theirs)
    seeds = len(differences)
    found: dict = {"seeds": seeds, "difference": float(differences.mean()), "p": None, "reason": None}
    if least_p(seeds) <= LEVEL:
        return found | {"p": sign_flip_p(differences, np.ones(seeds), seed=0)}
    least = f"{least_p(seeds):.4g}".removeprefix("0")
    return found | {"reason": f"with {seeds} seeds the least p is {least}"}


def paired_comparison(ours: Numbers, theirs: Numbers, clusters: Clusters, seed: int) -> dict:
    """What one policy scores against another on the same tasks.

    `tasks` and `clusters` (numbers), `ours` and `theirs` (means over tasks), `difference` with its clustered `error`,
    `interval` and `p`, and `detectable`. Where the clusters show no spread (one, or all differ alike), `error` and
    `detectable` are None: a 0 would pass for certainty.
    """
    differences = _differences(ours, theirs)
    count = len(_by_cluster(differences, clusters)[1])
    error = clustered_error(differences, clusters) if count > 1 else 0.0
    return {
        "tasks": len(differences),
        "clusters": count,
        "ours": float(np.mean(ours)),
        "theirs": float(np.mean(theirs)),
        "difference": float(differences.mean()),
        "error": error or None,
        "interval": list(paired_interval(ours, theirs, clusters, seed)),
        "p": paired_p(ours, theirs, clusters, seed),
        "detectable": detectable(error) if error else None,
    }
