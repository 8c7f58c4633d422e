"""Rewards: named pure functions of a rollout.

To add one here, write a function `Rollout -> float`, name it in `REWARDS` and give it gold cases in `GOLD`; an
experiment can then have it on its axis. An experiment can also declare one by the path of its function.
Rewards lie on a grid of 1/64, so that equal rewards have equal floats and a group's spread is exact.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from grpo_assets.domain.fingerprints import unit_interval
from grpo_assets.domain.rollouts import Rollout
from grpo_assets.domain.specs import GoldCase

Reward = Callable[[Rollout], float]


def reward_v0_correctness(rollout: Rollout) -> float:
    """1.0 for a completion that passes, else 0.0."""
    return 1.0 if rollout.verdict.outcome == "pass" else 0.0


def reward_v1_shaped(rollout: Rollout) -> float:
    """1.0 for a pass, else half the squared share of the checks above the best constant answer.

    With p of n checks passed, of which the best constant answer passes c: `s = max(0, p - c) / (n - c)`, and the
    reward is `s**2 / 2`, or 0.0 for a completion cut off. So `return 0` earns nothing, and the convex square makes the
    step from most checks to all of them pay more than the first ones.
    """
    verdict = rollout.verdict
    if verdict.outcome == "pass":
        return 1.0
    if rollout.truncated or verdict.checks <= verdict.constant_checks:
        return 0.0
    share = max(0, verdict.checks_passed - verdict.constant_checks) / (verdict.checks - verdict.constant_checks)
    return round(64 * 0.5 * share**2) / 64


def reward_random(rollout: Rollout) -> float:
    """0.0 or 1.0 by the hash of prompt and completion, whatever the verdict: what it seems to teach is no learning."""
    return float(unit_interval("random reward", rollout.prompt, rollout.completion) < 0.5)


RANDOM_REWARD = "reward_random"

REWARDS: dict[str, Reward] = {
    "reward_v0_correctness": reward_v0_correctness,
    "reward_v1_shaped": reward_v1_shaped,
    RANDOM_REWARD: reward_random,
}

RIGHT = {"prompt": "max 407=", "answer": "7", "completion": "7", "outcome": "pass"}
WRONG = {"prompt": "max 407=", "answer": "7", "completion": "4", "outcome": "fail"}
SOME = {"prompt": "Write `double(n)`.", "answer": "", "completion": "def double(n): return 2", "outcome": "fail"}
ALL = {**SOME, "completion": "def double(n): return n + n", "outcome": "pass"}


def _gold(*cases: tuple[Mapping[str, Any], float]) -> tuple[GoldCase, ...]:
    return tuple(GoldCase(**rollout, reward=reward) for rollout, reward in cases)


GOLD: dict[str, tuple[GoldCase, ...]] = {
    "reward_v0_correctness": _gold(
        (RIGHT, 1.0),
        (WRONG, 0.0),
        ({**WRONG, "completion": "", "truncated": True}, 0.0),
        ({**ALL, "checks": 8}, 1.0),
        ({**SOME, "checks": 8, "checks_passed": 7}, 0.0),
    ),
    "reward_v1_shaped": _gold(
        (RIGHT, 1.0),
        (WRONG, 0.0),
        ({**ALL, "checks": 8, "constant_checks": 2}, 1.0),
        ({**SOME, "checks": 8, "checks_passed": 2, "constant_checks": 2}, 0.0),  # what a constant answer passes
        ({**SOME, "checks": 8, "checks_passed": 5, "constant_checks": 2}, 8 / 64),  # 3 of 6 above it
        ({**SOME, "checks": 8, "checks_passed": 7, "constant_checks": 2}, 22 / 64),  # 5 of 6
        ({**SOME, "checks": 8, "checks_passed": 5, "truncated": True}, 0.0),
    ),
    RANDOM_REWARD: _gold(
        (RIGHT, 1.0),
        ({**RIGHT, "outcome": "fail"}, 1.0),
        (WRONG, 1.0),
        (SOME, 0.0),
        (ALL, 1.0),
    ),
}
"""What each must say of some rollouts, or its new version does not count."""


def score(reward: Reward, rollout: Rollout) -> float | None:
    """The reward of a rollout, None where there is no verdict.

    Raises:
        ValueError: when the reward is no finite number.
    """
    if rollout.verdict.outcome == "no_verdict":
        return None
    value = reward(rollout)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"reward {reward.__name__} returned {value!r}; a finite number is needed")
    return float(value)
