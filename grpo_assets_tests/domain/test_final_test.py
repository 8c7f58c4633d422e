"""The held-out evaluation: clusters are the units, tests are exact where they can be, and no spread is no certainty."""

import math
import tracemalloc
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import (
    binom,
    binomtest,
    bootstrap,
    dunnett,
    false_discovery_control,
    hypergeom,
    mannwhitneyu,
    norm,
    permutation_test,
)
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

from grpo_assets.domain.final_test import (
    RESAMPLES,
    clustered_error,
    detectable,
    holm,
    least_p,
    mcnemar,
    paired_comparison,
    paired_interval,
    paired_p,
    pass_at,
    pass_at_k,
    seed_level,
)
from grpo_assets_tests.builders import LAW

RATE = st.integers(0, 6).map(lambda passes: passes / 6)
TASKS = st.lists(st.tuples(RATE, RATE, st.integers(0, 9)), min_size=1, max_size=20)
"""Score of ours, score of theirs, and cluster of each task; at most ten clusters, so that p is exact."""
FAMILY = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205]
"""The p values of the reference's Holm and Benjamini-Hochberg vectors."""


def arms(differences: list[float]) -> tuple[list[float], list[float]]:
    """Scores of two arms that differ by these."""
    return [0.5 + d / 2 for d in differences], [0.5 - d / 2 for d in differences]


def outcomes(wins: int, losses: int, both: int = 40, neither: int = 44) -> tuple[list[float], list[float]]:
    """0/1 scores of two arms on as many tasks of each kind."""
    ours = [1.0] * both + [1.0] * wins + [0.0] * losses + [0.0] * neither
    theirs = [1.0] * both + [0.0] * wins + [1.0] * losses + [0.0] * neither
    return ours, theirs


def compared(tasks: list[tuple[float, float, int]], seed: int = 1) -> dict[str, Any]:
    ours, theirs, clusters = zip(*tasks, strict=True)
    return paired_comparison(ours, theirs, clusters, seed)


def nearly(found: dict[str, Any]) -> dict[str, Any]:
    """What compares equal to a comparison up to rounding."""
    return {name: value if value is None else pytest.approx(value) for name, value in found.items()}


# The vectors of statistics.md, section 4.


def test_mcnemar_vector() -> None:
    """12 wins and 4 losses have the exact p and the mid-p of the reference."""
    found = mcnemar(*outcomes(wins=12, losses=4))

    assert found == {
        "wins": 12,
        "losses": 4,
        "p": pytest.approx(0.0768127, abs=1e-7),
        "mid_p": pytest.approx(0.0490417, abs=1e-7),
    }
    assert found["p"] == pytest.approx(binomtest(4, 16, 0.5).pvalue)


@pytest.mark.parametrize(("wins", "losses", "p"), [(28, 8, 0.0012), (8, 6, 0.79)])
def test_mcnemar_of_real_policies(wins: int, losses: int, p: float) -> None:
    """The two published comparisons of one sample a task have their p."""
    assert mcnemar(*outcomes(wins, losses))["p"] == pytest.approx(p, abs=0.005 if p > 0.1 else 5e-5)


def test_sign_flip_vector() -> None:
    """Eight tasks of which two do not differ have the exact p of the reference."""
    differences = [0.2, 0, 0.4, -0.1, 0.3, 0.1, 0, 0.2]

    assert paired_p(*arms(differences), range(8), seed=1) == 0.09375
    one_sided = permutation_test((differences,), np.mean, permutation_type="samples", alternative="greater")
    assert one_sided.pvalue == 0.046875


def test_sign_flips_of_mcnemars_data() -> None:
    """On 0/1 scores the exact p is McNemar's, which drawing over all tasks only comes near."""
    ours, theirs = outcomes(wins=12, losses=4)

    drawn = permutation_test(
        (np.subtract(ours, theirs),), np.mean, permutation_type="samples", n_resamples=99_999, batch=5000, rng=1
    )

    assert paired_p(ours, theirs, range(100), seed=1) == pytest.approx(0.0768127, abs=1e-7)
    assert drawn.pvalue == pytest.approx(0.0768, abs=0.004)


