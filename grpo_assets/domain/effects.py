"""What helps: the main effect of each axis over matched variants, and how the axes go together.

Matched variants differ in one axis alone, so that what else there is in a variant, its seed included, cancels.
The ranking of variants cannot answer this: its first is the luckiest of many.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.stats import t

from grpo_assets.domain.arms import matched_variants
from grpo_assets.domain.final_test import holm, least_p, sign_flip_p
from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.power import EXACT_UP_TO, LEVEL
from grpo_assets.domain.scores import Floats

Row = Mapping[str, Any]
SHOWN = 10
"""The most values of an axis that a picture can tell apart."""


def axis_effects(rows: Sequence[Row], axes: Mapping[str, Sequence]) -> list[dict[str, Any]]:
    """For each value of an axis but the first: its effect on the dev pass rate against the first, over matched pairs.

    Args:
        rows: the variants of the experiment table; pairs with one that is not complete are left out.
        axes: the declared values of each axis.

    Returns:
        rows with `axis`, `value`, `against`, `pairs`, `effect` (mean difference in dev pass rate), `p` (sign-flip, two
        sided), `p_holm` (over all rows), `interval` (95%), and `reason` where there is no interval.
    """
    complete = [row for row in rows if row["status"] == "complete"]
    found = []
    for axis, (first, *others) in axes.items():
        having = {value: [row for row in complete if row[axis] == value] for value in (first, *others)}
        for value in others if axis != "seed" else []:
            if pairs := matched_variants([*having[first], *having[value]], list(axes), axis, first, value):
                differences = np.array([theirs["dev_pass_rate"] - ours["dev_pass_rate"] for ours, theirs in pairs])
                named = {"axis": axis, "value": value, "against": first, "pairs": len(pairs)}
                found.append({**named, "effect": float(differences.mean()), **_tested(differences, f"{axis} {value}")})
    adjusted = holm({str(place): row["p"] for place, row in enumerate(found)})
    return [{**row, "p_holm": p} for row, p in zip(found, adjusted.values(), strict=True)]


def _tested(differences: Floats, name: str) -> dict[str, Any]:
    pairs = len(differences)
    p = sign_flip_p(differences, np.ones(pairs), seed_of("effect", name))
    if least_p(pairs) > LEVEL:
        reason = f"with {pairs} matched pairs the least p is {least_p(pairs):.2g}"
        return {"p": p, "interval": None, "reason": reason}
    return {"p": p, "interval": list(sign_flip_interval(differences)), "reason": None}


def sign_flip_interval(differences: Floats) -> tuple[float, float]:
    """The 95% interval of a mean difference: all that an exact sign-flip test does not reject, or Student's t.

    Exact for up to `power.EXACT_UP_TO` pairs; with more the two agree.
    """
    pairs, middle = len(differences), float(differences.mean())
    if pairs > EXACT_UP_TO:
        reach = float(t.ppf(1 - LEVEL / 2, pairs - 1) * differences.std(ddof=1) / np.sqrt(pairs))
        return middle - reach, middle + reach
    signs = np.array(list(product((1, -1), repeat=pairs)))
    width = 4 * float(np.abs(differences - middle).max()) + 1e-9
    bounds = []
    for side in (-1, 1):
        inside, outside = middle, middle + side * width
        for _ in range(50):
            between = (inside + outside) / 2
            shifted = differences - between
            held = (np.abs(signs @ shifted) >= abs(shifted.sum()) - 1e-12).mean() > LEVEL
            inside, outside = (between, outside) if held else (inside, between)
        bounds.append(inside)
    return bounds[0], bounds[1]


def interactions(rows: Sequence[Row], axes: Mapping[str, Sequence]) -> list[dict[str, Any]]:
    """For each two axes with several values, seeds and axes of more than ten aside: the mean of each of their cells.

    Returns:
        `axes` (two names), `values` (of both) and `means` as rows by the first axis; None where a cell is empty.
    """
    complete = [row for row in rows if row["status"] == "complete"]
    several = [axis for axis, values in axes.items() if axis != "seed" and 1 < len(values) <= SHOWN]
    found = []
    for first, second in combinations(several, 2):
        cells: dict[tuple, list[float]] = {}
        for row in complete:
            cells.setdefault((row[first], row[second]), []).append(row["dev_pass_rate"])
        means = [[_mean(cells.get((a, b), [])) for b in axes[second]] for a in axes[first]]
        found.append({"axes": [first, second], "values": [list(axes[first]), list(axes[second])], "means": means})
    return found


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
