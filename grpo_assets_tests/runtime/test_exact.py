"""The exact verifier passes the answer alone, and counts the checks that hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_assets.runtime.verifier.exact import verify


@pytest.mark.parametrize(
    ("answer", "completion", "truncated", "outcome", "reason", "checks_passed"),
    [
        ("284", "284", False, "pass", "exact_match", 3),
        ("284", " 284\n", False, "pass", "exact_match", 3),  # white space around it does not count
        ("284", "281", False, "fail", "wrong_answer", 2),
        ("284", "2844", False, "fail", "wrong_answer", 2),  # all places hold, and it is still wrong
        ("284", "", False, "fail", "wrong_answer", 0),  # an end token at once
        ("284", "482", False, "fail", "wrong_answer", 1),
        ("284", "284", True, "fail", "truncated", 3),  # it did not say that it ends there
    ],
)
def test_verdicts(answer: str, completion: str, truncated: bool, outcome: str, reason: str, checks_passed: int) -> None:
    """Each kind of completion has its verdict."""
    verdict = verify(answer, completion, truncated)

    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert (verdict.checks_passed, verdict.checks) == (checks_passed, 3)


@settings(derandomize=True, deadline=None)
@given(answer=st.text(min_size=1).filter(str.strip), completion=st.text())
def test_all_checks_hold_only_for_a_pass(answer: str, completion: str) -> None:
    """A fail that was not cut off never holds at every place."""
    verdict = verify(answer, completion, truncated=False)

    assert (verdict.outcome == "pass") == (completion.strip() == answer.strip())
    assert (verdict.outcome == "pass") == (verdict.checks_passed == verdict.checks)