def test_interval_vector() -> None:
    """12 wins and 4 losses of 100 tasks have the difference, the error and the BCa interval of the reference."""
    ours, theirs = outcomes(wins=12, losses=4)

    found = paired_comparison(ours, theirs, range(100), seed=1)

    assert found["difference"] == pytest.approx(0.08)
    assert found["error"] * (100 / 99) ** 0.5 == pytest.approx(0.039389, abs=1e-6)  # the vector's has n - 1
    assert found["interval"] == pytest.approx([0.01, 0.16])
    assert ((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 100) ** 0.5 == pytest.approx(0.070782, abs=1e-6)


def test_clustered_error_vector() -> None:
    """Ten tasks of four clusters have the clustered error of the reference; as ten clusters they would seem surer."""
    scores = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 1])
    clusters = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 3])

    corrected = OLS(scores, np.ones(10)).fit(cov_type="cluster", cov_kwds={"groups": clusters})

    assert clustered_error(scores, clusters) == pytest.approx(0.209762, abs=1e-6)
    assert clustered_error(scores, range(10)) * (10 / 9) ** 0.5 == pytest.approx(0.163299, abs=1e-6)
    assert float(corrected.bse[0]) == pytest.approx(0.242212, abs=1e-6)


def test_cochrans_q_vector() -> None:
    """Three policies on the same tasks: statsmodels gives the Q of the reference."""
    rows = ["110", "100", "111", "010", "110", "100", "111", "110", "000", "110"]

    found = cochrans_q(np.array([[int(mark) for mark in row] for row in rows]))

    assert found.statistic == pytest.approx(8.857143, abs=1e-6)
    assert found.pvalue == pytest.approx(0.0119315, abs=1e-7)


@pytest.mark.parametrize(
    ("passes", "tasks", "method", "interval"),
    [
        (18, 20, "wilson", (0.698966, 0.972134)),
        (18, 20, "beta", (0.683017, 0.987651)),
        (0, 30, "beta", (0.0, 0.115703)),
    ],
)
def test_intervals_of_one_rate(passes: int, tasks: int, method: str, interval: tuple[float, float]) -> None:
    """Wilson's and Clopper and Pearson's intervals by statsmodels are those of the reference."""
    assert proportion_confint(passes, tasks, method=method) == pytest.approx(interval, abs=1e-6)


@pytest.mark.parametrize(
    ("samples", "passes", "k", "value"),
    [(10, 3, 1, 0.3), (10, 3, 5, 0.916667), (20, 1, 10, 0.5), (8, 2, 4, 0.785714)],
)
def test_pass_at_vectors(samples: int, passes: int, k: int, value: float) -> None:
    """Pass@k of one task is that of the reference."""
    assert pass_at([samples], [passes], k) == pytest.approx([value], abs=1e-6)


def test_pass_hat_k_vector() -> None:
    """That all of three samples out of 10 with 8 passes pass is a hypergeometric probability."""
    assert hypergeom.pmf(3, 10, 8, 3) == pytest.approx(0.466667, abs=1e-6)


def test_holm_vector() -> None:
    """Eight p values are adjusted as in the reference, under their names."""
    adjusted = holm({f"contrast {number}": p for number, p in enumerate(FAMILY)})

    assert list(adjusted) == [f"contrast {number}" for number in range(8)]
    assert list(adjusted.values()) == pytest.approx([0.008, 0.056, *[0.234] * 6])


def test_false_discovery_vector() -> None:
    """Benjamini and Hochberg's adjustment is the same by statsmodels and by scipy, as in the reference."""
    expected = pytest.approx([0.008, 0.032, 0.0672, 0.0672, 0.0672, 0.08, 0.084571, 0.205], abs=1e-6)

    assert multipletests(FAMILY, method="fdr_bh")[1].tolist() == expected
    assert false_discovery_control(FAMILY).tolist() == expected


