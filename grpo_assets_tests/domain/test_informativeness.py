"""The chance of an informative group: every vector of the statistics, laws, and the real run of 1,209 prompts."""

import json
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.curriculum import curriculum
from grpo_assets.domain.informativeness import (
    Component,
    Prior,
    chances,
    expected_groups,
    fit_beta,
    fit_inflated_beta,
    fit_prior,
    unbiased,
    value_counts,
)
from grpo_assets_tests.builders import LAW, statistics_row

ACCURACIES = Path(__file__).parents[3] / "shared" / "data" / "acc_step_500.json"


def two(passes: list[int] | np.ndarray, rollouts: int) -> np.ndarray:
    """Counts of 0 and 1 from the passes of so many rollouts."""
    won = np.asarray(passes, dtype=np.int64)
    return np.stack([rollouts - won, won], axis=1)


def beta(passing: float, failing: float, *fixed: float) -> Prior:
    """A Beta prior of the pass rate, with shares of hopeless and certain prompts where given."""
    return Prior(((1.0, Component((failing, passing), fixed or (0.0, 0.0), "beta")),))


@pytest.mark.parametrize(
    ("c", "k", "group_size", "a", "mean", "deviation"),
    [
        (0, 4, 8, 1.0, 791 / 1287, 0.299367),
        (0, 8, 8, 1.0, 11439 / 24310, 0.282278),
        (8, 8, 8, 1.0, 11439 / 24310, 0.282278),
        (1, 8, 8, 1.0, 8933 / 12155, 0.223041),
        (2, 8, 4, 1.0, 98 / 143, 0.173366),
        (4, 8, 8, 1.0, 212 / 221, 0.055707),
        (0, 8, 8, 0.5, 0.287338, 0.274780),
        (1, 8, 8, 0.5, 0.654912, 0.259059),
        (4, 8, 8, 0.5, 0.954657, 0.063268),
        (0, 16, 8, 0.5, 0.181375, 0.199315),
        (0, 8, 16, 0.5, 0.416610, 0.335395),
    ],
)
def test_posterior_vectors(c: int, k: int, group_size: int, a: float, mean: float, deviation: float) -> None:
    """Mean and standard deviation under a symmetric Beta prior."""
    found = chances(two([c], k), group_size, beta(a, a))

    assert [float(number[0]) for number in found] == pytest.approx([mean, deviation], abs=1e-6)


@pytest.mark.parametrize(
    ("k", "c", "group_size", "value"),
    [
        (8, 2, 4, 11 / 14),
        (8, 1, 4, 1 / 2),
        (8, 4, 4, 34 / 35),
        (8, 0, 4, 0.0),
        (8, 8, 4, 0.0),
        (8, 1, 8, 1.0),
        (16, 3, 8, 9 / 10),
        (16, 1, 8, 1 / 2),
        (16, 8, 8, 6434 / 6435),
        (10, 3, 4, 5 / 6),
    ],
)
def test_unbiased_vectors(k: int, c: int, group_size: int, value: float) -> None:
    """The U-statistic of two values."""
    assert unbiased(two([c], k), group_size)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "group_size", "value"),
    [
        ([3, 2, 3], 2, 3 / 4),
        ([3, 2, 3], 3, 27 / 28),
        ([3, 2, 3], 4, 1.0),
        ([6, 1, 1], 2, 13 / 28),
        ([6, 1, 1], 4, 11 / 14),
    ],
)
def test_unbiased_vectors_of_graded_rewards(counts: list[int], group_size: int, value: float) -> None:
    """The same over more values."""
    assert unbiased(np.array([counts]), group_size)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("counts", "group_size", "value"), [([3, 2, 3], 4, 0.906362), ([1, 7], 8, 0.654912)])
