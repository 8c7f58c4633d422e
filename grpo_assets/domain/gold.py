"""Gold cases: rollouts whose reward is known, by which a new version of a reward is checked before it counts."""

from collections.abc import Sequence
from math import isclose
from typing import Any, NamedTuple

from grpo_assets.domain.rewards import Reward, score
from grpo_assets.domain.rollouts import Rollout
from grpo_assets.domain.specs import GoldCase
from grpo_assets.domain.verdicts import Verdict

TOLERANCE = 1e-9
"""How far a reward may be from its declared value, so that a third can be declared."""


class Miss(NamedTuple):
    """A gold case that does not hold; `got` says what came instead, `case` counts from 1."""

    case: int
    completion: str
    expected: float
    got: str

    def __str__(self) -> str:
        return f"case {self.case}: completion {shortened(self.completion)}: expected {self.expected}, got {self.got}"


def rollout_of_case(case: GoldCase) -> Rollout:
    """The rollout of a gold case, with what it leaves out."""
    passed = case.outcome == "pass"
    verdict = Verdict(
        outcome=case.outcome,
        reason=case.reason or ("exact_match" if passed else "wrong_answer"),
        checks_passed=case.checks * passed if case.checks_passed is None else case.checks_passed,
        checks=case.checks,
        constant_checks=case.constant_checks,
        shown_passed=case.shown * passed if case.shown_passed is None else case.shown_passed,
        shown=case.shown,
    )
    tokens = len(case.completion) + 1 if case.token_count is None else case.token_count
    return Rollout(case.prompt, case.answer, case.completion, tokens, case.truncated, verdict)


def misses(reward: Reward, cases: Sequence[GoldCase]) -> list[Miss]:
    """The cases that do not hold, each scored twice: all in order, and all again in reverse order.

    So a reward that remembers what it was asked before, or that draws lots, differs from itself.
    """
    rollouts = [rollout_of_case(case) for case in cases]
    first = [_answer(reward, rollout) for rollout in rollouts]
    again = [_answer(reward, rollout) for rollout in reversed(rollouts)][::-1]
    found = []
    for place, (case, one, other) in enumerate(zip(cases, first, again, strict=True), 1):
        if one != other:
            got = f"{one}, and {other} when scored again in reverse order"
        elif isinstance(one, str) or not isclose(one, case.reward, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            got = str(one)
        else:
            continue
        found.append(Miss(place, case.completion, case.reward, got))
    return found


def _answer(reward: Reward, rollout: Rollout) -> Any:
    """What a reward says of a rollout, or in words how it fails."""
    try:
        return score(reward, rollout)
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        return f"{type(error).__name__}: {error}"


def refusal(name: str, cases: Sequence[GoldCase], missed: Sequence[Miss]) -> str:
    """The message of a version that does not count."""
    lines = "".join(f"\n  {miss}" for miss in missed)
    return f"reward {name}: {len(missed)} of {len(cases)} gold cases do not hold, so this version does not count{lines}"


def shortened(text: str) -> str:
    """A text as one line of a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
