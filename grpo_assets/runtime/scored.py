"""Pass rates by task as they lie in artifacts: of one evaluation, and of all variants of an experiment."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from grpo_assets.domain.schemas import SCORED_TASKS, SCORES
from grpo_assets.domain.scores import Scores, TaskRates, from_rows, rows_of, tasks_of
from grpo_assets.runtime.store import read_table, write_table


def read_rates(folder: Path) -> TaskRates:
    """What an evaluation measured on each of its tasks."""
    table = pq.read_table(folder / "pass_rates.parquet")
    sampled, greedy = (np.asarray(table[name].to_numpy()) for name in ("sampled", "greedy"))
    return TaskRates(table["task_key"].to_pylist(), sampled, greedy)


def write_scores(folder: Path, scores: Scores) -> None:
    """Write the scores of an experiment: `scores.parquet` and `scored_tasks.parquet`."""
    write_table(folder / "scores.parquet", rows_of(scores), SCORES)
    write_table(folder / "scored_tasks.parquet", tasks_of(scores), SCORED_TASKS)


def read_scores(folder: Path) -> Scores:
    """The scores that lie in a folder."""
    rows = pq.read_table(folder / "scores.parquet")
    rates = rows["pass_rates"].combine_chunks()
    values = rates.flatten().to_numpy().reshape(len(rates), -1)
    named = zip(rows["variant"].to_pylist(), values, strict=True)
    return from_rows(
        read_table(folder / "scored_tasks.parquet"), [{"variant": name, "pass_rates": row} for name, row in named]
    )
