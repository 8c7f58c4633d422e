"""Main effects stand on matched pairs alone, and their intervals are what their tests do not reject."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp

from grpo_assets.domain.effects import axis_effects, interactions, sign_flip_interval
from grpo_assets.domain.final_test import sign_flip_p
from grpo_assets.domain.tables import MEASURED
from grpo_assets_tests.builders import LAW, table_row

CURRICULA = ["static", "informative"]
REFERENCE = [0.2, 0, 0.4, -0.1, 0.3, 0.1, 0, 0.2]
"""The differences of the reference's sign-flip vector."""
DIFFERENCES = st.lists(st.integers(-20, 20).map(lambda x: x / 40), min_size=6, max_size=9)


def variant(rate: float | None = 0.5, **axes: Any) -> dict[str, Any]:
    """A row of a variant on these values of its axes; without a rate it failed."""
    row = table_row(" ".join(f"{axis}={value}" for axis, value in axes.items()), **axes)
    if rate is None:
        return {**row, "status": "failed", "reason": "broke", **dict.fromkeys(MEASURED)}
    return {**row, "dev_pass_rate": rate}


def pairs_that_differ_by(differences: Sequence[float]) -> tuple[list[dict[str, Any]], dict[str, list]]:
    """Static and informative variants, a pair a seed, and their axes."""
    rows = []
    for seed, difference in enumerate(differences, start=1):
        rows.append(variant(0.5, curriculum="static", seed=seed))
        rows.append(variant(0.5 + difference, curriculum="informative", seed=seed))
    return rows, {"curriculum": CURRICULA, "seed": list(range(1, len(differences) + 1))}


def flip_p(differences: Sequence[float], effect: float = 0.0) -> float:
    """The two-sided p of this effect, over all flips of signs, one by one."""
    shifted = np.array(differences) - effect
    sums = [abs(float(np.dot(signs, shifted))) for signs in product((1, -1), repeat=len(shifted))]
    return float(np.mean([total >= abs(shifted.sum()) - 1e-9 for total in sums]))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment, step by step."""
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = worst
    return adjusted


def test_an_effect_is_the_mean_over_matched_pairs() -> None:
    """A value is compared with the first one of its axis where nothing else differs."""
    rows = [
        variant(0.5, curriculum="static", seed=1, group_size=4),
        variant(0.6, curriculum="informative", seed=1, group_size=4),
        variant(0.5, curriculum="static", seed=2, group_size=4),
        variant(0.8, curriculum="informative", seed=2, group_size=4),
        variant(0.9, curriculum="informative", seed=3, group_size=4),  # its partner is not there
        variant(0.1, curriculum="static", seed=3, group_size=8),  # nor is this one's
    ]

    found = axis_effects(rows, {"curriculum": CURRICULA, "seed": [1, 2, 3], "group_size": [4, 8]})

    assert [(row["axis"], row["value"], row["against"], row["pairs"]) for row in found] == [
        ("curriculum", "informative", "static", 2)
    ]
    assert found[0]["effect"] == pytest.approx((0.1 + 0.3) / 2)


@pytest.mark.parametrize("failed", [0, 1])
def test_pairs_with_a_variant_that_is_not_complete_are_left_out(failed: int) -> None:
    """A pair counts with both of its variants or not at all."""
    rows, axes = pairs_that_differ_by([0.1, 0.2, 0.3])
    rows[failed] = variant(None, curriculum=CURRICULA[failed], seed=1)

    found = axis_effects(rows, axes)

    assert found[0]["pairs"] == 2
    assert found[0]["effect"] == pytest.approx(0.25)


def test_every_value_but_the_first_has_its_row_and_seeds_have_none() -> None:
    """Axes with one value ask no question, and seeds are what an effect is measured over."""
    rows = [
        variant(0.5 + 0.1 * kl + 0.01 * seed, kl_beta=kl, seed=seed, group_size=4)
        for kl in (0.0, 1.0, 2.0)
        for seed in (1, 2)
    ]

    found = axis_effects(rows, {"kl_beta": [0.0, 1.0, 2.0], "seed": [1, 2], "group_size": [4]})

    assert [(row["axis"], row["value"], row["against"]) for row in found] == [
        ("kl_beta", 1.0, 0.0),
        ("kl_beta", 2.0, 0.0),
    ]
    assert [row["effect"] for row in found] == pytest.approx([0.1, 0.2])


def test_a_value_without_a_pair_has_no_row() -> None:
    """Nothing is said of what nothing was measured on."""
    rows, axes = pairs_that_differ_by([0.1])

    assert axis_effects(rows[:1], axes) == []
    assert axis_effects([], axes) == []


def test_exact_p_vector() -> None:
    """Eight pairs of which two do not differ have the exact p of the reference."""
    rows, axes = pairs_that_differ_by(REFERENCE)

    found = axis_effects(rows, axes)[0]

    assert found["p"] == 0.09375
    assert flip_p(REFERENCE) == 0.09375
    assert found["pairs"] == 8
    assert found["reason"] is None
    assert found["interval"][0] < 0 < found["interval"][1]


def test_five_pairs_have_no_interval_but_a_reason() -> None:
    """No outcome of five pairs could reach 5%, so no difference is ever ruled out; six can."""
    five, six = (axis_effects(*pairs_that_differ_by([0.1] * pairs))[0] for pairs in (5, 6))

    assert five["interval"] is None
    assert five["reason"] == "with 5 matched pairs the least p is 0.062"
    assert five["p"] == 0.0625
    assert six["interval"] == pytest.approx([0.1, 0.1], abs=1e-6)
    assert (six["p"], six["reason"]) == (0.03125, None)


def test_p_values_are_adjusted_for_all_rows() -> None:
    """Holm goes over all values of all axes."""
    rng = np.random.default_rng(4)
    rows = [
        variant(float(rng.integers(0, 40)) / 40 + kl / 4, curriculum=mode, seed=seed, kl_beta=kl, group_size=size)
        for mode in CURRICULA
        for seed in (1, 2, 3)
        for kl in (0.0, 0.1, 1.0)
        for size in (4, 8)
    ]
    axes = {"curriculum": CURRICULA, "seed": [1, 2, 3], "kl_beta": [0.0, 0.1, 1.0], "group_size": [4, 8]}

    found = axis_effects(rows, axes)

    assert len(found) == 4
    assert [row["p_holm"] for row in found] == pytest.approx(holm([row["p"] for row in found]))


@LAW
@given(differences=DIFFERENCES, inside=st.floats(0, 1))
def test_the_interval_is_what_the_test_does_not_reject(differences: list[float], inside: float) -> None:
    """Every effect inside is not rejected at 5%, and effects just outside are."""
    low, high = sign_flip_interval(np.array(differences))

    assert low - 1e-9 <= np.mean(differences) <= high + 1e-9
    assert flip_p(differences, low + inside * (high - low)) > 0.05
    assert flip_p(differences, low - 1e-6) <= 0.05
    assert flip_p(differences, high + 1e-6) <= 0.05


@LAW
@given(DIFFERENCES)
def test_p_and_interval_agree(differences: list[float]) -> None:
    """No effect at all is in the interval exactly where the p that stands beside it is above 5%."""
    p = sign_flip_p(np.array(differences), np.ones(len(differences)), seed=1)
    low, high = sign_flip_interval(np.array(differences))

    assert p == pytest.approx(flip_p(differences))
    assert (low <= 1e-9 and high >= -1e-9) if p > 0.05 else (low > 0 or high < 0)


@LAW
@given(differences=DIFFERENCES, shift=st.integers(-10, 10).map(lambda x: x / 40))
def test_the_interval_moves_with_the_differences(differences: list[float], shift: float) -> None:
    """A constant that is added to all moves it, and a change of sign turns it round."""
    low, high = sign_flip_interval(np.array(differences))

    assert sign_flip_interval(np.array(differences) + shift) == pytest.approx((low + shift, high + shift), abs=1e-7)
    assert sign_flip_interval(-np.array(differences)) == pytest.approx((-high, -low), abs=1e-7)


def test_more_than_twelve_pairs_have_students_interval() -> None:
    """Beyond what is enumerated it is Student's t."""
    differences = np.random.default_rng(2).normal(0.1, 0.2, 13)

    reach = t.ppf(0.975, 12) * differences.std(ddof=1) / 13**0.5
    assert sign_flip_interval(differences) == pytest.approx((differences.mean() - reach, differences.mean() + reach))
    assert sign_flip_interval(differences) == pytest.approx(tuple(ttest_1samp(differences, 0).confidence_interval()))


