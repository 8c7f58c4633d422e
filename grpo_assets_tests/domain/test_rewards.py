"""Rewards are pure functions of a rollout on a grid of 1/64, known by their code."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.rewards import (
    RANDOM_REWARD,
    REWARDS,
    reward_v0_correctness,
    reward_v1_shaped,
    score,
)
from grpo_assets.domain.rollouts import Rollout, rollout_of
from grpo_assets_tests.builders import LAW, rollout_row


def rollout(**parts: object) -> Rollout:
    """A rollout; keywords replace parts of its row."""
    return rollout_of(rollout_row(**parts))


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    """Rollouts with any verdict that a verifier can give."""
    checks = draw(st.integers(0, 40))
    return rollout(
        outcome=draw(st.sampled_from(["pass", "fail"])),
        checks=checks,
        checks_passed=draw(st.integers(0, checks)),
        constant_checks=draw(st.integers(0, checks)),
        truncated=draw(st.booleans()),
    )


@pytest.mark.parametrize(
    ("outcome", "passed", "truncated", "correct", "shaped"),
    [
        ("pass", 3, False, 1.0, 1.0),
        ("fail", 0, False, 0.0, 0.0),
        ("fail", 1, False, 0.0, 4 / 64),  # 1/18 on the grid
        ("fail", 2, False, 0.0, 14 / 64),  # 4/18 on the grid
        ("fail", 3, False, 0.0, 0.5),  # all checks hold and it is still wrong
        ("fail", 3, True, 0.0, 0.0),  # cut off
    ],
)
def test_rewards_of_verdicts(outcome: str, passed: int, truncated: bool, correct: float, shaped: float) -> None:
    """Each reward has its value for each kind of verdict."""
    row = rollout(outcome=outcome, checks_passed=passed, checks=3, truncated=truncated)

    assert (reward_v0_correctness(row), reward_v1_shaped(row)) == (correct, shaped)


@pytest.mark.parametrize(
    ("passed", "checks", "constant", "shaped"),
    [
        # s = (passed - constant) / (checks - constant), and the reward is s * s / 2 on the grid
        (4, 7, 1, 8 / 64),  # s = 1/2: 8.00 of 64
        (5, 6, 1, 20 / 64),  # s = 4/5: 20.48
        (10, 11, 1, 26 / 64),  # s = 9/10: 25.92
        (2, 11, 1, 0.0),  # s = 1/10: 0.32
        (3, 4, 2, 8 / 64),  # s = 1/2
        (4, 4, 3, 0.5),  # all checks hold and it is still wrong
        (7, 8, 0, 24 / 64),  # s = 7/8: 24.50, and halves go to the even number
        (5, 8, 0, 12 / 64),  # s = 5/8: 12.50
        (1, 7, 1, 0.0),  # as good as the best constant answer
        (0, 7, 1, 0.0),  # worse than that
        (3, 3, 3, 0.0),  # a constant answer passes all checks, so they tell nothing
        (0, 0, 0, 0.0),  # nothing was checked
    ],
)
def test_what_a_constant_answer_passes_is_worth_nothing(passed: int, checks: int, constant: int, shaped: float) -> None:
    """The shaped reward of a fail is half the squared share of the checks above the best constant answer."""
    fail = rollout(outcome="fail", checks_passed=passed, checks=checks, constant_checks=constant)

    assert reward_v1_shaped(fail) == shaped


@pytest.mark.parametrize("constant", [0, 1, 3])
def test_a_pass_is_worth_the_same_whatever_a_constant_answer_passes(constant: int) -> None:
    """What is right has the full reward, cut off or not and on every task."""
    for truncated in (False, True):
        right = rollout(checks_passed=3, checks=3, constant_checks=constant, truncated=truncated)
        assert reward_v1_shaped(right) == 1.0


def test_tasks_without_checks_give_no_share() -> None:
    """A fail on a task without separate checks is worth nothing."""
    assert reward_v1_shaped(rollout(outcome="fail", checks_passed=0, checks=0)) == 0.0


@LAW
@given(rollout=rollouts())
@pytest.mark.parametrize("name", sorted(set(REWARDS) - {RANDOM_REWARD}))
def test_rewards_lie_on_the_grid(name: str, rollout: Rollout) -> None:
    """Every reward is a multiple of 1/64 in [0, 1]."""
    reward = REWARDS[name](rollout)

    assert 0 <= reward <= 1
    assert (64 * reward).is_integer()


@LAW
@given(rollout=rollouts())
@pytest.mark.parametrize("name", sorted(set(REWARDS) - {RANDOM_REWARD}))
def test_a_pass_is_worth_most(name: str, rollout: Rollout) -> None:
    """Full reward goes with a pass and only with it, so shaping never beats being right."""
    reward = REWARDS[name](rollout)

    assert (reward == 1.0) == (rollout.verdict.outcome == "pass")
    assert reward == 1.0 or reward <= 0.5


CHECKS = st.integers(1, 40).flatmap(lambda checks: st.tuples(st.just(checks), st.integers(0, checks)))
"""How many checks a task has, and how many of them the best constant answer passes."""


def shaped_fails(checks: int, constant: int, **parts: object) -> list[float]:
    """The shaped rewards of fails that pass no check, one, and so on to all of them."""
    counts = {"outcome": "fail", "checks": checks, "constant_checks": constant}
    return [reward_v1_shaped(rollout(**counts, checks_passed=passed, **parts)) for passed in range(checks + 1)]


@LAW
@given(counts=CHECKS)
def test_more_checks_are_never_worth_less(counts: tuple[int, int]) -> None:
    """The shaped reward of a fail grows with the checks that hold, to at most half of a pass."""
    shaped = shaped_fails(*counts)

    assert shaped == sorted(shaped)
    assert shaped[-1] <= 0.5


@LAW
@given(counts=CHECKS)
def test_only_checks_above_the_best_constant_answer_count(counts: tuple[int, int]) -> None:
    """A completion that passes no more checks than a constant answer earns nothing."""
    checks, constant = counts

    assert shaped_fails(checks, constant)[: constant + 1] == [0.0] * (constant + 1)


@LAW
@given(constant=st.integers(0, 20), above=st.integers(1, 20))
def test_the_last_check_is_worth_at_least_as_much_as_the_first(constant: int, above: int) -> None:
    """From most checks to all of them is a large step, so that a policy does not settle for most."""
    worth = shaped_fails(constant + above, constant)[constant:]

    assert worth[-1] - worth[-2] >= worth[1] - worth[0]


@LAW
@given(counts=CHECKS)
def test_what_is_cut_off_earns_no_share(counts: tuple[int, int]) -> None:
    """A completion without its end is worth nothing, whatever its beginning passes."""
    assert set(shaped_fails(*counts, truncated=True)) == {0.0}


def test_rewards_are_known_by_their_name() -> None:
    """The key of a reward is the name of its function, which stands in slugs."""
    assert {name: reward.__name__ for name, reward in REWARDS.items()} == {name: name for name in REWARDS}


@pytest.mark.parametrize("name", REWARDS)
def test_no_verdict_has_no_reward(name: str) -> None:
    """Where the verifier could not decide, the score is None and the reward is not asked."""
    assert score(REWARDS[name], rollout(outcome="no_verdict", checks_passed=0)) is None


def test_scores_are_floats() -> None:
    """A reward that returns a whole number is scored as a float."""

    def whole(rollout: Rollout) -> float:
        return 2

    scored = score(whole, rollout())

    assert (scored, type(scored)) == (2.0, float)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, None, "1.0"], ids=repr)
def test_rewards_that_are_no_finite_number_are_refused(value: object) -> None:
    """A reward that returns anything but a finite number is an error that names it and its value."""

    def broken(rollout: Rollout) -> object:
        return value

    with pytest.raises(ValueError, match="reward broken returned ") as refusal:
        score(broken, rollout())

    assert str(refusal.value) == f"reward broken returned {value!r}; a finite number is needed"


def test_the_random_reward_knows_nothing_of_the_verdict() -> None:
    """It is the same for a pass and a fail, even over completions, and the same each time."""
    values = [REWARDS[RANDOM_REWARD](rollout(completion=str(number))) for number in range(400)]

    assert REWARDS[RANDOM_REWARD](rollout(outcome="fail")) == REWARDS[RANDOM_REWARD](rollout(outcome="pass"))
    assert set(values) == {0.0, 1.0}
    assert sum(values) == pytest.approx(200, abs=50)
