"""A group teaches when its rewards differ; advantages follow TRL; statistics are those of the pilot."""

import statistics
from math import comb
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from grpo_assets.domain.rollouts import (
    Verdict,
    advantages,
    correctness,
    groups,
    is_informative,
    prompt_statistics,
    rollout_of,
)
from grpo_assets.domain.schemas import ROLLOUTS, STATISTICS
from grpo_assets_tests.builders import LAW, group_rows, rollout_row

REWARD = st.integers(0, 64).map(lambda step: step / 64)
GROUP = st.lists(REWARD, min_size=2, max_size=16)
SPARSE_GROUP = st.lists(st.none() | REWARD, max_size=16)


@pytest.mark.parametrize(
    ("rewards", "informative"),
    [
        ([], False),
        ([None], False),
        ([1.0], False),  # nothing to differ from
        ([1.0, None, None], False),
        ([0.0, 1.0], True),
        ([None, 0.0, 1.0, None], True),
        ([None, 1.0], False),  # no verdict is never a reward of 0
        ([0.3] * 8, False),  # equal, though their mean is not exactly 0.3
        ([0.5, 0.5 + 1e-7], False),  # noise
        ([0.0, 1e-6], False),  # at the limit
        ([0.0, 2e-6], True),
        ([0, 0, 1], True),  # whole numbers are rewards too
        ([-1.0, 1.0], True),
        ([1 / 64, 2 / 64], True),  # the grid of the rewards
    ],
)
def test_informative_groups(rewards: list, informative: bool) -> None:
    """A group is informative when two scored rollouts differ by more than the limit."""
    assert is_informative(rewards) is informative


@LAW
@given(rewards=SPARSE_GROUP, shuffle=st.randoms(use_true_random=False))
def test_informative_is_symmetric(rewards: list, shuffle: Random) -> None:
    """The order of the rollouts does not decide whether a group is informative."""
    shuffled = list(rewards)
    shuffle.shuffle(shuffled)

    assert is_informative(shuffled) == is_informative(rewards)


@LAW
@given(rewards=SPARSE_GROUP, missing=st.integers(0, 5))
def test_rollouts_without_verdict_do_not_count(rewards: list, missing: int) -> None:
    """More rollouts without a verdict make no group informative, nor spoil one."""
    assert is_informative([*rewards, *[None] * missing]) == is_informative(rewards)


@LAW
@given(reward=st.floats(-1e6, 1e6), size=st.integers(0, 32))
def test_equal_rewards_are_never_informative(reward: float, size: int) -> None:
    """A group of equal rewards teaches nothing, whatever the reward is."""
    assert not is_informative([reward] * size)


@LAW
@given(rewards=GROUP)
def test_advantages_are_those_of_trl(rewards: list[float]) -> None:
    """Advantages are (reward - mean) / (std + 1e-4) with Bessel's correction, as in TRL."""
    mean, std = statistics.fmean(rewards), statistics.stdev(rewards)

    expected = [(reward - mean) / (std + 1e-4) for reward in rewards]

    assert advantages(rewards) == pytest.approx(expected, abs=1e-9)


@LAW
@given(rewards=SPARSE_GROUP)
def test_advantages_sum_to_zero(rewards: list) -> None:
    """What the better rollouts gain the worse ones lose; the unscored ones have an exact zero."""
    result = advantages(rewards)

    assert result.shape == (len(rewards),)
    assert result.sum() == pytest.approx(0, abs=1e-9)
    assert all(result[i] == 0.0 for i, reward in enumerate(rewards) if reward is None)


@LAW
@given(rewards=SPARSE_GROUP)
def test_advantages_are_zero_exactly_in_dead_groups(rewards: list) -> None:
    """Some advantage is not zero if and only if the group is informative."""
    assert bool(advantages(rewards).any()) == is_informative(rewards)


@pytest.mark.parametrize(
    "rewards",
    [
        [0.3] * 8,  # mean and std of these floats are not exact
        [0.1] * 3,
        [None] * 4,
        [1.0, None],
        [0.5, 0.5 + 1e-9],
    ],
)
def test_dead_groups_have_exact_zeros(rewards: list) -> None:
    """Float rounding leaves no noise where there is nothing to learn."""
    assert advantages(rewards).tolist() == [0.0] * len(rewards)


def test_unscored_rollouts_do_not_move_the_mean() -> None:
    """The scored rollouts have the advantages that they would have alone."""
    alone = advantages([0.0, 1.0, 1.0])

    assert advantages([None, 0.0, 1.0, None, 1.0]).tolist() == [0.0, alone[0], alone[1], 0.0, alone[2]]


@LAW
@given(rewards=GROUP.filter(is_informative))
def test_informative_groups_have_one_mean_square(rewards: list[float]) -> None:
    """With scaling by the group's std, the mean squared advantage of an informative group is (G - 1) / G."""
    std = statistics.stdev(rewards)
    shrunk = (std / (std + 1e-4)) ** 2

    assert np.mean(advantages(rewards) ** 2) == pytest.approx(shrunk * (len(rewards) - 1) / len(rewards))


@pytest.mark.parametrize(
    ("chance", "size", "mean_size"),
    [
        (0.1, 4, 0.263489),
        (0.1, 8, 0.391924),
        (0.25, 4, 0.534240),
        (0.25, 8, 0.710722),
        (0.5, 4, 0.699760),
        (0.5, 8, 0.867904),
    ],
)
def test_mean_size_of_advantages(chance: float, size: int, mean_size: float) -> None:
    """Over all groups of a pass rate the mean size of an advantage is that of statistics.md section 1.1."""
    groups_by_passes = [[1.0] * passes + [0.0] * (size - passes) for passes in range(size + 1)]

    sizes = [np.abs(advantages(group)).mean() for group in groups_by_passes]

    assert binom.pmf(range(size + 1), size, chance) @ sizes == pytest.approx(mean_size, abs=3e-4)


