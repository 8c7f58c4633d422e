r"""Verifies final answers of maths tasks; runs in a judge's process, under its deadline.

A completion is judged by one span of it, its final answer, never by its reasoning: what follows the last `####`,
else the last `\boxed{...}`.
"""

import json
import re
from typing import Any

LONGEST_ANSWER = 1000
NUMBER = re.compile(r"[-+]?\$?[\d,]*\.?\d+|[-+]?\d+/\d+|[-+]?\\[dt]?frac\{-?\d+\}\{\d+\}")
WHOLE_NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.0*)?")


def judge_answer(job: dict[str, Any]) -> dict[str, Any]:
    """The observation on a final answer; one check."""
    said = final_answer(job["completion"])
    if said is None:
        return _observed(False, "no_final_answer")
    if len(said) > LONGEST_ANSWER:
        return _observed(False, "answer_too_long")
    judges = {"integer": _same_integer, "math": _same_mathematics, "scorer": _scored_full}
    return judges[job["verification"]](said, job)


def load_for(verification: str) -> None:
    """Import what a way of verifying needs, which takes seconds and is no fault of an answer."""
    if verification == "math":
        import math_verify  # noqa: F401
    elif verification == "scorer":
        import reasoning_gym  # noqa: F401


def final_answer(completion: str) -> str | None:
    """The final answer of a completion without surrounding blanks, None where it gives none."""
    _, marker, rest = completion.rpartition("####")
    if marker:
        return rest.strip().split("\n", 1)[0].strip() or None
    start = completion.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for place in range(start + len("\\boxed"), len(completion)):
        depth += {"{": 1, "}": -1}.get(completion[place], 0)
        if depth == 0:
            return completion[start + len("\\boxed{") : place].strip() or None
    return None


def whole_number(text: str) -> int | None:
    """A whole number as people write it: with thousands' commas, a dollar sign, a full stop or a zero fraction."""
    bare = text.strip().rstrip(".").replace("$", "").strip()
    if not WHOLE_NUMBER.fullmatch(bare) or len(bare) > 100:
        return None
    return int(bare.replace(",", "").split(".")[0])


def _same_integer(said: str, job: dict[str, Any]) -> dict[str, Any]:
    number = whole_number(said)
    if number is None:
        return _observed(False, "no_whole_number")
    return _observed(number == whole_number(job["answer"]), "wrong_answer")


def _same_mathematics(said: str, job: dict[str, Any]) -> dict[str, Any]:
    """By value; where the right answer is a number the said one must be written as one, or the question would do.

    Only LaTeX is read: the comparer's other reader evaluates its text as Python.
    """
    import math_verify

    if NUMBER.fullmatch(job["answer"]) and not NUMBER.fullmatch(said.strip("$ ")):
        return _observed(False, "no_number")
    right, found = (
        math_verify.parse(f"${text}$", [math_verify.LatexExtractionConfig()], parsing_timeout=None)
        for text in (job["answer"], said.strip("$"))
    )
    if not found:
        return _observed(False, "no_mathematics")
    return _observed(bool(math_verify.verify(right, found, timeout_seconds=None)), "wrong_answer")


def _scored_full(said: str, job: dict[str, Any]) -> dict[str, Any]:
    """With the generator's own scorer, of which nothing but exactly 1.0 counts: its partial credit can be farmed."""
    import reasoning_gym

    entry = json.loads(job["entry"])
    score = reasoning_gym.get_score_answer_fn(entry["metadata"]["source_dataset"])
    return _observed(score(answer=said, entry=entry) == 1.0, "wrong_answer")


def _observed(held: bool, otherwise: str) -> dict[str, Any]:
    return {"outcome": "pass" if held else "fail", "reason": "right_answer" if held else otherwise, "passed": [held]}