@pytest.mark.parametrize("pairs", [6, 8, 16])
def test_the_interval_covers_the_effect(pairs: int) -> None:
    """Simulated, at least 95% of the intervals hold the true effect, less two standard errors of the simulation."""
    rng = np.random.default_rng(pairs)
    effect, simulations = 0.04, 400

    held = []
    for _ in range(simulations):
        low, high = sign_flip_interval(rng.normal(effect, 0.05, pairs))
        held.append(low <= effect <= high)

    assert np.mean(held) >= 0.95 - 2 * (0.05 * 0.95 / simulations) ** 0.5
    assert np.mean(held) < 1


def test_interactions_have_the_mean_of_each_cell_of_two_axes() -> None:
    """Means go over all else, seeds included; a cell without a complete variant is None."""
    rows = [
        variant(0.25, curriculum="static", kl_beta=0.0, seed=1),
        variant(0.75, curriculum="static", kl_beta=0.0, seed=2),
        variant(0.5, curriculum="static", kl_beta=1.0, seed=1),
        variant(0.875, curriculum="informative", kl_beta=0.0, seed=1),
        variant(None, curriculum="informative", kl_beta=1.0, seed=1),
    ]

    found = interactions(rows, {"curriculum": CURRICULA, "seed": [1, 2], "kl_beta": [0.0, 1.0], "group_size": [4]})

    assert found == [
        {
            "axes": ["curriculum", "kl_beta"],
            "values": [CURRICULA, [0.0, 1.0]],
            "means": [[0.5, 0.5], [0.875, None]],
        }
    ]


def test_each_two_axes_with_several_values_interact_once() -> None:
    """Three such axes have three pictures; one has none."""
    axes = {"curriculum": CURRICULA, "kl_beta": [0.0, 1.0], "group_size": [4, 8], "seed": [1, 2]}

    found = interactions([], axes)

    assert [row["axes"] for row in found] == [
        ["curriculum", "kl_beta"],
        ["curriculum", "group_size"],
        ["kl_beta", "group_size"],
    ]
    assert all(row["means"] == [[None, None], [None, None]] for row in found)
    assert interactions([], {"curriculum": CURRICULA, "seed": [1, 2]}) == []