def test_dunnett_vector() -> None:
    """Two variants against one baseline have the p values of the reference."""
    variants = [0.60, 0.62, 0.58, 0.61, 0.63], [0.56, 0.58, 0.57, 0.55, 0.60]

    found = dunnett(*variants, control=[0.55, 0.57, 0.56, 0.58, 0.54], rng=np.random.default_rng(1))

    assert found.pvalue.tolist() == pytest.approx([0.0023, 0.4943], abs=5e-4)


@pytest.mark.parametrize(
    ("share", "difference", "tasks"), [(0.2, 0.05, 626), (0.2, 0.10, 155), (0.3, 0.05, 940), (0.1, 0.03, 870)]
)
def test_mcnemars_sample_sizes(share: float, difference: float, tasks: int) -> None:
    """On as many tasks as McNemar's formula asks for, the detectable difference is the wanted one, within 3%.

    The formula takes the error under no difference for the level; that of the observed scores is a little smaller.
    """
    spread = share - difference**2
    exact = ((norm.ppf(0.975) * share**0.5 + norm.ppf(0.8) * spread**0.5) / difference) ** 2

    assert math.ceil(exact) == tasks
    assert detectable((spread / tasks) ** 0.5) == pytest.approx(difference, rel=0.03)


@pytest.mark.parametrize(
    ("deviation", "difference", "seeds"), [(0.02, 0.03, 9), (0.03, 0.03, 17), (0.04, 0.05, 12), (0.03, 0.05, 7)]
)
def test_seeds_an_arm_of_an_unpaired_test(deviation: float, difference: float, seeds: int) -> None:
    """Student's t between arms needs the seeds of the reference."""
    needed = TTestIndPower().solve_power(effect_size=difference / deviation, alpha=0.05, power=0.8)

    assert math.ceil(needed) == seeds


@pytest.mark.parametrize(
    ("seeds", "deviations"),
    [
        (3, 3.07),
        (5, 2.02),
        (10, 1.325),  # the reference says 1.33
    ],
)
def test_what_an_unpaired_test_of_seeds_finds(seeds: int, deviations: float) -> None:
    """The effect that Student's t between arms finds is that of the reference, in deviations between seeds."""
    found = TTestIndPower().solve_power(nobs1=seeds, alpha=0.05, power=0.8)

    assert found == pytest.approx(deviations, abs=0.005)


# The least p values of statistics.md, section 3.4.


