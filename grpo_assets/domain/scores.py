"""Dev scores of all variants on the same tasks, and the error of a paired difference between two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.mistakes import FailedWork

Floats = npt.NDArray[np.float64]


class TaskRates(NamedTuple):
    """What one evaluation measured: pass rates in [0, 1] of each of its tasks, shape (tasks,)."""

    tasks: Sequence[str]
    sampled: Floats
    greedy: Floats


@dataclass(frozen=True)
class Scores:
    """Sampled pass rates on the dev tasks, in [0, 1].

    Attributes:
        tasks: content keys.
        clusters: number of each task's near-duplicate cluster, from 0, shape (tasks,).
        variants: pass rates by slug, each of shape (tasks,).
        untrained: those of the untrained policy, shape (tasks,).
    """

    tasks: tuple[str, ...]
    clusters: npt.NDArray[np.int64]
    variants: Mapping[str, Floats]
    untrained: Floats

    @property
    def keys_sha256(self) -> str:
        """Identity of the dev tasks by content, the same that `dev_tasks` states."""
        return fingerprint(sorted(self.tasks))

    @property
    def sizes(self) -> Floats:
        """Tasks in each cluster, shape (clusters,)."""
        return np.bincount(self.clusters).astype(float)

    def sums(self, rates: Floats) -> Floats:
        """Pass rates summed over the tasks of each cluster; the last axis goes from tasks to clusters."""
        order = np.argsort(self.clusters, kind="stable")
        starts = np.searchsorted(self.clusters[order], np.arange(len(self.sizes)))
        return np.add.reduceat(rates[..., order], starts, axis=-1)


def scores_of(clusters: Mapping[str, str], untrained: TaskRates, variants: Mapping[str, TaskRates]) -> Scores:
    """Scores from what was measured on each dev task.

    Args:
        clusters: the near-duplicate cluster of each dev task, in the order of the tasks.

    Raises:
        FailedWork: for an empty dev set, tasks that differ, or a pass rate that is no number in [0, 1].
    """
    if not clusters:
        raise FailedWork("the dev set is empty: there is nothing to compare variants on")
    tasks = list(clusters)
    for name, found in {"the untrained policy": untrained, **variants}.items():
        if list(found.tasks) != tasks:
            differing = sorted(set(found.tasks) ^ set(tasks))
            shown = f"{len(differing)}, as {differing[0]}" if differing else "the same ones in another order"
            raise FailedWork(f"{name}: evaluated on other tasks than the dev set: {shown}")
        for rates in (found.sampled, found.greedy):
            wrong = np.flatnonzero(~((rates >= 0.0) & (rates <= 1.0)))  # NaN is in no interval
            if len(wrong):
                raise FailedWork(f"{name}: the pass rate of task {tasks[wrong[0]]} is {rates[wrong[0]]}, not in [0, 1]")
    numbers = {name: number for number, name in enumerate(sorted(set(clusters.values())))}
    return Scores(
        tuple(tasks),
        np.array([numbers[cluster] for cluster in clusters.values()], dtype=np.int64),
        {name: found.sampled for name, found in variants.items()},
        untrained.sampled,
    )


def clustered_variance(sums: Floats, sizes: Floats) -> float:
    """Squared standard error of a mean over tasks, where tasks of one cluster go together.

    `sum_c (sum_i (s_i - m))^2 / n^2` (Miller, arXiv 2411.00640, section 2.2).

    Args:
        sums: summed over the tasks of each cluster, shape (clusters,).
    """
    deviations = sums - sizes * sums.sum() / sizes.sum()
    return float((deviations**2).sum() / sizes.sum() ** 2)


def rows_of(scores: Scores) -> list[dict]:
    """Scores as rows of `schemas.SCORES`, the untrained policy under an empty name."""
    return [
        {"variant": name, "pass_rates": rates} for name, rates in [("", scores.untrained), *scores.variants.items()]
    ]


def tasks_of(scores: Scores) -> list[dict]:
    """The tasks of scores as rows of `schemas.SCORED_TASKS`."""
    return [{"task_key": key, "cluster": int(c)} for key, c in zip(scores.tasks, scores.clusters, strict=True)]


def from_rows(tasks: Sequence[Mapping], rows: Sequence[Mapping]) -> Scores:
    """Scores as they were written by `rows_of` and `tasks_of`."""
    by_name = {row["variant"]: np.asarray(row["pass_rates"], dtype=float) for row in rows}
    untrained = by_name.pop("")
    clusters = np.array([task["cluster"] for task in tasks], dtype=np.int64)
    return Scores(tuple(task["task_key"] for task in tasks), clusters, by_name, untrained)