def test_graded_posterior_vectors(counts: list[int], group_size: int, value: float) -> None:
    """A Dirichlet prior of one half a value; with two values it is the Beta."""
    prior = Prior(((1.0, Component((0.5,) * len(counts), (0.0,) * len(counts), "dirichlet")),))

    assert chances(np.array([counts]), group_size, prior)[0][0] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("passes", "k", "a", "b", "loss"),
    [
        ([0, 0, 0, 1, 2, 4, 5, 7, 8, 8], 8, 0.30699, 0.39053, 19.918462),
        (np.repeat(np.arange(11), [126, 26, 13, 9, 7, 12, 11, 14, 25, 40, 91]), 10, 0.20295, 0.23596, 732.64499),
        (np.repeat(np.arange(9), [439, 151, 103, 91, 73, 76, 88, 96, 92]), 8, 0.34886, 0.70681, 2377.946168),
    ],
)
def test_fitted_prior_vectors(passes: list[int] | np.ndarray, k: int, a: float, b: float, loss: float) -> None:
    """Beta-binomial maximum likelihood on an example, on MBPP, and on a real GRPO run."""
    form, found = fit_beta(two(passes, k))

    constant = sum(np.log(comb(k, int(c))) for c in passes)
    assert form.weights == pytest.approx((b, a), abs=2e-5)
    assert found - constant == pytest.approx(loss, abs=1e-5)


def test_chances_by_passes_vectors() -> None:
    """What the fitted prior of MBPP makes of each number of passes, and the totals of both estimates."""
    passes = np.repeat(np.arange(11), [126, 26, 13, 9, 7, 12, 11, 14, 25, 40, 91])
    prior = beta(0.20295, 0.23596)

    by_passes = chances(two(np.arange(11), 10), 8, prior)[0]

    expected = [0.1137, 0.5250, 0.7587, 0.8837, 0.9433, 0.9610, 0.9444, 0.8865, 0.7642, 0.5351, 0.1311]
    assert by_passes == pytest.approx(expected, abs=6e-5)
    assert chances(two(passes, 10), 8, prior)[0].sum() == pytest.approx(139.17, abs=0.01)
    assert unbiased(two(passes, 10), 8).sum() == pytest.approx(142.96, abs=0.01)
    assert unbiased(two(passes, 10), 4).sum() == pytest.approx(98.96, abs=0.01)


@LAW
@given(p=st.floats(0.01, 0.99), k=st.integers(2, 12), group_size=st.integers(2, 8))
def test_the_estimate_is_unbiased(p: float, k: int, group_size: int) -> None:
    """Averaged over pilots of one pass rate it is the true chance, for every group that the pilot can hold."""
    if group_size > k:
        assert np.isnan(unbiased(two([0], k), group_size)[0])
        return
    weights = [comb(k, c) * p**c * (1 - p) ** (k - c) for c in range(k + 1)]

    mean = float(np.dot(weights, unbiased(two(list(range(k + 1)), k), group_size)))

    assert mean == pytest.approx(1 - p**group_size - (1 - p) ** group_size, abs=1e-9)


@LAW
@given(
    counts=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40),
    group_size=st.integers(2, 64),
)
def test_chances_are_chances(counts: list[tuple[int, int, int]], group_size: int) -> None:
    """Whatever was seen, even nothing, the mean is in [0, 1] and the deviation no more than a chance can have."""
    seen = np.array(counts, dtype=np.int64)

    mean, deviation = chances(seen, group_size, fit_prior(seen))

    assert np.all((mean >= 0) & (mean <= 1))
    assert np.all((deviation >= 0) & (deviation**2 <= mean * (1 - mean) + 1e-9))


@LAW
@given(c=st.integers(0, 8), group_size=st.integers(2, 32))
def test_larger_groups_are_informative_more_often(c: int, group_size: int) -> None:
    """One more rollout never makes a group less informative."""
    smaller, larger = (chances(two([c], 8), size, beta(0.5, 0.5))[0][0] for size in (group_size, group_size + 1))

    assert larger >= smaller


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((40, 2), dtype=np.int64),  # nothing was scored
        two([0] * 40, 8),  # all fail
        two([8] * 40, 8),  # all pass
        two([0, 1] * 20, 1),  # one rollout each
        two([4] * 40, 8),  # all alike
        two([0] * 10, 8),  # few prompts
    ],
    ids=["unscored", "all fail", "all pass", "one rollout", "alike", "few"],
)
@pytest.mark.filterwarnings("error")
def test_poor_pilots_give_chances_and_no_warning(counts: np.ndarray) -> None:
    """Where a prior cannot be fitted well there is still one, and nothing is divided by zero."""
    prior = fit_prior(counts)
    expected = expected_groups(counts, np.ones(len(counts), dtype=np.int64), 8, prior)

    mean, deviation = chances(counts, 8, prior)

    assert np.isfinite([*mean, *deviation, expected.groups, *expected.interval]).all()
    assert expected.interval[0] <= expected.groups <= expected.interval[1]