@pytest.mark.parametrize(("seeds", "p"), [(3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_least_p_of_paired_seeds(seeds: int, p: float) -> None:
    """The least p is that of seeds which all differ the same way."""
    assert least_p(seeds) == p
    assert paired_p([0.9] * seeds, [0.1] * seeds, range(seeds), seed=1) == p


@pytest.mark.parametrize(("seeds", "p"), [(3, 0.10), (4, 0.0286), (5, 0.0079)])
def test_least_p_of_unpaired_seeds(seeds: int, p: float) -> None:
    """Between arms that do not overlap, scipy's exact rank and permutation tests have the p of the reference."""
    low, high = np.arange(seeds), np.arange(seeds) + 10

    permuted = permutation_test((low, high), lambda a, b: np.mean(a) - np.mean(b), vectorized=False)

    assert permuted.pvalue == pytest.approx(p, abs=5e-5)
    assert mannwhitneyu(low, high, method="exact").pvalue == pytest.approx(p, abs=5e-5)


# Laws of a paired comparison.


@LAW
@given(tasks=TASKS)
def test_swapping_the_arms_swaps_the_sign(tasks: list[tuple[float, float, int]]) -> None:
    """The other way round the difference and its interval are negated, and p and the error stay."""
    there, back = compared(tasks), compared([(theirs, ours, cluster) for ours, theirs, cluster in tasks])

    assert back["difference"] == pytest.approx(-there["difference"])
    assert back["interval"] == pytest.approx([-there["interval"][1], -there["interval"][0]])
    assert back["p"] == there["p"]
    assert back["error"] == there["error"]
    assert (back["ours"], back["theirs"]) == (there["theirs"], there["ours"])


@LAW
@given(tasks=TASKS, data=st.data())
def test_the_order_of_tasks_does_not_matter(tasks: list[tuple[float, float, int]], data: st.DataObject) -> None:
    """Shuffled tasks are compared alike, draws included."""
    shuffled = data.draw(st.permutations(tasks))

    assert compared(shuffled) == nearly(compared(tasks))


@LAW
@given(differences=st.lists(st.integers(-4, 4).map(lambda d: d / 4), min_size=6, max_size=12))
def test_tasks_that_are_their_own_clusters_are_not_clustered(differences: list[float]) -> None:
    """With a cluster for each task, error, p and interval are scipy's of the tasks' differences."""
    found = paired_comparison(*arms(differences), range(len(differences)), seed=1)

    flips = permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=99_999)
    assert found["p"] == pytest.approx(flips.pvalue)
    assert found["error"] == (pytest.approx(np.std(differences) / len(differences) ** 0.5) if found["error"] else None)
    if found["error"]:
        drawing: dict[str, Any] = {"n_resamples": RESAMPLES, "batch": 1000, "rng": np.random.default_rng(1)}
        interval = bootstrap((differences,), np.mean, method="BCa", **drawing).confidence_interval
        assert found["interval"] == pytest.approx([interval.low, interval.high])


@LAW
@given(tasks=TASKS, copies=st.integers(2, 4))
def test_copies_inside_their_clusters_do_not_make_surer(tasks: list[tuple[float, float, int]], copies: int) -> None:
    """A suite of which each task is there several times, in one cluster, says no more than the suite once."""
    once, often = compared(tasks), compared(tasks * copies)

    assert often.pop("tasks") == copies * once.pop("tasks")
    assert often == nearly(once)


def test_copies_that_pass_for_tasks_make_surer() -> None:
    """The same copies as clusters of their own would turn 6 tasks into a proof."""
    ours, theirs = [0.75] * 24, [0.5] * 24

    assert paired_p(ours, theirs, [task % 6 for task in range(24)], seed=1) == 2 / 2**6
    assert paired_p(ours, theirs, range(24), seed=1) < 1e-4


@LAW
@given(tasks=TASKS)
def test_p_is_no_less_than_its_clusters_allow(tasks: list[tuple[float, float, int]]) -> None:
    """However many tasks there are, p is bounded by the number of clusters."""
    found = compared(tasks)

    assert min(1.0, least_p(found["clusters"])) <= found["p"] <= 1


@LAW
@given(thirds=st.lists(st.integers(-3, 3), min_size=2, max_size=12))
def test_equal_means_are_ties(thirds: list[int]) -> None:
    """Scores of three samples a task have the p of whole numbers: three thirds are as much as one."""
    ours = [max(third, 0) / 3 for third in thirds]
    theirs = [max(-third, 0) / 3 for third in thirds]

    expected = permutation_test((np.array(thirds),), np.sum, permutation_type="samples", n_resamples=99_999)

    assert paired_p(ours, theirs, range(len(thirds)), seed=1) == pytest.approx(expected.pvalue)


def test_names_of_clusters_may_be_words() -> None:
    """A cluster is what shares a name, as a word or as a number."""
    ours, theirs = arms([0.5, 0.25, -0.25, 0.0])

    words = paired_comparison(ours, theirs, ["a", "a", "b", "c"], seed=1)

    assert words == paired_comparison(ours, theirs, [0, 0, 1, 2], seed=1)
    assert words["clusters"] == 3


def test_one_seed_gives_one_result() -> None:
    """Where signs are drawn, the same seed gives the same numbers, and another one nearly the same."""
    differences = np.random.default_rng(7).integers(-3, 5, 60) / 8
    first, again, other = (paired_comparison(*arms(list(differences)), range(60), seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first["p"] != other["p"]
    assert first["p"] == pytest.approx(other["p"], abs=0.01)
    assert first["interval"] == pytest.approx(other["interval"], abs=0.01)


def test_two_thousand_tasks_fit_into_memory() -> None:
    """The largest suites are compared with all draws, in less than half a gigabyte."""
    generator = np.random.default_rng(3)
    theirs = generator.integers(0, 5, 2000) / 4
    ours = np.where(generator.random(2000) < 0.3, generator.integers(0, 5, 2000) / 4, theirs)

    tracemalloc.start()
    found = paired_comparison(ours, theirs, range(2000), seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 0.5e9
    assert found["interval"][0] < found["difference"] < found["interval"][1]
    assert found["interval"] == pytest.approx(
        [found["difference"] - 1.96 * found["error"], found["difference"] + 1.96 * found["error"]], abs=0.002
    )


# Where there is little or nothing to resample.


@LAW
@given(tasks=TASKS)
def test_intervals_have_a_width_inside_the_scale(tasks: list[tuple[float, float, int]]) -> None:
    """No comparison has an interval of no width, or one outside [-1, 1]."""
    low, high = compared(tasks)["interval"]

    assert -1 <= low < high <= 1


@pytest.mark.parametrize("difference", [-1.0, 0.0, 0.25, 1.0])
@pytest.mark.parametrize("clusters", [1, 2, 6, 30])
def test_clusters_that_all_differ_alike_leave_room_for_others(clusters: int, difference: float) -> None:
    """Their interval reaches as far as unseen clusters could pull the mean; error and detectable are unknown."""
    found = paired_comparison(*arms([difference] * clusters), range(clusters), seed=1)

    unseen = 1 - 0.025 ** (1 / clusters)
    expected = [difference - unseen * (difference + 1), difference + unseen * (1 - difference)]
    assert found["interval"] == pytest.approx(expected)
    assert (found["error"], found["detectable"]) == (None, None)


def test_thirty_tasks_without_a_difference() -> None:
    """The interval of 30 tasks that agree is plus and minus Clopper and Pearson's bound for 0 of 30."""
    assert paired_interval([0.5] * 30, [0.5] * 30, range(30), seed=1) == pytest.approx((-0.115703, 0.115703), abs=1e-6)


def test_one_cluster_shows_next_to_nothing() -> None:
    """The tasks of a single cluster have no p, no error and an interval of nearly the whole scale."""
    found = paired_comparison([1.0, 0.5, 0.75], [0.0, 0.5, 0.25], ["a"] * 3, seed=1)

    assert (found["clusters"], found["p"], found["error"], found["detectable"]) == (1, 1.0, None, None)
    assert found["difference"] == 0.5
    assert found["interval"][0] < -0.9
    assert found["interval"][1] > 0.9


def test_five_clusters_have_no_interval_inside_their_range() -> None:
    """Below six clusters no resampling holds 95%, so the interval is wider than what was seen; from six it is not."""
    differences = [0.0, 0.125, 0.25, 0.375, 0.5, 0.5]

    five = paired_interval(*arms(differences[:5]), range(5), seed=1)
    six = paired_interval(*arms(differences), range(6), seed=1)

    assert five[0] < 0.0 < 0.5 < five[1]
    assert 0.0 < six[0] < six[1] < 0.5


def test_no_difference_is_an_exact_1() -> None:
    """Of policies that score alike, and of those that differ on one task, p is 1."""
    assert paired_p([0.5] * 40, [0.5] * 40, range(40), seed=1) == 1.0
    assert paired_p([1.0] + [0.5] * 39, [0.5] * 40, range(40), seed=1) == 1.0


def test_one_cluster_has_no_error() -> None:
    """An error from a single cluster would be 0, and is refused."""
    with pytest.raises(ValueError, match="1 cluster has no spread"):
        clustered_error([0.0, 1.0], ["a", "a"])


# McNemar, pass@k, Holm, power and seeds.


@LAW
@given(wins=st.integers(0, 8), losses=st.integers(0, 8))
def test_mcnemar_is_the_sign_flip_test_of_one_sample_a_task(wins: int, losses: int) -> None:
    """McNemar's exact p is that of sign flips; the mid-p is at most it; the arms may be swapped."""
    ours, theirs = outcomes(wins, losses, both=1, neither=1)

    found, swapped = mcnemar(ours, theirs), mcnemar(theirs, ours)

    assert found["p"] == pytest.approx(paired_p(ours, theirs, range(len(ours)), seed=1))
    assert 0 < found["mid_p"] <= found["p"] <= 1
    assert swapped == {**found, "wins": losses, "losses": wins}


@LAW
@given(samples=st.integers(1, 9), data=st.data())
def test_pass_at_counts_the_draws_that_hold_a_pass(samples: int, data: st.DataObject) -> None:
    """Pass@k is the share of all choices of k samples in which one passed."""
    passes = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    draws = list(combinations([True] * passes + [False] * (samples - passes), k))

    assert pass_at([samples], [passes], k) == pytest.approx([sum(map(any, draws)) / len(draws)])


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_pass_at_is_unbiased(rate: float) -> None:
    """Over all counts of ten samples its mean is the true chance of a pass in four."""
    counts = np.arange(11)

    estimates = pass_at(np.full(11, 10), counts, 4)

    assert estimates @ binom.pmf(counts, 10, rate) == pytest.approx(1 - (1 - rate) ** 4)


def test_pass_at_k_of_a_suite() -> None:
    """Each power of two up to the fewest samples of a task has its mean over tasks, which grows."""
    found = pass_at_k([8, 6, 8, 8, 8, 8, 8], [0, 1, 2, 8, 4, 3, 0], range(7), seed=1)

    assert [row["k"] for row in found] == [1, 2, 4]
    assert found[0]["value"] == pytest.approx(np.mean([0, 1 / 6, 2 / 8, 1, 4 / 8, 3 / 8, 0]))
    assert found[0]["value"] < found[1]["value"] < found[2]["value"]
    assert all(0 <= row["interval"][0] < row["value"] < row["interval"][1] <= 1 for row in found)
    assert found == pass_at_k([8, 6, 8, 8, 8, 8, 8], [0, 1, 2, 8, 4, 3, 0], range(7), seed=1)


def test_pass_at_k_where_every_sample_passed() -> None:
    """30 tasks that always pass have Clopper and Pearson's interval of 30 passes in 30."""
    (row,) = pass_at_k([1] * 30, [1] * 30, range(30), seed=1)

    assert (row["k"], row["value"]) == (1, 1.0)
    assert row["interval"] == pytest.approx(proportion_confint(30, 30, method="beta"))


@settings(LAW, max_examples=15)  # each call of multipletests collects garbage, for 0.1 s
@given(raw=st.lists(st.integers(0, 200).map(lambda p: p / 200), min_size=1, max_size=6))
def test_holm_lowers_no_p(raw: list[float]) -> None:
    """An adjusted p is at least the raw one and at most 1, and the least one counts all contrasts."""
    adjusted = list(holm({str(number): p for number, p in enumerate(raw)}).values())

    assert all(p - 1e-12 <= held <= 1 for p, held in zip(raw, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1.0, len(raw) * min(raw)))


def test_a_single_contrast_needs_no_adjustment() -> None:
    """One contrast keeps its p, and none has none."""
    assert holm({"trained against base": 0.03}) == {"trained against base": pytest.approx(0.03)}
    assert holm({}) == {}


@pytest.mark.parametrize("error", [0.01, 0.2])
def test_the_detectable_difference_is_found_with_80_percent(error: float) -> None:
    """A normal estimate around it is significant at 5% in 80 of 100 cases."""
    assert norm.sf(norm.ppf(0.975) - detectable(error) / error) == pytest.approx(0.8, abs=1e-5)


def test_three_seeds_have_no_p() -> None:
    """Where no outcome could reach 5%, the reason stands in the place of p."""
    found = seed_level([0.7, 0.75, 0.8], [0.5, 0.5, 0.5])

    assert found == {
        "seeds": 3,
        "difference": pytest.approx(0.25),
        "p": None,
        "reason": "with 3 seeds the least p is .25",
    }


@pytest.mark.parametrize(("seeds", "p"), [(1, None), (5, None), (6, 2 / 2**6), (12, 2 / 2**12), (16, 2 / 2**16)])
def test_six_seeds_have_an_exact_p(seeds: int, p: float | None) -> None:
    """From six seeds on p is given, and exact."""
    found = seed_level([0.75] * seeds, [0.5] * seeds)

    assert found["p"] == p
    assert (found["reason"] is None) == (p is not None)


def test_many_seeds_are_drawn_without_a_surprise() -> None:
    """Beyond 16 seeds p is drawn, and the same each time."""
    ours = np.linspace(0.4, 0.65, 20)

    assert seed_level(ours, [0.5] * 20) == seed_level(ours, [0.5] * 20)
    assert 0 < seed_level(ours, [0.5] * 20)["p"] < 1


# What is refused.


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([], [], "0 scores of ours and 0 of theirs"),
        ([0.5], [0.5, 0.5], "1 scores of ours and 2 of theirs"),
        ([0.5, math.nan], [0.5, 0.5], "which nan is not"),
        ([0.5, 0.5], [0.5, math.inf], "which inf is not"),
        ([0.5, 1.25], [0.5, 0.5], "which 1.25 is not"),
        ([0.5, 0.5], [-0.5, 0.5], "which -0.5 is not"),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(ours: list[float], theirs: list[float], message: str) -> None:
    """No tasks, arms of other lengths, and what is no share of passes, are errors in each comparison."""
    clusters = list(range(len(ours)))

    with pytest.raises(ValueError, match=message):
        paired_comparison(ours, theirs, clusters, seed=1)
    with pytest.raises(ValueError, match=message):
        paired_p(ours, theirs, clusters, seed=1)
    with pytest.raises(ValueError, match=message):
        paired_interval(ours, theirs, clusters, seed=1)
    with pytest.raises(ValueError, match=message):
        mcnemar(ours, theirs)
    with pytest.raises(ValueError, match=message):
        seed_level(ours, theirs)


def test_tasks_without_a_cluster_are_refused() -> None:
    """Each task needs its cluster."""
    with pytest.raises(ValueError, match="2 tasks and 1 clusters"):
        paired_comparison([0.5, 0.5], [0.5, 0.5], ["a"], seed=1)
    with pytest.raises(ValueError, match="2 tasks and 3 clusters"):
        pass_at_k([4, 4], [1, 2], ["a", "b", "c"], seed=1)


@pytest.mark.parametrize(
    ("values", "message"), [([], "0 tasks and 0 clusters"), ([0.5, math.nan], "value of a task is not a number")]
)
def test_values_without_an_error_are_refused(values: list[float], message: str) -> None:
    """No values, and values that are not numbers, have no standard error."""
    with pytest.raises(ValueError, match=message):
        clustered_error(values, range(len(values)))


def test_mcnemar_refuses_pass_rates() -> None:
    """Several samples of a task are no pass or fail."""
    with pytest.raises(ValueError, match=r"0\.75 is neither 0 nor 1"):
        mcnemar([1.0, 0.75], [0.0, 0.75])


@pytest.mark.parametrize(
    ("samples", "passes", "k", "message"),
    [
        ([8, 4], [1, 1], 5, "pass@5 needs a k from 1 to the samples of a task, of which one has 4"),
        ([8, 4], [1, 1], 0, "pass@0 needs a k from 1"),
        ([8, 4], [1, 5], 2, "more than samples"),
        ([8, 4], [1, -1], 2, "fewer passes than 0"),
        ([8, 4], [1], 2, "2 tasks have samples and 1 have passes"),
        ([], [], 1, "0 tasks have samples"),
    ],
)
def test_impossible_counts_are_refused(samples: list[int], passes: list[int], k: int, message: str) -> None:
    """Pass@k is not guessed from fewer than k samples, nor from counts that cannot be."""
    with pytest.raises(ValueError, match=message):
        pass_at(samples, passes, k)


@pytest.mark.parametrize(("samples", "message"), [([], "0 tasks have samples"), ([4, 0], "pass@1 needs a k from 1")])
def test_pass_at_k_needs_samples_of_every_task(samples: list[int], message: str) -> None:
    """No tasks, and a task without samples, have no pass@k."""
    with pytest.raises(ValueError, match=message):
        pass_at_k(samples, [0] * len(samples), range(len(samples)), seed=1)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_holm_refuses_what_is_no_p(p: float) -> None:
    """A p value outside [0, 1], or none, would spoil the whole family."""
    with pytest.raises(ValueError, match="p values lie in"):
        holm({"a": 0.01, "b": p})
