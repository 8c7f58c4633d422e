"""Which configurations may win: all their runs are there, sound, comparable, and had enough informative prompts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.specs import Selection

Row = Mapping[str, Any]
NUMBERS = ("dev_pass_rate", "kl_to_base", "informative_prompts_training", "informative_prompts_final_step")
"""What a complete row must have as finite numbers."""


def check_table(rows: Sequence[Row], axes: Mapping[str, Sequence], rule: Selection) -> list[Any]:
    """Refuse a table on which no choice can stand; returns the seeds that are compared.

    Args:
        axes: the declared values of each axis.

    Raises:
        FailedWork: naming what is wrong: a number that is missing, runs that were not trained alike or under
            different versions of one reward, a seed that stands twice, equal checkpoints under different seeds, a
            value of an axis without any complete variant, or fewer than two seeds.
    """
    complete = [row for row in rows if row["status"] == "complete"]
    for row in complete:
        for name in NUMBERS:
            if row[name] is None or not np.isfinite(row[name]):
                raise FailedWork(f"{row['variant']}: {name} is {row[name]}, no finite number")
    _check_alike(complete)
    _check_runs(complete, rule)
    seeds = list(axes["seed"])
    for axis, values in axes.items():
        there = {row[axis] for row in complete}
        absent = [value for value in values if value not in there]
        if absent and complete and not rule.allow_missing:
            raise FailedWork(
                f"no variant with {axis} {absent[0]} is complete, so the matrix cannot be compared\n"
                "  make it, or take it from the matrix, or say selection: {allow_missing: true}"
            )
        if axis == "seed" and complete:
            seeds = [value for value in values if value in there]
    if complete and len(seeds) < 2:
        raise FailedWork("one seed: without a second one nothing tells a configuration from the luck of its run")
    return seeds


def _check_alike(complete: Sequence[Row]) -> None:
    first: dict[str, Row] = {}
    for row in complete:
        other = first.setdefault(row["reward"], row)
        if row["reward_version"] != other["reward_version"]:
            raise FailedWork(
                f"mixed versions of {row['reward']}: {row['variant']} was trained under {row['reward_version']}, "
                f"{other['variant']} under {other['reward_version']}"
            )
    for row in complete[1:]:
        if row["recipe"] != complete[0]["recipe"]:
            raise FailedWork(
                f"mixed recipes: {row['variant']} was trained or sampled under other settings, beside the axes, than "
                f"{complete[0]['variant']}"
            )


def _check_runs(complete: Sequence[Row], rule: Selection) -> None:
    runs: dict[tuple, str] = {}
    weights: dict[str, Row] = {}
    for row in complete:
        run = (row["configuration"], row["seed"])
        if run in runs:
            raise FailedWork(f"seed {row['seed']} stands twice for {row['configuration']}")
        runs[run] = row["variant"]
        if barred(row, rule):
            continue  # what was never moved by its training is equal under all seeds
        other = weights.setdefault(row["weights"], row)
        if other["seed"] != row["seed"]:
            raise FailedWork(
                f"{other['variant']} and {row['variant']} are the same checkpoint under different seeds "
                f"(sha256 {row['weights'][:12]}): the seed did not reach the training"
            )


def barred(row: Row, rule: Selection) -> str | None:
    """Why a variant may not be selected, None where it may."""
    if row["status"] != "complete":
        return f"{row['status']}: {row['reason']}"
    if row["dev_troubles"]:
        return f"its dev verdicts cannot be trusted: {row['dev_troubles'][0]}"
    informative = row[f"informative_prompts_{rule.informative_scope}"]
    if informative < rule.min_informative_prompts:
        return (
            f"{informative} distinct informative prompts (scope {rule.informative_scope}), "
            f"fewer than {rule.min_informative_prompts}"
        )
    return None


def eligible(rows: Sequence[Row], seeds: Sequence[Any], rule: Selection) -> tuple[dict[str, list[Row]], dict[str, str]]:
    """The configurations that may win with their runs in the order of the seeds, and for the others the reason.

    A configuration without one of its runs is not compared: leaving out what failed would flatter it.
    """
    by_configuration: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["variant"]):
        if row["seed"] in seeds:
            by_configuration[row["configuration"]].append(row)
    found, passed_over = {}, {}
    for name, runs in sorted(by_configuration.items()):
        reasons = [f"seed {row['seed']}: {reason}" for row in runs if (reason := barred(row, rule))]
        if reasons:
            passed_over[name] = reasons[0]
        elif len(runs) < len(seeds):
            passed_over[name] = f"{len(runs)} of {len(seeds)} seeds are in the table"
        else:
            found[name] = sorted(runs, key=lambda row: list(seeds).index(row["seed"]))
    return found, passed_over
