"""Rewards are pure functions of a rollout on a grid of 1/64, known by their code."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.rewards import (
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


def test_tasks_without_checks_give_no_share() -> None:
    """A fail on a task without separate checks is worth nothing."""
    assert reward_v1_shaped(rollout(outcome="fail", checks_passed=0, checks=0)) == 0.0


@LAW
@given(rollout=rollouts())
@pytest.mark.parametrize("name", REWARDS)
def test_rewards_lie_on_the_grid(name: str, rollout: Rollout) -> None:
    """Every reward is a multiple of 1/64 in [0, 1]."""
    reward = REWARDS[name](rollout)

    assert 0 <= reward <= 1
    assert (64 * reward).is_integer()


@LAW
@given(rollout=rollouts())
@pytest.mark.parametrize("name", REWARDS)
def test_a_pass_is_worth_most(name: str, rollout: Rollout) -> None:
    """Full reward goes with a pass and only with it, so shaping never beats being right."""
    reward = REWARDS[name](rollout)

    assert (reward == 1.0) == (rollout.verdict.outcome == "pass")
    assert reward == 1.0 or reward <= 0.5


@LAW
@given(checks=st.integers(1, 40))
def test_more_checks_are_never_worth_less(checks: int) -> None:
    """The shaped reward of a fail grows with the checks that hold."""
    fails = [rollout(outcome="fail", checks_passed=passed, checks=checks) for passed in range(checks + 1)]

    shaped = [reward_v1_shaped(fail) for fail in fails]

    assert shaped == sorted(shaped)


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
