"""The gate that tasks pass before a policy sees them: what is right must pass, what is empty or constant must not."""

from collections.abc import Sequence
from itertools import islice

from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets.runtime.verifier.programs import job_of, tests_of
from grpo_assets.runtime.verifier.verifying import verifier

LIMITS = (2.0, 8.0, 32.0)
"""Seconds that verifying a completion may take: the least of them that is four times what the reference takes."""
MARGIN = 4.0
REJECTED_SHARE = 0.1
"""More rejected tasks than this share, and the suite itself is not to be trusted."""
WRONG_ANSWERS = (
    "",
    "#### None",
    "#### 0",
    "#### 1",
    "#### nan",
    "#### qwerty",
    "#### " + " ".join(map(str, range(101))),
)
"""No answer, constant ones, garbage, and numbers in the hope that one is right."""
SECONDS_FOR_CONSTANTS = 60.0


def admit(rows: Sequence[dict]) -> tuple[list[dict], list[dict[str, str]]]:
    """The tasks that can be trusted, with their limits; and for each other one its `task_id` and `reason`.

    Tasks whose answer is compared as it stands need no gate: only that text passes.
    """
    gated = [row for row in rows if row["verification"] != "exact"]
    if not gated:
        return list(rows), []
    admitted, rejected = _gate(gated, verifier())
    by_key = {row["task_key"]: row for row in rows if row["verification"] == "exact"}
    by_key |= {row["task_key"]: row for row in admitted}
    return [by_key[row["task_key"]] for row in rows if row["task_key"] in by_key], rejected


def refusal(suite: str, rejected: Sequence[dict[str, str]], read: int) -> str:
    """What to say of a suite too many of whose tasks are rejected."""
    first = "\n".join(f"  {task['task_id']}: {task['reason']}" for task in rejected[:5])
    more = f"\n  and {len(rejected) - 5} more" if len(rejected) > 5 else ""
    return (
        f"suite {suite}: {len(rejected)} of {read} tasks are rejected, more than {REJECTED_SHARE:.0%}\n{first}{more}\n"
        "  allowed: tasks whose right answer passes their tests and whose wrong answers do not"
    )


def _gate(rows: Sequence[dict], verifier: Verifier) -> tuple[list[dict], list[dict[str, str]]]:
    references = [job_of({**row, "seconds": LIMITS[-1]}, _right_answer(row)) for row in rows]
    observations = verifier.observe(references)
    slow = [i for i, seen in enumerate(observations) if MARGIN * seen.get("wall_seconds", 0.0) > LIMITS[0]]
    for i in slow:  # a machine that paused is no slow task
        again = verifier.observe([references[i]])[0]
        if observations[i]["outcome"] == again["outcome"] == "pass":
            observations[i] = min(observations[i], again, key=lambda seen: seen.get("wall_seconds", 0.0))
    constants = _constant_checks(rows, verifier)
    garbage = _garbage_that_passes(rows, verifier)
    admitted, rejected = [], []
    for row, seen, constant, passing in zip(rows, observations, constants, garbage, strict=True):
        reason = _rejected(row, seen, constant, passing)
        if reason:
            rejected.append({"task_id": row["task_id"], "reason": reason})
        else:
            admitted.append({**row, "seconds": _limit(seen), "constant_checks": constant})
    return admitted, rejected


def _right_answer(row: dict) -> str:
    return row["answer"] if row["tests"] else f"#### {row['answer']}"


def _constant_checks(rows: Sequence[dict], verifier: Verifier) -> list[int | None]:
    """How many tests the best constant answer passes, None where that could not be found out in time."""
    numbers = [i for i, row in enumerate(rows) if row["tests"] and row["tests"]["tests"]]
    jobs = [{"kind": "constants", **tests_of({**rows[i], "seconds": LIMITS[0]})} for i in numbers]
    found: list[int | None] = [0] * len(rows)
    for i, seen in zip(numbers, verifier.observe(jobs, patience=SECONDS_FOR_CONSTANTS), strict=True):
        found[i] = seen.get("constant_checks")
    return found


def _garbage_that_passes(rows: Sequence[dict], verifier: Verifier) -> list[str | None]:
    """For each task a wrong answer that passes, None where there is none."""
    numbers, jobs = [], []
    for number, row in enumerate(rows):
        for wrong in ["", *row["candidates"]] if row["tests"] else _wrong_answers(rows, row):
            numbers.append((number, wrong))
            jobs.append(job_of({**row, "seconds": LIMITS[0]}, wrong))
    found: list[str | None] = [None] * len(rows)
    for (number, wrong), seen in zip(numbers, verifier.observe(jobs), strict=True):
        if seen["outcome"] == "pass":
            found[number] = wrong
    return found


def _wrong_answers(rows: Sequence[dict], row: dict) -> list[str]:
    """Answers that must fail, the right one of another task among them, where there is one that reads differently."""
    others = (other["answer"] for other in rows if not other["tests"] and other["answer"] != row["answer"])
    wrong = [*WRONG_ANSWERS, *(f"#### {answer}" for answer in islice(others, 1))]
    return [answer for answer in wrong if answer != f"#### {row['answer']}"]


def _rejected(row: dict, seen: dict, constant_checks: int | None, garbage: str | None) -> str | None:
    if row["tests"] and not row["tests"]["tests"]:
        return "it has no test"
    if seen["outcome"] != "pass":
        return f"its own answer does not pass: {seen['reason']}, {sum(seen['passed'])} of {len(seen['passed'])} checks"
    if garbage is not None:
        return f"the wrong answer {garbage[:60]!r} passes"
    if constant_checks is None:
        return "its tests take too long on constant answers"
    if row["tests"] and constant_checks == len(row["tests"]["tests"]):
        return "a constant answer passes all its tests"
    return None


def _limit(seen: dict) -> float:
    needed = MARGIN * seen.get("wall_seconds", 0.0)
    return next((limit for limit in LIMITS if needed <= limit), LIMITS[-1])
