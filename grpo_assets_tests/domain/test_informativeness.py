"""The chance of an informative group has the values of statistics.md and the laws of a chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.informativeness import p_informative, value_counts
from grpo_assets_tests.builders import LAW, statistics_row

COUNTS = st.lists(st.integers(0, 1024), min_size=2, max_size=5)
GROUP_SIZE = st.integers(2, 64)


@pytest.mark.parametrize(
    ("passes", "pilots", "group_size", "chance"),
    [
        (0, 8, 8, 0.287338),
        (8, 8, 8, 0.287338),  # symmetric
        (1, 8, 8, 0.654912),
        (4, 8, 8, 0.954657),
        (0, 16, 8, 0.181375),  # more pilots that only failed: less hope
        (0, 8, 16, 0.416610),  # a larger group: more hope
    ],
)
def test_posterior_mean_with_jeffreys_prior(passes: int, pilots: int, group_size: int, chance: float) -> None:
    """The chance of a prompt that was rewarded 0 or 1 is that of section 1.3 with Beta(.5, .5)."""
    counts = [pilots - passes, passes]

    assert p_informative(counts, group_size) == pytest.approx(chance, abs=1e-6)
    assert p_informative(counts, group_size, concentration=0.5) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize(
    ("passes", "pilots", "group_size", "chance"),
    [
        (0, 4, 8, 791 / 1287),
        (0, 8, 8, 11439 / 24310),
        (8, 8, 8, 11439 / 24310),
        (1, 8, 8, 8933 / 12155),
        (2, 8, 4, 98 / 143),
        (4, 8, 8, 212 / 221),
    ],
)
def test_posterior_mean_with_uniform_prior(passes: int, pilots: int, group_size: int, chance: float) -> None:
    """With a weight of 1 for each value the chance is the fraction of section 1.3 with Beta(1, 1)."""
    counts = [pilots - passes, passes]

    assert p_informative(counts, group_size, concentration=1) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "group_size", "chance"),
    [
        ([3, 2, 3], 4, 0.906362),
        ([1, 7], 8, 0.654912),  # two values: the same as with Jeffreys' prior
    ],
)
def test_posterior_mean_of_graded_rewards(counts: list[int], group_size: int, chance: float) -> None:
    """The chance under a Dirichlet prior of .5 for each value is that of section 1.4."""
    assert p_informative(counts, group_size, concentration=0.5) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize("group_size", [2, 4, 8, 16])
@pytest.mark.parametrize("pass_rate", [0.01, 0.05, 0.1, 0.25, 0.5])
def test_many_pilots_give_the_chance_of_a_known_pass_rate(pass_rate: float, group_size: int) -> None:
    """With a hundred million pilots the chance is 1 - p^G - (1-p)^G of section 1.1."""
    known = 1 - pass_rate**group_size - (1 - pass_rate) ** group_size

    chance = p_informative([1e8 * (1 - pass_rate), 1e8 * pass_rate], group_size)

    assert chance == pytest.approx(known, abs=1e-5)


def test_prior_has_total_weight_1() -> None:
    """The prior weight of each of V values is 1/V unless another is asked for."""
    counts = [3, 2, 3]

    assert p_informative(counts, 4) == p_informative(counts, 4, concentration=1 / 3)


@LAW
@given(counts=COUNTS, group_size=GROUP_SIZE)
def test_chance_lies_between_0_and_1(counts: list[int], group_size: int) -> None:
    """Whatever was seen, the chance lies in [0, 1]."""
    assert 0 <= p_informative(counts, group_size) <= 1


@LAW
@given(counts=COUNTS, group_size=GROUP_SIZE)
def test_chance_grows_with_the_group(counts: list[int], group_size: int) -> None:
    """A larger group is more likely to be informative."""
    assert p_informative(counts, group_size + 1) > p_informative(counts, group_size) - 1e-12


@LAW
@given(fails=st.integers(0, 1024), passes=st.integers(0, 1024), group_size=GROUP_SIZE)
def test_chance_of_two_values_is_symmetric(fails: int, passes: int, group_size: int) -> None:
    """As many passes as fails the other way round make the same chance."""
    one, other = p_informative([[fails, passes], [passes, fails]], group_size)

    assert one == pytest.approx(other, abs=1e-12)


@LAW
@given(pilots=st.integers(1, 100), group_size=GROUP_SIZE)
def test_chance_is_highest_in_the_middle(pilots: int, group_size: int) -> None:
    """At equal pilots the chance rises up to half passes and falls after it."""
    chances = p_informative([[pilots - passes, passes] for passes in range(pilots + 1)], group_size)

    rising = np.diff(chances[: pilots // 2 + 1])
    assert (rising > -1e-12).all()


def test_prompts_are_scored_together() -> None:
    """An array of prompts has one chance each, that of the prompt alone."""
    counts = [[8, 0], [7, 1], [4, 4]]

    chances = p_informative(counts, 8)

    assert chances.shape == (3,)
    assert chances.tolist() == [float(p_informative(row, 8)) for row in counts]


def test_value_counts_have_a_column_for_each_value_of_the_scoring() -> None:
    """The columns are the values that any prompt had, in ascending order, with 0 and 1 among them."""
    rows = [
        statistics_row("a", reward_values=[0.25, 1.0], reward_counts=[6, 2]),
        statistics_row("b", reward_values=[0.0, 0.5], reward_counts=[7, 1]),
    ]

    assert value_counts(rows).tolist() == [[0, 6, 0, 2], [7, 0, 1, 0]]  # 0, 0.25, 0.5 and 1


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        (statistics_row(fails=8, passes=0), [8, 0]),  # it may pass next time
        (statistics_row(fails=0, passes=8), [0, 8]),  # it may fail next time
        (statistics_row(fails=0, passes=0), [0, 0]),  # nothing was scored: the prior alone
    ],
)
def test_0_and_1_can_always_come(row: dict, counts: list[int]) -> None:
    """A prompt that had one value only is not taken as certain."""
    assert value_counts([row]).tolist() == [counts]
