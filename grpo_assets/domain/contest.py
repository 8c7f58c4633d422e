"""Who wins among configurations on given dev tasks: the rule itself, for the real tasks and for resampled ones alike.

The best mean over seeds; with it all that lie within one standard error of it; among these the first in the order
of the tie-break; of its runs the best. The squared standard error of a difference is the clustered, paired variance
over tasks plus twice the variance between runs, pooled over configurations, divided by the number of seeds.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from grpo_assets.domain.scores import Floats

Indices = npt.NDArray[np.int64]

DECIMALS = 12
ROUNDING = 1e-11
"""Means are rounded, so that equal ones are equal however they add up, and differences below this are none."""


@dataclass(frozen=True)
class Contest:
    """The dev scores of the configurations that may win, in the order of the tie-break: the first is preferred.

    Attributes:
        sums: pass rates summed over the tasks of each cluster, shape (configurations, seeds, clusters); of equal
            runs of a configuration the first is preferred.
        sizes: tasks in each cluster, shape (clusters,).
    """

    sums: Floats
    sizes: Floats


@dataclass(frozen=True)
class Verdicts:
    """What the rule says for each weighting; shapes (weightings,) and (weightings, configurations).

    Attributes:
        winner, run: the configuration that wins, and the best of its runs.
        best: the configuration with the highest mean.
        ahead: how far each configuration is behind the best one.
        error: standard error of that difference.
        tied: whether it is within it.
        highest: configuration and run of the highest single score, what a rule without seeds would take.
    """

    winner: Indices
    run: Indices
    best: Indices
    ahead: Floats
    error: Floats
    tied: npt.NDArray[np.bool_]
    highest: tuple[Indices, Indices]


def judge(contest: Contest, weights: Floats, seed_counts: Indices) -> Verdicts:
    """Apply the rule.

    Args:
        weights: how often each cluster counts, shape (weightings, clusters).
        seed_counts: how often each seed counts, shape (seeds,); they add up to the number of seeds.
    """
    drawn = seed_counts > 0
    seeds = len(seed_counts)
    tasks = weights @ contest.sizes
    runs = (np.tensordot(weights, contest.sums, axes=(1, 2)) / tasks[:, None, None]).round(DECIMALS)
    share = seed_counts / seed_counts.sum()
    means = (runs @ share).round(DECIMALS)
    best = means.argmax(axis=1)
    rows = np.arange(len(weights))
    ahead = means[rows, best][:, None] - means
    error = np.sqrt(_paired_variance(contest, weights, share, best, ahead) + 2 * _between_runs(runs, share)[:, None])
    tied = ahead <= error + ROUNDING
    winner = tied.argmax(axis=1)
    counting = np.where(drawn, runs, -np.inf)
    highest = np.divmod(counting.reshape(len(weights), -1).argmax(axis=1), seeds)
    return Verdicts(winner, counting[rows, winner].argmax(axis=1), best, ahead, error, tied, highest)


def _paired_variance(contest: Contest, weights: Floats, share: Floats, best: Indices, ahead: Floats) -> Floats:
    """The clustered variance of the difference of each configuration from the best, shape (weightings, configurations).

    With D = best - other - size * ahead in each cluster, sum(w D^2) is expanded, so that all configurations of all
    weightings come from products of matrices.
    """
    sums = np.tensordot(contest.sums, share, axes=(1, 0))
    sizes, winners = contest.sizes, sums[best]
    squares = (weights * winners**2).sum(1)[:, None] - 2 * (weights * winners) @ sums.T + weights @ (sums**2).T
    mixed = (weights * winners) @ sizes
    mixed = mixed[:, None] - (weights * sizes) @ sums.T
    total = squares - 2 * ahead * mixed + ahead**2 * (weights @ sizes**2)[:, None]
    return np.maximum(total, 0.0) / (weights @ sizes)[:, None] ** 2


def _between_runs(runs: Floats, share: Floats) -> Floats:
    """The variance between runs of one configuration over the number of seeds, pooled, shape (weightings,)."""
    seeds = len(share)
    spread = ((runs - (runs @ share)[..., None]) ** 2) @ share
    return spread.mean(axis=1) / (seeds - 1)
