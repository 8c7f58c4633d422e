"""From a task and a completion to a judge's job, and from its observation to a verdict."""

import re
from typing import Any

from grpo_assets.domain.verdicts import Verdict

FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
LONGEST_COMPLETION = 1 << 20


def job_of(task: dict, completion: str) -> dict[str, Any]:
    """What a judge is asked about a completion of a task, a row of `schemas.TASKS`."""
    if task["verification"] == "tests":
        return {"kind": "code", "program": program_of(task, completion), **tests_of(task)}
    return {
        "kind": "answer",
        "verification": task["verification"],
        "answer": task["answer"],
        "entry": task["entry"],
        "completion": completion,
        "seconds": task["seconds"],
    }


def tests_of(task: dict) -> dict[str, Any]:
    """The tests of a task in the form of a job."""
    parts = {name: task["tests"][name] for name in ("entry_points", "setup", "tests")}
    return {**parts, "seconds": task["seconds"]}


def program_of(task: dict, completion: str) -> str:
    """The program in a completion: the last block in code fences, or all of it where there is none."""
    blocks = FENCE.findall(completion)
    return task["tests"]["preamble"] + (blocks[-1] if blocks else completion)


def verdict_of(task: dict, observation: dict) -> Verdict:
    """The verdict in an observation of `judging.Judge`."""
    passed = observation["passed"]
    shown = task["tests"]["shown"] if task["tests"] else 0
    return Verdict(
        outcome=observation["outcome"],
        reason=observation["reason"],
        checks_passed=sum(passed),
        checks=len(passed),
        constant_checks=min(task["constant_checks"], len(passed)),
        shown_passed=sum(passed[:shown]),
        shown=min(shown, len(passed)),
        wall_seconds=observation.get("wall_seconds"),
        cpu_seconds=observation.get("cpu_seconds"),
    )
