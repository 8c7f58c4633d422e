"""Verifies answers that have one right form."""

from grpo_assets.domain.verdicts import Verdict


def verify(answer: str, completion: str, truncated: bool) -> Verdict:
    """Compare a completion with the answer, white space around it aside.

    Each character of the answer is a check of its own, passed where the completion has it at the same place.
    A completion that was cut off fails even where it starts with the answer: it did not say that it ends there.
    """
    said, wanted = completion.strip(), answer.strip()
    held = sum(a == b for a, b in zip(said, wanted, strict=False))
    if truncated:
        return Verdict("fail", "truncated", held, len(wanted))
    if said == wanted:
        return Verdict("pass", "exact_match", len(wanted), len(wanted))
    # a longer text than the answer holds at all places and is still wrong
    return Verdict("fail", "wrong_answer", min(held, len(wanted) - 1), len(wanted))
