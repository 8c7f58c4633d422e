"""Reads the tasks of a suite, finds near-duplicates and gives whole clusters of them to one split."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from grpo_assets.domain.duplicates import Text, near_duplicates
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.tasks import Split, clusters, leaks_of, split_of, task_key
from grpo_assets.runtime.answer_files import answer_tasks, gsm8k_tasks
from grpo_assets.runtime.code_files import code_tasks, humaneval_tasks, mbpp_tasks
from grpo_assets.runtime.digits import digits_tasks
from grpo_assets.runtime.reasoning_gym_tasks import reasoning_gym_tasks
from grpo_assets.runtime.rows import SourceTask
from grpo_assets.runtime.sources import locate_tasks

READERS = {
    "answers": answer_tasks,
    "code": code_tasks,
    "mbpp": mbpp_tasks,
    "sanitized-mbpp": mbpp_tasks,
    "humaneval": humaneval_tasks,
    "gsm8k": gsm8k_tasks,
}
SECONDS = 2.0
"""What verifying one completion may take before the admission gate has measured it."""


class ReadSuite(NamedTuple):
    """Rows of `schemas.TASKS`; for a suite that keeps its official splits also the near-duplicates across them."""

    rows: list[dict[str, Any]]
    leaks: list[dict[str, str]] | None


def read_tasks(name: str, suite: Suite, folder: Path) -> ReadSuite:
    """The tasks of a suite, each with key, cluster and split.

    Args:
        folder: the data folder, where relative paths start.

    Raises:
        UserMistake: for a bad row, with file, line number and reason.
    """
    sources = list(_sources(name, suite, folder))
    if not sources:
        raise UserMistake(f"{suite.path}: no tasks in it\n  allowed: one JSON object a line, at least one")
    _refuse_repeats(sources)
    pairs = near_duplicates([_text(source) for source in sources])
    rows = [
        {
            **vars(source.task),
            "tests": vars(source.task.tests) if source.task.tests else None,
            "seconds": SECONDS,
            "constant_checks": 0,
            "task_key": task_key(source.task),
            "cluster": cluster,
            "split": _split(source, cluster, suite),
        }
        for source, cluster in zip(sources, clusters([source.description for source in sources], pairs), strict=True)
    ]
    official = any(source.split for source in sources)
    return ReadSuite(rows, leaks_of(rows, pairs) if official else None)


def _sources(name: str, suite: Suite, folder: Path) -> Iterable[SourceTask]:
    if suite.source == "digits":
        return digits_tasks(suite)
    if suite.source == "reasoning-gym":
        return reasoning_gym_tasks(suite, f"suites/{name}.yaml")
    return READERS[suite.source](suite, locate_tasks(name, suite, folder))


def _text(source: SourceTask) -> Text:
    task = source.task
    if task.tests is None:
        return Text(source.description)
    return Text(source.description, task.tests.entry_points, task.tests.preamble + task.answer, task.tests.tests)


def _split(source: SourceTask, cluster: str, suite: Suite) -> Split:
    """The official split, or by the cluster's hash; official test tasks leave only train and dev to the others."""
    if source.split:
        return source.split
    shares = dict(suite.splits)
    if suite.heldout_path:
        del shares["heldout"]
    return split_of(cluster, shares)


def _refuse_repeats(sources: list[SourceTask]) -> None:
    seen: dict[str, str] = {}
    for source in sources:
        for what, value in (("task_id", source.task.task_id), ("prompt and answer", task_key(source.task))):
            first = seen.setdefault(f"{what} {value}", source.where)
            if first != source.where:
                raise UserMistake(
                    f"{source.where}: {what}: {source.task.task_id!r} stands at {first} already\n  allowed: each once"
                )
