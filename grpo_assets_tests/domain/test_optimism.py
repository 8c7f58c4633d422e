"""The winner's dev score is corrected for being a winner's; the simulations know the truth."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.contest import Contest, judge
from grpo_assets.domain.optimism import bias_corrected, shrunken
from grpo_assets.domain.scores import Floats
from grpo_assets_tests.builders import LAW

NULL = {"configurations": 16, "tasks": 100, "samples": 4, "simulations": 200}
"""The simulated matrix of configurations that are all equal."""


def random_contest(configurations: int = 4, seeds: int = 3, tasks: int = 60, per_cluster: int = 1) -> Contest:
    """Configurations of four samples a task whose chances are all the same."""
    rng = np.random.default_rng([configurations, seeds, tasks])
    rates = rng.binomial(4, 0.5, size=(configurations, seeds, tasks)) / 4
    sums = rates.reshape(configurations, seeds, -1, per_cluster).sum(axis=-1)
    return Contest(sums, np.full(sums.shape[2], float(per_cluster)))


def constant(rates: list[list[float]], tasks: int = 60) -> Contest:
    """Runs that have the same rate on every task; shape (configurations, seeds)."""
    return Contest(np.repeat(np.array(rates, float)[..., None], tasks, axis=-1), np.ones(tasks))


def test_shrunken_vector() -> None:
    """Six scores with a noise of .03 have the shrunken ones of the reference."""
    found = shrunken(np.array([0.50, 0.52, 0.55, 0.58, 0.60, 0.61]), 0.03**2)

    assert found == pytest.approx([0.516531, 0.531020, 0.552755, 0.574490, 0.588980, 0.596224], abs=1e-6)


@pytest.mark.parametrize(
    ("means", "noise", "expected"),
    [
        ([0.5, 0.6, 0.7], 0.1, [0.5, 0.6, 0.7]),  # fewer than four
        ([0.5, 0.5, 0.5, 0.5], 0.1, [0.5, 0.5, 0.5, 0.5]),  # no spread
        ([0.4, 0.5, 0.6, 0.7], 0.0, [0.4, 0.5, 0.6, 0.7]),  # no noise
        ([0.4, 0.5, 0.6, 0.7], 1.0, [0.55] * 4),  # nothing but noise: never beyond the mean
    ],
)
def test_shrinking_knows_its_ends(means: list[float], noise: float, expected: list[float]) -> None:
    """Scores stay as they are where there is nothing to shrink by, and go no further than to their mean."""
    assert shrunken(np.array(means), noise) == pytest.approx(expected)


@LAW
@given(means=st.lists(st.integers(0, 100).map(lambda x: x / 100), min_size=1, max_size=12), noise=st.floats(0.0, 0.05))
def test_shrinking_keeps_the_order_and_the_mean(means: list[float], noise: float) -> None:
    """No score overtakes another, none leaves the range, and their mean stays."""
    found = shrunken(np.array(means), noise)

    order = np.argsort(means, kind="stable")
    assert (np.diff(found[order]) >= -1e-12).all()
    assert found.mean() == pytest.approx(np.mean(means))
    assert found.min() >= min(means) - 1e-12
    assert found.max() <= max(means) + 1e-12


@pytest.mark.parametrize(
    ("tasks", "per_cluster", "reason"),
    [
        (49, 1, "49 dev tasks: below 50 the correction is far too pessimistic"),
        (98, 2, "98 dev tasks in 49 clusters: below 50 the correction is far too pessimistic"),
    ],
)
def test_few_tasks_have_no_correction_but_a_reason(tasks: int, per_cluster: int, reason: str) -> None:
    """Below fifty tasks, or clusters of them, no score is corrected; the raw one and the wins are still told."""
    contest = random_contest(tasks=tasks, per_cluster=per_cluster)

    found = bias_corrected(contest, 1)

    none = {"value": None, "interval": None, "reason": reason}
    assert found["checkpoint"] == found["configuration"] == none
    assert found["raw_optimism"] is None
    assert found["raw_maximum"] == pytest.approx((contest.sums.sum(axis=2) / contest.sizes.sum()).max())
    assert found["wins"].sum() == pytest.approx(1)


def test_two_seeds_have_no_configuration_score_but_a_reason() -> None:
    """With two seeds there is nothing to score a configuration on; its checkpoint has a score."""
    found = bias_corrected(random_contest(seeds=2, tasks=50), 1)

    assert found["configuration"] == {
        "value": None,
        "interval": None,
        "reason": "2 seeds: it takes 3 to choose on some and score on others",
    }
    assert found["checkpoint"]["value"] is not None
    assert found["checkpoint"]["reason"] is None
    assert found["raw_optimism"] is not None


def test_three_seeds_and_fifty_tasks_have_both_scores() -> None:
    """Each score lies in its interval, and the raw maximum is above both."""
    found = bias_corrected(random_contest(seeds=3, tasks=50), 1)

    for target in ("checkpoint", "configuration"):
        low, high = found[target]["interval"]
        assert 0 <= low < found[target]["value"] < high <= 1
        assert found[target]["value"] < found["raw_maximum"]
    assert 0 < found["raw_optimism"] < 0.2


@pytest.mark.parametrize("seeds", [2, 3])
def test_the_same_seed_gives_the_same_correction(seeds: int) -> None:
    """Drawn again with its seed everything is the same; with another one it is near."""
    contest = random_contest(seeds=seeds)

    first, again, other = (bias_corrected(contest, seed) for seed in (1, 1, 2))

    assert first["wins"].tolist() == again["wins"].tolist()
    assert {**first, "wins": 0} == {**again, "wins": 0}
    assert first["checkpoint"] != other["checkpoint"]
    assert first["checkpoint"]["value"] == pytest.approx(other["checkpoint"]["value"], abs=0.02)


@LAW
@given(configurations=st.integers(1, 4), seeds=st.integers(2, 4), clusters=st.integers(2, 6), seed=st.integers(0, 99))
def test_wins_add_up_to_one_however_few_clusters_there_are(
    configurations: int, seeds: int, clusters: int, seed: int
) -> None:
    """Each draw has one winner; with few clusters draws that leave none out are drawn again."""
    found = bias_corrected(random_contest(configurations, seeds, clusters), seed)

    assert found["wins"].shape == (configurations,)
    assert found["wins"].sum() == pytest.approx(1)
    assert (found["wins"] >= 0).all()


@pytest.mark.parametrize("seeds", [2, 3])
def test_wins_add_up_to_one(seeds: int) -> None:
    """Also where a correction is made, and among equal configurations none has all of them."""
    wins = bias_corrected(random_contest(seeds=seeds), 1)["wins"]

    assert wins.sum() == pytest.approx(1)
    assert 0 < wins.max() < 1


def test_nothing_is_corrected_where_nothing_was_chosen() -> None:
    """One configuration with equal runs has been lucky in nothing."""
    rates = np.random.default_rng(3).random((1, 1, 200))

    found = bias_corrected(Contest(np.repeat(rates, 3, axis=1), np.ones(200)), 1)

    assert found["checkpoint"]["value"] == pytest.approx(rates.mean(), abs=0.005)
    assert found["configuration"]["value"] == pytest.approx(rates.mean(), abs=0.005)
    assert found["raw_optimism"] == pytest.approx(0, abs=0.005)


def test_a_configuration_that_is_far_ahead_wins_every_draw() -> None:
    """Its checkpoint's score is that of its best run, its own that of the runs that were not chosen by."""
    found = bias_corrected(constant([[0.25, 0.25, 0.25], [0.75, 0.75, 0.75]]), 1)

    assert found["wins"].tolist() == [0, 1]
    assert found["checkpoint"] == {"value": 0.75, "interval": [0.75, 0.75], "reason": None}
    assert found["configuration"] == {"value": 0.75, "interval": [0.75, 0.75], "reason": None}
    assert found["raw_optimism"] == 0


