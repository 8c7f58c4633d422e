"""How much better the winner looks than it is: the whole rule repeated on resampled tasks, scored on the others.

Bootstrap bias correction (Tsamardinos et al., Machine Learning 107:1895, 2018): draw clusters of tasks with
replacement, let the rule choose on them, and score its choice on the clusters that were not drawn.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from grpo_assets.domain.contest import Contest, judge
from grpo_assets.domain.scores import Floats

DRAWS = 1000
LEAST_TASKS = 50
"""Below so many tasks the correction is far too pessimistic where scores tie."""
LEAST_SEEDS = 3
"""With two, half of the draws have both seeds and nothing to score a configuration on."""
SEED_DRAWS = 50
AT_ONCE = 50_000_000
"""Numbers that one step of the bootstrap may hold."""


def bias_corrected(contest: Contest, seed: int) -> dict[str, Any]:
    """Scores of the rule's choice on tasks that it did not see, and how often each configuration is chosen.

    Returns:
        `checkpoint`: clusters are resampled, the runs are as they are: what this checkpoint does on new tasks.
        `configuration`: seeds are resampled too: what a new run of this configuration does.
        Both are `value` and `interval`, or a `reason` why there is none.
        `raw_maximum` is the highest single score, `raw_optimism` by how much such a maximum is too high.
        `wins` is the share of draws in which each configuration is chosen, shape (configurations,).
    """
    tasks, seeds = int(contest.sizes.sum()), contest.sums.shape[1]
    highest = float((contest.sums.sum(axis=2) / contest.sizes.sum()).max())
    rng = np.random.default_rng(seed)
    wins, chosen, naive = _draw_tasks(contest, rng)
    if tasks < LEAST_TASKS or len(contest.sizes) < LEAST_TASKS:
        clusters = "" if len(contest.sizes) == tasks else f" in {len(contest.sizes)} clusters"
        reason = f"{tasks} dev tasks{clusters}: below {LEAST_TASKS} the correction is far too pessimistic"
        return {
            "checkpoint": _none(reason),
            "configuration": _none(reason),
            "raw_maximum": highest,
            "raw_optimism": None,
            "wins": wins,
        }
    configuration = _none(f"{seeds} seeds: it takes {LEAST_SEEDS} to choose on some and score on others")
    if seeds >= LEAST_SEEDS:
        wins, values = _draw_seeds_and_tasks(contest, rng)
        configuration = _summary(values)
    return {
        "checkpoint": _summary(chosen),
        "configuration": configuration,
        "raw_maximum": highest,
        "raw_optimism": highest - float(naive.mean()),
        "wins": wins,
    }


def _none(reason: str) -> dict[str, Any]:
    return {"value": None, "interval": None, "reason": reason}


def _summary(values: Floats) -> dict[str, Any]:
    low, high = np.quantile(values, [0.025, 0.975])
    return {"value": float(values.mean()), "interval": [float(low), float(high)], "reason": None}


def _draw_tasks(contest: Contest, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Shares of wins, and the unseen scores of the rule's checkpoint and of the highest single score's."""
    once = np.ones(contest.sums.shape[1], dtype=np.int64)
    wins, chosen, naive = np.zeros(len(contest.sums)), [], []
    for weights in _batches(contest, DRAWS, rng):
        found = judge(contest, weights, once)
        wins += np.bincount(found.winner, minlength=len(wins))
        chosen.append(_unseen(contest, weights, contest.sums[found.winner, found.run]))
        naive.append(_unseen(contest, weights, contest.sums[found.highest]))
    return wins / wins.sum(), np.concatenate(chosen), np.concatenate(naive)


def _draw_seeds_and_tasks(contest: Contest, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Shares of wins, and the scores of the rule's configuration on unseen tasks in runs of unseen seeds."""
    seeds = contest.sums.shape[1]
    wins, values = np.zeros(len(contest.sums)), []
    for _ in range(SEED_DRAWS):
        counts = np.bincount(rng.integers(seeds, size=seeds), minlength=seeds)
        while counts.all():  # nothing would be left to score on
            counts = np.bincount(rng.integers(seeds, size=seeds), minlength=seeds)
        unseen = contest.sums[:, counts == 0].mean(axis=1)
        for weights in _batches(contest, DRAWS // SEED_DRAWS, rng):
            found = judge(contest, weights, counts)
            wins += np.bincount(found.winner, minlength=len(wins))
            values.append(_unseen(contest, weights, unseen[found.winner]))
    return wins / wins.sum(), np.concatenate(values)


def _batches(contest: Contest, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Weights of clusters drawn with replacement, each draw leaving some out, as many at once as memory allows."""
    clusters = len(contest.sizes)
    at_once = max(1, AT_ONCE // max(contest.sums.shape[0] * contest.sums.shape[1], clusters))
    while draws > 0:
        weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=min(draws, at_once)).astype(float)
        weights = weights[(weights == 0).any(axis=1)]
        draws -= len(weights)
        if len(weights):
            yield weights


def _unseen(contest: Contest, weights: Floats, sums: Floats) -> Floats:
    """Mean score over the clusters that were not drawn; `sums` has the chosen one's of each draw."""
    left = weights == 0
    return (left * sums).sum(axis=1) / (left @ contest.sizes)


def shrunken(means: Floats, error_squared: float) -> Floats:
    """Scores drawn towards their mean by as much as their spread is noise (James and Stein, positive part).

    `m + (1 - (V - 3) s^2 / sum((y - m)^2))_+ (y - m)` for V scores y with mean m; as they are for fewer than four.
    """
    middle = means.mean()
    spread = ((means - middle) ** 2).sum()
    if len(means) < 4 or spread == 0:
        return means
    return middle + max(0.0, 1 - (len(means) - 3) * error_squared / spread) * (means - middle)