@pytest.mark.parametrize("counts", [two([0] * 10, 8), two([0, 1] * 20, 1)], ids=["few prompts", "one rollout each"])
def test_a_prior_that_cannot_be_fitted_is_jeffreys(counts: np.ndarray) -> None:
    """Below 30 prompts, and where each has one rollout."""
    [(share, form)] = fit_prior(counts).components

    assert (share, form.weights, form.method) == (1.0, (0.5, 0.5), "jeffreys")


def test_many_hopeless_prompts_are_found_and_not_expected_to_teach() -> None:
    """With two in five impossible, the inflated prior predicts larger groups where the plain one is far off."""
    generator = np.random.default_rng(5)
    rates = np.where(generator.random(4000) < 0.4, 0.0, generator.beta(1, 1, 4000))
    counts = two(generator.binomial(8, rates), 8)
    plain, loss = fit_beta(counts)
    inflated, lower = fit_inflated_beta(counts, plain)

    truth = float((1 - rates**16 - (1 - rates) ** 16).mean())
    by_plain, by_inflated = (chances(counts, 16, Prior(((1.0, form),)))[0].mean() for form in (plain, inflated))

    assert loss - lower > 20
    assert inflated.fixed[0] == pytest.approx(0.4, abs=0.05)
    assert by_plain - truth > 0.03
    assert by_inflated == pytest.approx(truth, abs=0.01)
    assert fit_prior(counts).components[1][0] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "hopeless", "certain"),
    [(0.35, 0.7, 0.0, 0.0), (2, 3, 0.0, 0.0), (1, 1, 0.4, 0.0), (0.8, 1.5, 0.2, 0.15)],
)
def test_the_interval_covers_what_comes(a: float, b: float, hopeless: float, certain: float) -> None:
    """Over 1,000 simulated pools the 95% interval holds the number of informative groups in 93 to 97% of them."""
    generator, held = np.random.default_rng(5), 0
    for _ in range(1000):
        kind = generator.random(300)
        rates = np.select([kind < hopeless, kind < hopeless + certain], [0.0, 1.0], generator.beta(a, b, 300))
        counts = two(generator.binomial(8, rates), 8)
        expected = expected_groups(counts, np.ones(300, dtype=np.int64), 8, fit_prior(counts))
        passes = generator.binomial(8, rates)
        held += expected.interval[0] <= ((passes > 0) & (passes < 8)).sum() <= expected.interval[1]

    assert 0.93 <= held / 1000 <= 0.97


def test_visits_of_one_prompt_share_its_doubt() -> None:
    """Ten visits of a prompt that may be hopeless are less certain than one visit of each of ten prompts."""
    prior = beta(0.3, 0.3)
    ten, one = two([1] * 10, 4), two([1], 4)

    apart = expected_groups(ten, np.ones(10, dtype=np.int64), 4, prior)
    together = expected_groups(one, np.array([10]), 4, prior)

    assert together.groups == pytest.approx(apart.groups)
    assert together.deviation > 1.5 * apart.deviation


def test_the_count_of_known_chances_vector() -> None:
    """The mean and the Poisson-binomial deviation where the pass rates are all but known."""
    rates = [0.5, 0.1, 0.05, 0.01, 0.0]
    many = 10**7
    counts = np.array([[round(many * (1 - p)), round(many * p)] for p in rates])

    expected = expected_groups(counts, np.ones(5, dtype=np.int64), 8, beta(1e-6, 1e-6))

    p = [1 - rate**8 - (1 - rate) ** 8 for rate in rates]
    assert expected.groups == pytest.approx(sum(p), abs=1e-4)
    assert expected.deviation == pytest.approx(sum(q * (1 - q) for q in p) ** 0.5, abs=1e-4)