@pytest.mark.parametrize(("outcome", "value"), [("pass", 1.0), ("fail", 0.0), ("no_verdict", None)])
def test_correctness(outcome: str, value: float | None) -> None:
    """A verdict is right or wrong, and no verdict is neither."""
    assert correctness(rollout_row(outcome=outcome)) == value


def test_rollout_of_a_row() -> None:
    """A reward sees the texts, the length and the verdict of a row."""
    row = rollout_row(outcome="fail", reason="truncated", checks_passed=1, checks=3, token_count=5, truncated=True)

    rollout = rollout_of(row)

    assert (rollout.prompt, rollout.answer, rollout.completion) == ("rev-012=", "210", "210")
    assert (rollout.token_count, rollout.truncated) == (5, True)
    assert rollout.verdict == Verdict("fail", "truncated", 1, 3)


def test_groups_start_at_index_0() -> None:
    """Two groups of one prompt that follow each other stay two groups."""
    rows = [*group_rows("a", "pf"), *group_rows("a", "ffp"), *group_rows("b", "p")]

    cut = groups(iter(rows))

    assert [len(group) for group in cut] == [2, 3, 1]
    assert [row for group in cut for row in group] == rows
    assert groups([]) == []


def test_statistics_of_a_prompt() -> None:
    """A row counts rollouts, verdicts and passes, and the reward values in ascending order."""
    rows = group_rows("a", "pfnf")

    (row,) = prompt_statistics(rows, [1.0, 0.25, None, 0.25])

    assert row == {
        "position": 0,
        "task_id": "a",
        "task_key": rows[0]["task_key"],
        "rollouts": 4,
        "scored": 3,
        "passes": 1,
        "pass_rate": pytest.approx(1 / 3),
        "reward_mean": pytest.approx(0.5),
        "reward_variance": pytest.approx(0.125),  # population form: (2 * .25**2 + .5**2) / 3
        "informative": True,
        "reward_values": [0.25, 1.0],
        "reward_counts": [2, 1],
        "prompt_tokens": 8,
        "completion_tokens": 4.0,
        "longest_completion": 4,
    }


def test_prompts_without_verdict_have_no_rates() -> None:
    """Where nothing was scored, rates, means and variances are None, never 0."""
    (row,) = prompt_statistics(group_rows("a", "nn"), [None, None])

    assert (row["rollouts"], row["scored"], row["passes"]) == (2, 0, 0)
    assert (row["pass_rate"], row["reward_mean"], row["reward_variance"]) == (None, None, None)
    assert (row["informative"], row["reward_values"], row["reward_counts"]) == (False, [], [])


def test_statistics_keep_the_order_of_the_prompts() -> None:
    """Positions count the prompts in the order in which they first appear."""
    rows = [*group_rows("b", "pf"), *group_rows("a", "pp"), *group_rows("c", "ff")]

    table = prompt_statistics(rows, [1.0, 0.0, 1.0, 1.0, 0.0, 0.0])

    assert [(row["position"], row["task_id"]) for row in table] == [(0, "b"), (1, "a"), (2, "c")]
    assert [row["informative"] for row in table] == [True, False, False]


def test_statistics_fit_their_schema() -> None:
    """Rows of statistics have the columns of the data dictionary, and so have the rollouts they come from."""
    rows = [*group_rows("a", "pf"), *group_rows("b", "nn")]

    table = prompt_statistics(rows, [1.0, 0.0, None, None])

    assert all(list(row) == STATISTICS.names for row in table)
    assert all(list(row) == ROLLOUTS.names for row in rows)
    assert pa.Table.from_pylist(table, STATISTICS).to_pylist() == table


def test_a_reward_for_each_rollout_is_needed() -> None:
    """Rollouts without their reward are an error, not cut off."""
    with pytest.raises(ValueError, match="1 rewards for 2 rollouts"):
        prompt_statistics(group_rows("a", "pf"), [1.0])


@pytest.mark.parametrize(
    ("p", "group_size", "mean", "square", "variance"),
    [
        (0.1, 4, 0.263489, 0.257850, 0.0675),
        (0.1, 8, 0.391924, 0.498341, 0.07875),
        (0.25, 4, 0.534240, 0.509766, 0.140625),
        (0.25, 8, 0.710722, 0.787388, 0.164062),
        (0.5, 4, 0.699760, 0.656250, 0.1875),
        (0.5, 8, 0.867904, 0.868164, 0.21875),
    ],
)
def test_advantages_of_a_pass_rate_have_the_published_moments(
    p: float, group_size: int, mean: float, square: float, variance: float
) -> None:
    """Mean absolute and mean squared advantage, and the variance of rewards, averaged over what a group can show."""
    found = np.zeros(3)
    for passes in range(group_size + 1):
        chance = comb(group_size, passes) * p**passes * (1 - p) ** (group_size - passes)
        rewards = [1.0] * passes + [0.0] * (group_size - passes)
        advantage = advantages(rewards)
        found += chance * np.array([np.abs(advantage).mean(), (advantage**2).mean(), np.var(rewards)])

    assert found == pytest.approx([mean, square, variance], rel=1e-3)  # TRL's 1e-4 in the denominator
