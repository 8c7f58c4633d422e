"""Suites that reasoning-gym generates; its scorers are used in a judge's process, and only a full score counts."""

import json
from typing import Any

from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.tasks import Task
from grpo_assets.runtime.rows import SourceTask

UNFIT = {
    "composite": "it needs data sets of its own",
    "game_of_life_halting": "its scorer pays in full for garbage",
    **dict.fromkeys(
        ("boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"), "its tasks have no answer"
    ),
    **dict.fromkeys(
        (
            *("countdown", "intermediate_integration", "puzzle24", "simple_integration", "spiral_matrix"),
            "string_insertion",
        ),
        "its scorer evaluates what a policy wrote",
    ),
    **dict.fromkeys(("coin_flip", "complex_arithmetic"), "its scorer accepts a constant answer"),
    **dict.fromkeys(
        (
            *("isomorphic_strings", "knight_swap", "list_functions", "polynomial_multiplication", "ransom_note"),
            "word_ladder",
        ),
        "the same seed gives other tasks in another process",
    ),
    **dict.fromkeys(
        (
            *("arc_agi", "binary_matrix", "futoshiki", "kakurasu", "manipulate_matrix", "mini_sudoku", "modulo_grid"),
            *("n_queens", "pool_matrix", "rearc", "rotate_matrix", "sudoku", "survo", "tower_of_hanoi"),
        ),
        "its answers take several lines",
    ),
}
"""Data sets that cannot be verified, with the reason."""

INSTRUCTION = "Write the final answer on a last line that starts with ####."


def reasoning_gym_tasks(suite: Suite, where: str) -> list[SourceTask]:
    """The tasks that a data set of reasoning-gym generates from the suite's seed.

    Raises:
        UserMistake: for a data set or a setting that it does not know, or that cannot be verified.
    """
    try:
        import reasoning_gym
    except ImportError:
        raise UserMistake(
            f"{where}: source: reasoning-gym is not installed\n  get it: pip install 'grpo-assets[reasoning-gym]'"
        ) from None
    known = set(reasoning_gym.factory.DATASETS) - set(UNFIT)
    if suite.dataset not in known:
        reason = f" ({UNFIT[suite.dataset]})" if suite.dataset in UNFIT else ""
        raise refuse(where, "dataset", suite.dataset, f"one of {listed(known)}{reason}")
    try:
        settings = {**(suite.config or {}), "size": suite.tasks, "seed": suite.seed}
        entries = list(reasoning_gym.create_dataset(suite.dataset, **settings))
    except (TypeError, ValueError, AssertionError) as error:
        raise refuse(where, "config", suite.config, f"settings of {suite.dataset}; it says: {error}") from None
    first: dict[str, Any] = {}
    for entry in entries:  # small settings repeat themselves
        first.setdefault(entry["question"], entry)
    return [_source_task(suite, number, entry) for number, entry in enumerate(first.values())]


def _source_task(suite: Suite, number: int, entry: dict[str, Any]) -> SourceTask:
    task = Task(
        task_id=f"{suite.dataset}-{number}",
        prompt=f"{entry['question']}\n{INSTRUCTION}",
        answer=str(entry["answer"]),
        source=f"reasoning-gym {suite.dataset}",
        licence="Apache-2.0",
        verification="scorer",
        entry=json.dumps(entry, sort_keys=True, default=str),
    )
    return SourceTask(task.task_id, task, entry["question"])
