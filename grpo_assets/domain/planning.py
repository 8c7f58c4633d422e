"""The plan of an experiment: what each variant will visit, how much of it can teach, and what it costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grpo_assets.domain.arms import arms_of, pays_after
from grpo_assets.domain.budget import budget_of
from grpo_assets.domain.costs import (
    Load,
    Measured,
    Shape,
    flops,
    load_of,
    memory_bytes,
    seconds_by_default,
    seconds_by_measurement,
)
from grpo_assets.domain.curriculum import SEEDED, curriculum
from grpo_assets.domain.experiments import Variant, axis_values, is_control, variants
from grpo_assets.domain.informativeness import Expected, Prior, expected_groups, fit_prior, value_counts
from grpo_assets.domain.power import power_of
from grpo_assets.domain.specs import Experiment

LEAST_SHARE = 0.1
"""Below this expected share of informative groups most of a variant's rollouts teach nothing."""


@dataclass(frozen=True)
class Circumstances:
    """What a plan knows beside the experiment and its pilots.

    Attributes:
        sizes: tasks by split.
        max_completion: tokens that a completion may have.
        shape: of the base policy; None for one that is no language model.
        hardware: the kind of device, for its costs.
        base: fingerprint of the base policy.
        measured: trainings that were run.
        seed_deviation: of pass rates between seeds in earlier experiments; None where there were none.
    """

    sizes: Mapping[str, int]
    max_completion: int
    shape: Shape | None
    hardware: str
    base: str
    measured: Sequence[Measured] = field(default_factory=tuple)
    seed_deviation: float | None = None


@dataclass(frozen=True)
class _Scoring:
    """The statistics of one reward, by position, with what follows from them."""

    rows: Sequence[dict]
    counts: npt.NDArray[np.int64]
    prior: Prior
    correct: npt.NDArray[np.int64]
    correct_prior: Prior
    place: Mapping[str, int]


def plan(experiment: Experiment, statistics: Mapping[str, Sequence[dict]], around: Circumstances) -> dict[str, Any]:
    """The budget of the matrix, the expected informative groups and the cost of each variant, and its power.

    Args:
        statistics: rows of `schemas.STATISTICS` by the name of the reward.

    Returns:
        `variants`, one a cell of the matrix in its order, `arms`, `totals`, `power` and `budget`; counts are rollouts,
        prompts, tokens or groups, `coverage` is the share of the training prompts that a variant visits.
    """
    scorings = {reward: _scoring(rows) for reward, rows in statistics.items()}
    visited: dict[tuple, tuple] = {}
    rows = []
    cells = variants(experiment)
    for slug, variant in cells.items():
        scoring = scorings[variant.reward]
        seed = variant.seed if variant.curriculum in SEEDED else None
        key = (variant.reward, variant.curriculum, variant.group_size, seed, variant.visits)
        if key not in visited:
            visits = _visits(scoring, variant)
            expected = expected_groups(scoring.counts, visits, variant.group_size, scoring.prior)
            seen = load_of([row for row, times in zip(scoring.rows, visits, strict=True) if times])
            visited[key] = (visits, expected, _distinct(scoring, variant, visits, experiment), seen)
        rows.append(_variant_row(slug, variant, experiment, around, *visited[key]))
    pilot = _pilot(experiment, statistics)
    placed = [{**row, **cells[row["variant"]].axes(experiment)} for row in rows]
    content = {
        "variants": rows,
        "arms": arms_of(rows, pilot, experiment),
        "totals": {
            **_totals(rows, pilot),
            "pilot_pays_after": pays_after(placed, list(axis_values(experiment)), pilot),
        },
        "power": power_of(experiment, statistics, around.sizes, around.seed_deviation),
    }
    return {**content, "budget": budget_of(rows, pilot, experiment)}


def _scoring(rows: Sequence[dict]) -> _Scoring:
    counts = value_counts(rows)
    correct = np.array([[row["scored"] - row["passes"], row["passes"]] for row in rows], dtype=np.int64)
    place = {row["task_key"]: position for position, row in enumerate(rows)}
    return _Scoring(rows, counts, fit_prior(counts), correct, fit_prior(correct), place)


def _visits(scoring: _Scoring, variant: Variant, last: int | None = None) -> npt.NDArray[np.int64]:
    """How often each prompt is visited, by its position in the suite; in the `last` visits alone where given."""
    order = curriculum(scoring.rows, variant.curriculum, variant.group_size, variant.seed, scoring.prior)
    first = 0 if last is None else variant.visits - last
    position = np.arange(len(order))
    times = np.empty(len(order), dtype=np.int64)
    places = [scoring.place[row["task_key"]] for row in order]
    times[places] = (variant.visits - 1 - position) // len(order) - (first - 1 - position) // len(order)
    return times