@pytest.mark.parametrize(
    ("p", "chances_at"),
    [
        (0.01, [0.0198, 0.039404, 0.077255, 0.148542]),
        (0.05, [0.095, 0.185488, 0.336580, 0.559873]),
        (0.1, [0.18, 0.3438, 0.569533, 0.814698]),
        (0.25, [0.375, 0.679688, 0.899872, 0.989977]),
        (0.5, [0.5, 0.875, 0.9921875, 0.999969]),
        (0.9, [0.18, 0.3438, 0.569533, 0.814698]),
    ],
)
def test_a_known_pass_rate_gives_the_chance_of_the_formula(p: float, chances_at: list[float]) -> None:
    """Where a pilot is so long that nothing is in doubt, at groups of 2, 4, 8 and 16."""
    many = 10**8
    counts = np.array([[round(many * (1 - p)), round(many * p)]])

    found = [chances(counts, size, beta(0.5, 0.5))[0][0] for size in (2, 4, 8, 16)]

    assert found == pytest.approx(chances_at, abs=1e-6)


def test_value_counts_have_a_column_a_value() -> None:
    """Values seen on any prompt, and 0 and 1 always, in ascending order."""
    rows = [
        statistics_row("a", reward_values=[0.0, 0.5], reward_counts=[3, 1]),
        statistics_row("b", reward_values=[], reward_counts=[]),
    ]

    assert value_counts(rows).tolist() == [[3, 1, 0], [0, 0, 0]]


@pytest.fixture(scope="module")
def visits() -> np.ndarray:
    """Passes of 8 at each of 44 visits of 1,209 prompts of a real GRPO run, shape (prompts, visits)."""
    if not ACCURACIES.exists():
        pytest.skip("the shared folder of real data is not here")
    rates = json.loads(ACCURACIES.read_text())
    least = min(map(len, rates.values()))
    return np.round(8 * np.array([series[:least] for series in rates.values()])).astype(np.int64)


def test_the_next_visit_of_a_real_run_is_predicted(visits: np.ndarray) -> None:
    """From each visit of 8 rollouts to the next: the share, the Brier score, and the top quarter of our order."""
    errors, scores, quarters = [], [], []
    for now, after in zip(visits.T[:-1], visits.T[1:], strict=True):
        came = (after > 0) & (after < 8)
        statistics = [statistics_row(f"{i:04}", 8 - int(c), int(c)) for i, c in enumerate(now)]
        order = curriculum(statistics, "informative", 8)
        chance = {row["task_id"]: row["p_informative"] for row in order}
        predicted = np.array([chance[f"{i:04}"] for i in range(len(now))])
        errors.append(abs(predicted.mean() - came.mean()))
        scores.append(float(((predicted - came) ** 2).mean()))
        quarters.append(came[[int(row["task_id"]) for row in order[: len(order) // 4]]].mean())

    assert np.mean(errors) <= 0.01
    assert np.mean(scores) <= 0.175
    assert np.mean(quarters) >= 0.88
    assert errors[0] < 0.001
    assert quarters[0] >= 0.88


def test_priors_of_a_real_run_rank_as_published(visits: np.ndarray) -> None:
    """By Brier score: the fitted prior before Jeffreys', before the uniform one, before the plain rate."""
    now, came = visits[:, 0], (visits[:, 1] > 0) & (visits[:, 1] < 8)
    counts = two(now, 8)
    rate = now / 8

    def brier(predicted: np.ndarray) -> float:
        return float(((predicted - came) ** 2).mean())

    scores = [
        brier(chances(counts, 8, fit_prior(counts))[0]),
        brier(chances(counts, 8, beta(0.5, 0.5))[0]),
        brier(chances(counts, 8, beta(1, 1))[0]),
        brier(1 - rate**8 - (1 - rate) ** 8),
    ]

    assert scores == pytest.approx([0.167, 0.170, 0.192, 0.201], abs=1e-3)
    assert scores == sorted(scores)


def test_all_pairs_of_values_are_symmetric() -> None:
    """Exchanging passes and fails exchanges nothing about a group."""
    for fails, passes in product(range(5), repeat=2):
        one, other = (chances(np.array([c]), 6, beta(0.4, 0.4))[0][0] for c in ([fails, passes], [passes, fails]))
        assert one == pytest.approx(other, abs=1e-12)
