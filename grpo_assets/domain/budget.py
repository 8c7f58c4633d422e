"""The budget of an experiment: what it spends, and what to drop, in which order, so that it fits."""

from collections.abc import Mapping, Sequence
from typing import Any

from grpo_assets.domain.experiments import variants
from grpo_assets.domain.specs import Experiment


def budget_of(rows: Sequence[dict], pilot: Mapping[str, int], experiment: Experiment) -> dict[str, Any] | None:
    """What the experiment spends of its budget, and what to drop, in which order, so that it fits.

    Whole values of an axis are dropped, the last one first, so that what is left is still a matrix: seeds down to
    three, then betas, group sizes and axes of the recipe, then the other seeds; never a reward or a curriculum, which
    are what is asked.
    """
    if experiment.budget is None:
        return None
    cuts = []
    matrix = experiment
    left = list(rows)
    while (over := _over(left, pilot, experiment)) and (smaller := _dropped(matrix)):
        matrix, axis, value = smaller
        kept = set(variants(matrix))
        left = [row for row in left if row["variant"] in kept]
        cuts.append({"axis": axis, "value": value, "variants_left": len(left), **_spent(left, pilot)})
    return {
        "allowed": experiment.budget.model_dump(exclude_none=True),
        "spent": _spent(rows, pilot),
        "over": _over(rows, pilot, experiment),
        "cuts": cuts,
        "fits_after_cuts": not over,
    }


def _spent(rows: Sequence[dict], pilot: Mapping[str, int]) -> dict[str, Any]:
    """Rollouts with the pilot's; hours and money at the upper end of their range, None where they are not known."""
    hours, money = [row["hours"] for row in rows], [row["money"] for row in rows]
    return {
        "rollouts": pilot["rollouts"] + sum(row["rollouts"] for row in rows),
        "gpu_hours": None if None in hours else round(sum(pair[1] for pair in hours), 4),
        "money": None if None in money else round(sum(pair[1] for pair in money), 2),
    }


def _over(rows: Sequence[dict], pilot: Mapping[str, int], experiment: Experiment) -> list[str]:
    """A sentence for each bound of the budget that is passed, or of which it is not known whether it is."""
    assert experiment.budget is not None
    spent, found = _spent(rows, pilot), []
    for name in ("rollouts", "gpu_hours", "money"):
        bound = getattr(experiment.budget, name)
        if bound is None:
            continue
        if spent[name] is None:
            found.append(f"{name}: not known, since no training of this policy was measured on this hardware")
        elif spent[name] > bound:
            found.append(f"{name}: {spent[name]:,} are planned, {bound:,} are allowed")
    return found


def _dropped(experiment: Experiment) -> tuple[Experiment, str, Any] | None:
    """The experiment with one value less on the axis that is dropped from next, that axis and that value."""
    extra = sorted(experiment.matrix.model_extra or {})
    for axis, least in [("seeds", 3), ("kl_betas", 1), ("group_sizes", 1), *((key, 1) for key in extra), ("seeds", 1)]:
        values = getattr(experiment.matrix, axis)
        if len(values) > least:
            matrix = experiment.matrix.model_copy(update={axis: values[:-1]})
            return experiment.model_copy(update={"matrix": matrix}), axis, values[-1]
    return None