def _distinct(scoring: _Scoring, variant: Variant, visits: npt.NDArray[np.int64], experiment: Experiment) -> Expected:
    """Distinct prompts expected to be informative by correctness over the scope of the selection's threshold."""
    if experiment.selection.informative_scope == "final_step":
        visits = _visits(scoring, variant, variant.recipe.rollouts_per_step // variant.group_size)
    once = np.minimum(visits, 1)
    return expected_groups(scoring.correct, once, variant.group_size, scoring.correct_prior)


def _variant_row(
    slug: str,
    variant: Variant,
    experiment: Experiment,
    around: Circumstances,
    visits: npt.NDArray[np.int64],
    expected: Expected,
    distinct: Expected,
    load: Load,
) -> dict[str, Any]:
    groups, rollouts = variant.visits, variant.visits * variant.group_size
    reached = int((visits > 0).sum())
    verdict, reason = _verdict(expected, distinct, groups, experiment)
    return {
        "variant": slug,
        "reward": variant.reward,
        "curriculum": variant.curriculum,
        "control": is_control(variant.curriculum, variant.reward, experiment),
        "rollouts": rollouts,
        "groups": groups,
        "distinct_prompts": reached,
        "coverage": round(reached / len(visits), 4),
        "expected_informative_groups": round(expected.groups, 2),
        "expected_interval": [round(bound, 2) for bound in expected.interval],
        "expected_informative_share": round(expected.groups / groups, 4),
        "expected_informative_prompts": round(distinct.groups, 2),
        "rollouts_per_informative_group": round(rollouts / expected.groups, 2) if expected.groups > 1e-9 else None,
        "generated_tokens": round(rollouts * load.completion),
        "trained_tokens": round(rollouts * (load.prompt + load.completion)),
        **_cost(variant, experiment, around, load),
        "verdict": verdict,
        "reason": reason,
    }


def _cost(variant: Variant, experiment: Experiment, around: Circumstances, load: Load) -> dict[str, Any]:
    """FLOPs, memory, hours and money; None where the policy is no language model and nothing has been measured."""
    trainer = experiment.trainer
    seconds = seconds_by_measurement(around.measured, variant, load, around.hardware, around.base, trainer)
    origin = "measured" if seconds else "stated defaults"
    if seconds is None and around.shape is not None:
        seconds = seconds_by_default(around.shape, variant, load, around.hardware)
    hours = None if seconds is None else [round(bound / 3600, 9) for bound in seconds]
    price = experiment.budget.price_per_hour if experiment.budget else None
    shape = around.shape
    return {
        "flops": None if shape is None else flops(shape, variant, load, recomputes=not _on_cpu(around.hardware)),
        "memory_bytes": None if shape is None else round(memory_bytes(shape, variant, load, around.max_completion)),
        "hours": hours,
        "hours_by": origin if hours else None,
        "money": [round(bound * price, 4) for bound in hours] if hours and price is not None else None,
    }


def _on_cpu(hardware: str) -> bool:
    return hardware.lower().startswith("cpu")


def _verdict(expected: Expected, distinct: Expected, groups: int, experiment: Experiment) -> tuple[str, str]:
    """Whether a variant is worth running: `run`, `risky` or `pointless`, with the reason."""
    needed = experiment.selection.min_informative_prompts
    if expected.interval[1] < 1:
        return "pointless", "no informative group is expected: every prompt always gets one reward, or nearly"
    if distinct.interval[1] < needed:
        return (
            "pointless",
            f"at most {distinct.interval[1]:.0f} informative prompts are expected, and the selection needs {needed}",
        )
    if distinct.interval[0] < needed:
        return (
            "risky",
            f"{distinct.interval[0]:.0f} to {distinct.interval[1]:.0f} informative prompts are expected, "
            f"and the selection needs {needed}",
        )
    if expected.groups < LEAST_SHARE * groups:
        return "risky", f"{expected.groups / groups:.0%} of its groups are expected to teach"
    return "run", f"{expected.groups / groups:.0%} of its groups are expected to teach"


def _pilot(experiment: Experiment, statistics: Mapping[str, Sequence[dict]]) -> dict[str, int]:
    """What the pilot of an experiment spends; all its rewards share it."""
    rows = max(statistics.values(), key=len)
    rollouts = sum(row["rollouts"] for row in rows)
    tokens = sum(row["rollouts"] * row["completion_tokens"] for row in rows)
    return {"prompts": len(rows), "rollouts": rollouts, "tokens": round(tokens)}


def _sum_of(rows: Sequence[dict], name: str) -> float | None:
    values = [row[name] for row in rows]
    return None if None in values else sum(values)


def _totals(rows: Sequence[dict], pilot: Mapping[str, int]) -> dict[str, Any]:
    hours = [row["hours"] for row in rows]
    verdicts = [row["verdict"] for row in rows]
    return {
        "variants": len(rows),
        "controls": sum(row["control"] for row in rows),
        "training_prompts": pilot["prompts"],
        "pilot_rollouts": pilot["rollouts"],
        "pilot_tokens": pilot["tokens"],
        "training_rollouts": sum(row["rollouts"] for row in rows),
        "generated_tokens": sum(row["generated_tokens"] for row in rows),
        "hours": [round(sum(pair[i] for pair in hours), 4) for i in (0, 1)] if None not in hours else None,
        "flops": _sum_of(rows, "flops"),
        "peak_memory_bytes": max((row["memory_bytes"] for row in rows if row["memory_bytes"]), default=None),
        "money": [round(sum(row["money"][i] for row in rows), 2) for i in (0, 1)] if rows[0]["money"] else None,
        "expected_informative_groups": round(sum(row["expected_informative_groups"] for row in rows), 2),
        **{verdict: verdicts.count(verdict) for verdict in ("run", "risky", "pointless")},
    }
