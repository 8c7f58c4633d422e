"""The suite of digits: to reverse, sort or take the maximum of three digits."""

from collections.abc import Callable
from itertools import product

from grpo_assets.domain.fingerprints import unit_interval
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.tasks import Task
from grpo_assets.runtime.rows import SourceTask

DIGITS_RULES: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "rev": (lambda s: s[::-1], lambda s: s),
    "sort": (lambda s: "".join(sorted(s)), lambda s: "".join(sorted(s, reverse=True))),
    "max": (max, min),
}
"""The right rule of each family and the one whose answers are plausibly wrong."""


def all_digits_tasks() -> list[Task]:
    """All 3,000 tasks of three digits: reverse, sort or take the maximum."""
    tasks = []
    for family, digits in product(DIGITS_RULES, map("".join, product("0123456789", repeat=3))):
        right, wrong = DIGITS_RULES[family]
        answer = right(digits)
        next_digit = str((int(answer[-1]) + 1) % 10)
        candidates = [wrong(digits), answer[1:] + answer[:1], answer[:-1] + next_digit]
        distinct = tuple(dict.fromkeys(c for c in candidates if c != answer))
        name = f"{family}-{digits}"
        tasks.append(Task(name, f"{family} {digits}=", answer, "grpo_assets digits", "Apache-2.0", family, distinct))
    return tasks


def digits_tasks(suite: Suite) -> list[SourceTask]:
    """The `suite.tasks` tasks that its seed picks, in an order that it picks too."""
    tasks = sorted(all_digits_tasks(), key=lambda task: unit_interval("digits", suite.seed, task.task_id))
    if suite.tasks is not None and suite.tasks > len(tasks):
        raise UserMistake(f"suite digits: tasks: {suite.tasks} is not allowed\n  allowed: 1 to {len(tasks)}")
    return [SourceTask(task.task_id, task, task.prompt) for task in tasks[: suite.tasks]]
