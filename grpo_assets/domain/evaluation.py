"""Pass rates of a policy on a set of tasks, with intervals that respect that samples of one task go together."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.stats import t
from statsmodels.stats.weightstats import zconfint

from grpo_assets.domain.rollouts import correctness
from grpo_assets.domain.scores import Floats

CONFIDENCE = 0.95


def pass_rates(rows: Sequence[dict], decoding: str) -> dict[str, float]:
    """Pass rate of each task, in [0, 1], over its rollouts that have a verdict; tasks without any are absent."""
    scores: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        score = correctness(row)
        if row["decoding"] == decoding and score is not None:
            scores[row["task_key"]].append(score)
    return {task_key: float(np.mean(values)) for task_key, values in scores.items()}


def task_rates(rows: Sequence[dict]) -> list[dict]:
    """Pass rates of each task of an evaluation, rows of `schemas.TASK_RATES` in the order of the tasks.

    Raises:
        ValueError: when a task has no rollout with a verdict in one of the two ways of decoding.
    """
    tasks = dict.fromkeys(row["task_key"] for row in rows)
    rates = {decoding: pass_rates(rows, decoding) for decoding in ("sampled", "greedy")}
    for decoding, found in rates.items():
        if not found or len(found) < len(tasks):
            missing = len(tasks) - len(found)
            raise ValueError(f"{missing} of {len(tasks)} tasks have no {decoding} rollout with a verdict")
    return [{"task_key": task, **{decoding: found[task] for decoding, found in rates.items()}} for task in tasks]


def pass_rate_interval(rates: Sequence[float]) -> tuple[float, float]:
    """95% interval of the mean of task pass rates, by Agresti and Coull's rule of two more passes and two more fails.

    The tasks are the independent units (Miller, arXiv 2411.00640), so it is the four extra tasks that keep the
    interval honest near 0 and 1, and give it a width where all tasks agree (The American Statistician 52:2, 1998).
    """
    low, high = zconfint([*rates, 0.0, 0.0, 1.0, 1.0], alpha=1 - CONFIDENCE)
    return max(0.0, float(low)), min(1.0, float(high))


def measure(rows: Sequence[dict]) -> dict:
    """Pass rates, sampled and greedy, and the KL to the base policy, from the rollouts of one evaluation.

    Returns:
        `tasks`, `pass_rate`, `pass_rate_interval`, the same of `greedy_pass_rate`, `no_verdict` (rollouts),
        and `kl_to_base` in nats a completion, the mean over the sampled rollouts.

    Raises:
        ValueError: when a task has no rollout with a verdict in one of the two ways of decoding.
    """
    by_task = task_rates(rows)
    measured: dict = {"tasks": len(by_task)}
    for decoding, name in (("sampled", "pass_rate"), ("greedy", "greedy_pass_rate")):
        rates = [row[decoding] for row in by_task]
        measured[name] = float(np.mean(rates))
        measured[f"{name}_interval"] = list(pass_rate_interval(rates))
    divergences = [row["kl_to_base"] for row in rows if row["decoding"] == "sampled"]
    measured["kl_to_base"] = float(np.mean(divergences))
    measured["no_verdict"] = sum(row["outcome"] == "no_verdict" for row in rows)
    return measured


def gain(baseline: Floats, trained: Floats) -> dict:
    """Mean pass rate over the trained variants, and its gain over the untrained policy, paired by task.

    Args:
        baseline: pass rates before training, shape (tasks,).
        trained: those of the variants, shape (variants, tasks).

    Returns:
        `mean` over variants and tasks with its `interval`; `gain` with its `gain_interval`, Student's t
        over the tasks' differences; the variants are taken as given, so it says nothing of new seeds.

    Raises:
        ValueError: when there are fewer than two tasks.
    """
    if len(baseline) < 2:
        raise ValueError(f"{len(baseline)} dev tasks have no spread to take an interval from: the suite needs more")
    by_task = trained.mean(axis=0)
    differences = by_task - baseline
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1) * error)
    change = float(differences.mean())
    return {
        "mean": float(by_task.mean()),
        "interval": list(pass_rate_interval(by_task.tolist())),
        "gain": change,
        "gain_interval": [change - reach, change + reach],
    }
