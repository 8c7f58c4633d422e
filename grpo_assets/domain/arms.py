"""The arms of a plan, a curriculum each, and what the pilot of the informative one costs and gains."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grpo_assets.domain.experiments import curricula_of
from grpo_assets.domain.specs import Experiment


def arms_of(rows: Sequence[dict], pilot: Mapping[str, int], experiment: Experiment) -> list[dict[str, Any]]:
    """One entry a curriculum: what its variants spend without and with the pilot, and what they expect of it."""
    found = []
    for mode in curricula_of(experiment):
        own = [row for row in rows if row["curriculum"] == mode]
        uses_pilot = mode == "informative"
        found.append(
            {
                "curriculum": mode,
                "control": any(row["control"] for row in own),
                "variants": len(own),
                "coverage": [min(row["coverage"] for row in own), max(row["coverage"] for row in own)],
                "rollouts": sum(row["rollouts"] for row in own),
                "rollouts_with_pilot": sum(row["rollouts"] for row in own) + pilot["rollouts"] * uses_pilot,
                "generated_tokens": sum(row["generated_tokens"] for row in own),
                "generated_tokens_with_pilot": sum(row["generated_tokens"] for row in own)
                + pilot["tokens"] * uses_pilot,
                "expected_informative_groups": round(sum(row["expected_informative_groups"] for row in own), 2),
            }
        )
    return found


def pays_after(rows: Sequence[dict], axes: Sequence[str], pilot: Mapping[str, int]) -> int | None:
    """After how many informative variants the pilot has paid for itself; None where it never does.

    It costs the informative groups that its rollouts would have given in the random order, the static one where there
    is none, and gains what the informative order has more.
    """
    baseline = "random" if any(row["curriculum"] == "random" for row in rows) else "static"
    pairs = matched_variants(rows, axes, "curriculum", "informative", baseline)
    if not pairs:
        return None
    gain = np.mean([a["expected_informative_groups"] - b["expected_informative_groups"] for a, b in pairs])
    per_rollout = np.mean([b["expected_informative_groups"] / b["rollouts"] for _, b in pairs])
    cost = pilot["rollouts"] * per_rollout
    return int(np.ceil(cost / gain)) if gain > 1e-9 else None


def matched_variants(
    rows: Sequence[Mapping[str, Any]], axes: Sequence[str], axis: str, value: Any, other: Any
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pairs of variants with two values of one axis that differ in nothing else.

    Args:
        axes: names of all axes, each a key of the rows.
    """
    shared = [name for name in axes if name != axis]

    def cell(row: Mapping[str, Any]) -> tuple:
        return tuple(row[name] for name in shared)

    counterparts = {cell(row): row for row in rows if row[axis] == other}
    ours = [row for row in rows if row[axis] == value]
    return [(row, counterparts[cell(row)]) for row in ours if cell(row) in counterparts]
