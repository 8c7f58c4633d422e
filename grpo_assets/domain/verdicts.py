"""What a verifier observed of a completion."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["pass", "fail", "no_verdict"]


@dataclass(frozen=True)
class Verdict:
    """What the verifier observed of a completion: all of it is the judge's own observation, none the completion's.

    Attributes:
        outcome: `no_verdict` when it could not decide; that is never a failure of the completion.
        reason: a short code, such as `exact_match`, `wrong_answer` or `timeout`.
        checks_passed, checks: how many of the separate checks of the task held, 0 <= passed <= checks.
        constant_checks: how many of them the best constant answer passes, 0 <= constant_checks <= checks.
        shown_passed, shown: the same for the checks that stand in the prompt.
        wall_seconds, cpu_seconds: what the candidate took; None where nothing was run.
    """

    outcome: Outcome
    reason: str
    checks_passed: int
    checks: int
    constant_checks: int = 0
    shown_passed: int = 0
    shown: int = 0
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
