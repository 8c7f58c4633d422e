"""Reads tasks: generated suites, and JSONL files of the user's."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

from grpo_assets.domain.fingerprints import unit_interval
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.tasks import Task, cluster_of, split_of, task_key

DIGITS_RULES: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "rev": (lambda s: s[::-1], lambda s: s),
    "sort": (lambda s: "".join(sorted(s)), lambda s: "".join(sorted(s, reverse=True))),
    "max": (max, min),
}
"""The right rule of each family and the one whose answers are plausibly wrong."""


def read_tasks(suite: Suite, folder: Path) -> list[dict]:
    """The tasks of a suite as rows of `schemas.TASKS`, each with key, cluster and split.

    Args:
        folder: the data folder, where relative paths start.

    Raises:
        UserMistake: for a bad row, with file, line number and reason.
    """
    tasks = digits_tasks(suite) if suite.generator else list(_read_jsonl(suite, folder))
    if not tasks:
        raise UserMistake(f"{suite.path}: no tasks in it\n  allowed: one JSON object a line, at least one")
    _refuse_repeats(tasks)
    rows = []
    for _, task in tasks:
        cluster = cluster_of(task.prompt)
        split = split_of(cluster, suite.splits)
        rows.append({**vars(task), "task_key": task_key(task), "cluster": cluster, "split": split})
    return rows


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


def digits_tasks(suite: Suite) -> list[tuple[str, Task]]:
    """The `suite.tasks` tasks that its seed picks, in an order that it picks too."""
    tasks = sorted(all_digits_tasks(), key=lambda task: unit_interval("digits", suite.seed, task.task_id))
    if suite.tasks is not None and suite.tasks > len(tasks):
        raise UserMistake(f"suite digits: tasks: {suite.tasks} is not allowed\n  allowed: 1 to {len(tasks)}")
    return [(task.task_id, task) for task in tasks[: suite.tasks]]


def _read_jsonl(suite: Suite, folder: Path) -> Iterator[tuple[str, Task]]:
    assert suite.path is not None
    for number, line in enumerate((folder / suite.path).read_bytes().splitlines(), start=1):
        where = f"{suite.path}: line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserMistake(f"{where}: {error}\n  allowed: one JSON object a line, in UTF-8") from None
        if not isinstance(row, dict):
            raise UserMistake(f"{where}: {row!r} is not allowed\n  allowed: one JSON object a line")
        yield where, _task_of(row, suite, where, number)


def _task_of(row: dict, suite: Suite, where: str, number: int) -> Task:
    assert suite.fields is not None
    assert suite.licence is not None
    fields = suite.fields
    candidates = row.get(fields.candidates, []) if fields.candidates else []
    if not isinstance(candidates, list) or not all(isinstance(c, str) for c in candidates):
        raise UserMistake(f"{where}: {fields.candidates}: {candidates!r} is not allowed\n  allowed: a list of texts")
    return Task(
        task_id=_text(_with_text_id(row, fields.task_id), fields.task_id, where) if fields.task_id else str(number),
        prompt=_text(row, fields.prompt, where),
        answer=_text(row, fields.answer, where),
        source=suite.path or "",
        licence=suite.licence,
        family=_text(row, fields.family, where) if fields.family else "",
        candidates=tuple(candidates),
    )


def _with_text_id(row: dict, field: str) -> dict:
    """Whole numbers are common as ids."""
    number = row.get(field)
    return {**row, field: str(number)} if isinstance(number, int) and not isinstance(number, bool) else row


def _text(row: dict, field: str, where: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        found = f"{value!r} is not allowed" if field in row else f"is missing; the row has {sorted(row)}"
        raise UserMistake(f"{where}: {field}: {found}\n  allowed: a text that is not empty")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserMistake(f"{where}: {field}: {value!r} is not allowed\n  allowed: Unicode without lone surrogates")
    return value


def _refuse_repeats(tasks: list[tuple[str, Task]]) -> None:
    seen: dict[str, str] = {}
    for where, task in tasks:
        for what, value in (("task_id", task.task_id), ("prompt and answer", task_key(task))):
            first = seen.setdefault(f"{what} {value}", where)
            if first != where:
                raise UserMistake(f"{where}: {what}: {task.task_id!r} stands at {first} already\n  allowed: each once")