def test_a_configuration_is_scored_on_runs_that_it_was_not_chosen_by() -> None:
    """What a lucky run shows of its configuration is the mean of its runs, not that run."""
    found = [bias_corrected(constant([[0.9, 0.3, 0.3]]), seed) for seed in range(20)]

    assert [correction["checkpoint"]["value"] for correction in found] == pytest.approx([0.9] * 20)
    assert np.mean([correction["configuration"]["value"] for correction in found]) == pytest.approx(0.5, abs=0.03)


def test_a_correction_is_json() -> None:
    """Numbers are plain ones, apart from the wins, which are an array."""
    found = bias_corrected(random_contest(), 1)

    assert json.loads(json.dumps({**found, "wins": None}, allow_nan=False))["checkpoint"] == found["checkpoint"]


class Simulated(NamedTuple):
    """What one simulated selection claims, less what is true; `alone` where a single configuration is ahead."""

    alone: bool
    checkpoint: float
    configuration: float
    maximum_of_its_run: float
    maximum_of_its_configuration: float


def simulated(rng: np.random.Generator, seeds: int, seed_deviation: float) -> Simulated:
    """Select among equal configurations whose runs differ by a shift; chances stay in (0, 1), so no shift is cut."""
    configurations, tasks, samples = NULL["configurations"], NULL["tasks"], NULL["samples"]
    chances: Floats = 0.3 + 0.4 * rng.beta(2, 2, size=tasks)
    shifted = chances + rng.normal(0, seed_deviation, size=(configurations, seeds, 1)) + np.zeros(tasks)
    assert 0 < shifted.min() <= shifted.max() < 1
    contest = Contest(rng.binomial(samples, shifted) / samples, np.ones(tasks))

    found = judge(contest, np.ones((1, tasks)), np.ones(seeds, dtype=np.int64))
    corrected = bias_corrected(contest, int(rng.integers(2**32)))

    chosen = shifted[found.winner[0], found.run[0]].mean()
    highest = shifted[found.highest[0][0], found.highest[1][0]].mean()
    configuration = corrected["configuration"]["value"]
    return Simulated(
        found.tied[0].sum() == 1,
        corrected["checkpoint"]["value"] - chosen,
        np.nan if configuration is None else configuration - chances.mean(),
        corrected["raw_maximum"] - highest,
        corrected["raw_maximum"] - chances.mean(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("seed_deviation", [0.0, 0.01, 0.02, 0.03])
def test_equal_configurations_have_no_winner_and_a_true_score(seeds: int, seed_deviation: float) -> None:
    """Of 16 equal ones at most 5% end with one ahead; what is stated is true within .01, the maximum is not."""
    rng = np.random.default_rng([seeds, int(1000 * seed_deviation)])

    found = [simulated(rng, seeds, seed_deviation) for _ in range(NULL["simulations"])]

    mean = Simulated(*np.mean(found, axis=0))
    assert mean.alone <= 0.05
    assert mean.checkpoint == pytest.approx(0, abs=0.01)
    assert mean.maximum_of_its_run > 0.025
    assert mean.maximum_of_its_configuration > 0.04
    if seed_deviation == 0.03:
        assert mean.maximum_of_its_configuration == pytest.approx(0.08, abs=0.01)
    if seeds == 3:
        assert mean.configuration == pytest.approx(0, abs=0.01)
