"""The rule of selection, against a slow reading of its words, one number at a time."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.contest import Contest, judge
from grpo_assets.domain.scores import Floats
from grpo_assets_tests.builders import LAW

SHAPES = st.tuples(st.integers(1, 6), st.integers(2, 5), st.integers(2, 12))
"""Configurations, seeds and clusters."""
BORDER = 1e-9
"""A configuration as near as this to the end of the standard error may be counted on either side."""


class Said(NamedTuple):
    """What the words of the rule say."""

    means: list[float]
    behind: list[float]
    error: list[float]
    runs: list[list[float]]


def by_words(contest: Contest, weights: Floats, seed_counts: Floats, best: int | None = None) -> Said:
    """The rule in loops: a cluster that was drawn twice is two clusters, a seed that was drawn twice two runs."""
    clusters = [c for c, weight in enumerate(weights) for _ in range(int(weight))]
    seeds = [s for s, count in enumerate(seed_counts) for _ in range(int(count))]
    tasks = sum(contest.sizes[c] for c in clusters)
    runs = [[sum(of_run[c] for c in clusters) / tasks for of_run in of_all] for of_all in contest.sums]
    means = [sum(of_all[s] for s in seeds) / len(seeds) for of_all in runs]
    best = max(range(len(means)), key=lambda v: means[v]) if best is None else best

    between = 0.0
    for of_all, mean in zip(runs, means, strict=True):
        between += sum((of_all[s] - mean) ** 2 for s in seeds) / (len(seeds) - 1) / len(runs)

    behind, error = [], []
    for v, mean in enumerate(means):
        ahead = means[best] - mean
        by_task = 0.0
        for c in clusters:
            difference = sum(contest.sums[best][s][c] - contest.sums[v][s][c] for s in seeds) / len(seeds)
            by_task += (difference - contest.sizes[c] * ahead) ** 2
        behind.append(ahead)
        error.append((by_task / tasks**2 + 2 * between / len(seeds)) ** 0.5)
    return Said(means, behind, error, runs)


def contest_of(shape: tuple[int, int, int], rng: np.random.Generator, samples: int = 0) -> Contest:
    """A random contest with clusters of one to four tasks; with `samples` its rates are passes of so many."""
    configurations, seeds, clusters = shape
    sizes = rng.integers(1, 5, size=clusters).astype(float)
    sums = rng.random((configurations, seeds, clusters)) * sizes
    return Contest(np.round(sums * samples) / samples if samples else sums, sizes)


def draw(contest: Contest, rng: np.random.Generator) -> tuple[Floats, np.ndarray]:
    """Weights of clusters and counts of seeds as a bootstrap draws them."""
    clusters, seeds = len(contest.sizes), contest.sums.shape[1]
    weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=3).astype(float)
    return weights, np.bincount(rng.integers(seeds, size=seeds), minlength=seeds)


def once(contest: Contest) -> tuple[Floats, np.ndarray]:
    """The weights of the real tasks and seeds: each counts once."""
    return np.ones((1, len(contest.sizes))), np.ones(contest.sums.shape[1], dtype=np.int64)


def constant(means: list[list[float]], tasks: int = 8) -> Contest:
    """Runs that have the same rate on every task, so that tasks have no variance; shape (configurations, seeds)."""
    return Contest(np.repeat(np.array(means, float)[..., None], tasks, axis=-1), np.ones(tasks))


@LAW
@given(shape=SHAPES, seed=st.integers(0, 10**6), resampled=st.booleans())
def test_the_rule_is_what_its_words_say(shape: tuple[int, int, int], seed: int, resampled: bool) -> None:
    """On real tasks and on resampled ones the best, the distances, the errors, the tie set and the winner agree."""
    rng = np.random.default_rng(seed)
    contest = contest_of(shape, rng)
    weights, counts = draw(contest, rng) if resampled else once(contest)

    found = judge(contest, weights, counts)

    for row, weight in enumerate(weights):
        said = by_words(contest, weight, counts)
        assert found.best[row] == np.argmax(said.means)
        assert found.ahead[row] == pytest.approx(said.behind, abs=1e-11)
        assert found.error[row] == pytest.approx(said.error, abs=1e-7)
        tied = [behind <= error for behind, error in zip(said.behind, said.error, strict=True)]
        margins = np.subtract(said.error, said.behind)
        clear = np.abs(margins) > BORDER
        clear[found.best[row]] = True
        assert found.tied[row][clear].tolist() == np.array(tied)[clear].tolist()
        winner = found.winner[row]
        assert winner == found.tied[row].tolist().index(True)
        there = [s for s, count in enumerate(counts) if count]
        assert found.run[row] == max(there, key=lambda s: said.runs[winner][s])
        highest = max(((v, s) for v in range(shape[0]) for s in there), key=lambda place: said.runs[place[0]][place[1]])
        assert (found.highest[0][row], found.highest[1][row]) == highest


@LAW
@given(shape=SHAPES, seed=st.integers(0, 10**6), samples=st.integers(1, 4))
def test_the_rule_is_what_its_words_say_where_scores_are_equal(
    shape: tuple[int, int, int], seed: int, samples: int
) -> None:
    """With few samples many means are equal; the best is one of the highest and the tie set follows from it."""
    rng = np.random.default_rng(seed)
    contest = contest_of(shape, rng, samples)
    weights, counts = draw(contest, rng)

    found = judge(contest, weights, counts)

    for row, weight in enumerate(weights):
        best = int(found.best[row])
        said = by_words(contest, weight, counts, best)
        assert said.means[best] == pytest.approx(max(said.means), abs=1e-11)
        assert found.ahead[row] == pytest.approx(said.behind, abs=1e-11)
        assert found.error[row] == pytest.approx(said.error, abs=1e-7)
        for tied, behind, error in zip(found.tied[row], said.behind, said.error, strict=True):
            assert tied == (behind <= error) or abs(behind - error) < BORDER


@LAW
@given(shape=SHAPES, seed=st.integers(0, 10**6), samples=st.integers(0, 4))
def test_the_best_is_tied_with_itself(shape: tuple[int, int, int], seed: int, samples: int) -> None:
    """The tie set is never empty, and the winner is in it."""
    rng = np.random.default_rng(seed)
    contest = contest_of(shape, rng, samples)
    weights, counts = draw(contest, rng)

    found = judge(contest, weights, counts)

    rows = np.arange(len(weights))
    assert found.tied[rows, found.best].all()
    assert (found.ahead[rows, found.best] == 0).all()
    assert found.tied[rows, found.winner].all()
    assert (found.ahead >= 0).all()


@LAW
@given(shape=SHAPES, seed=st.integers(0, 10**6))
def test_the_order_of_clusters_and_seeds_does_not_count(shape: tuple[int, int, int], seed: int) -> None:
    """A contest in another order of its clusters and of its seeds has the same winner and the same errors."""
    rng = np.random.default_rng(seed)
    contest = contest_of(shape, rng)
    clusters, seeds = rng.permutation(shape[2]), rng.permutation(shape[1])
    other = Contest(contest.sums[:, seeds][:, :, clusters], contest.sizes[clusters])

    first, second = judge(contest, *once(contest)), judge(other, *once(other))

    assert first.winner == second.winner
    assert first.run == seeds[second.run]
    assert first.error == pytest.approx(second.error, abs=1e-7)


@pytest.mark.parametrize("seeds", [2, 3])
def test_equal_configurations_tie(seeds: int) -> None:
    """Nobody is ahead of an equal one, and the first in the order of the tie-break wins."""
    rates = np.random.default_rng(1).random((1, seeds, 20))
    contest = Contest(np.repeat(rates, 4, axis=0), np.ones(20))

    found = judge(contest, *once(contest))

    assert found.tied.all()
    assert found.ahead == pytest.approx(np.zeros((1, 4)), abs=1e-15)
    assert found.winner == [0]


def test_one_standard_error_vector() -> None:
    """Means of .56, .60, .645, .650 and .655 with a paired error of .012: the last three tie, and the third wins."""
    swing = np.where(np.arange(100) % 2, 0.12, -0.12)  # its mean is 0 and its standard error .012
    rates = [mean + swing for mean in (0.56, 0.60, 0.645, 0.650)] + [np.full(100, 0.655)]
    contest = Contest(np.repeat(np.array(rates)[:, None], 2, axis=1), np.ones(100))

    found = judge(contest, *once(contest))

    assert found.error[0, :4] == pytest.approx([0.012] * 4)
    assert found.tied[0].tolist() == [False, False, True, True, True]
    assert (found.best, found.winner) == ([4], [2])


def test_the_variance_between_runs_is_pooled_over_configurations() -> None:
    """One configuration whose runs differ makes the lead of every other one uncertain."""
    steady = judge(constant([[0.5, 0.5], [0.625, 0.625], [0.0, 0.0]]), *once(constant([[0.0, 0.0]])))
    shaky = judge(constant([[0.5, 0.5], [0.625, 0.625], [0.0, 0.5]]), *once(constant([[0.0, 0.0]])))

    assert steady.tied[0].tolist() == [False, True, False]
    assert steady.error[0].tolist() == [0, 0, 0]
    assert shaky.error[0] == pytest.approx([(2 * (0.125 / 3) / 2) ** 0.5] * 3)  # the third one's variance is .125
    assert shaky.tied[0].tolist() == [True, True, False]


def test_tasks_of_one_cluster_are_no_evidence_apart() -> None:
    """A lead that stands on one cluster is uncertain; spread over as many single tasks it is less so."""
    lead = np.array([0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    arms = np.array([[lead, lead], [0 * lead, 0 * lead]])
    alone = Contest(arms, np.ones(8))
    together = Contest(
        np.stack([arms[..., :4].sum(-1), *np.moveaxis(arms[..., 4:], -1, 0)], axis=-1), np.array([4, 1, 1, 1, 1.0])
    )

    single, clustered = judge(alone, *once(alone)), judge(together, *once(together))

    assert single.ahead[0, 1] == clustered.ahead[0, 1] == 0.25
    assert clustered.error[0, 1] > single.error[0, 1]


def test_the_best_run_is_one_that_was_drawn() -> None:
    """A seed that was not drawn has no run to take, however good it is; of equal runs the first is taken."""
    contest = constant([[0.9, 0.5, 0.5], [0.1, 0.2, 0.1]])

    found = judge(contest, np.ones((1, 8)), np.array([0, 1, 2]))

    assert (found.winner, found.run) == ([0], [1])
    assert [int(place[0]) for place in found.highest] == [0, 1]


def test_the_mean_over_seeds_wins_over_the_highest_run() -> None:
    """A configuration with one lucky run loses to one that is better on average."""
    contest = constant([[1.0, 0.0, 0.0], [0.75, 0.75, 0.75]])

    found = judge(contest, *once(contest))

    assert found.best == [1]
    assert [int(place[0]) for place in found.highest] == [0, 0]


@LAW
@given(passes=st.permutations([4, 4, 4, 2, 3, 3, 4, 0]))
def test_of_equal_means_the_first_is_the_best(passes: list[int]) -> None:
    """With five samples a task, means of as many passes differ in their last digit, which must not say who is best.

    The others are measured from the best one, and on another machine the last digit is another.
    """
    rates = np.array([[4, 4, 4, 2, 3, 3, 4, 0], passes]) / 5
    contest = Contest(np.repeat(rates[:, None], 2, axis=1), np.ones(8))

    assert judge(contest, *once(contest)).best == [0]
