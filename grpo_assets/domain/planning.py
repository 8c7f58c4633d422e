"""The plan of an experiment: what each variant will visit and how much of it can teach, before anything is trained."""

from collections.abc import Mapping, Sequence

import numpy as np

from grpo_assets.domain.curriculum import curriculum, visiting_order
from grpo_assets.domain.experiments import Variant, variants
from grpo_assets.domain.specs import Experiment


def plan(experiment: Experiment, statistics: Mapping[str, Sequence[dict]]) -> dict:
    """The budget of the matrix and the expected informative groups of each variant.

    Args:
        statistics: rows of `schemas.STATISTICS` by the name of the reward.

    Returns:
        `variants`, one a cell of the matrix in its order, and `totals`; counts are rollouts, prompts or groups,
        `coverage` is the share of the training prompts that the variant visits.
    """
    orders: dict[tuple, list[dict]] = {}
    rows = []
    for slug, variant in variants(experiment).items():
        key = (variant.reward, variant.curriculum, variant.group_size, variant.seed)
        if key not in orders:
            orders[key] = curriculum(statistics[variant.reward], variant.curriculum, variant.group_size, variant.seed)
        rows.append({"variant": slug, **_visits(variant, orders[key])})
    prompts = {len(rows) for rows in statistics.values()}
    return {
        "variants": rows,
        "totals": {
            "variants": len(rows),
            "training_prompts": max(prompts),
            "pilot_rollouts": max(prompts) * experiment.pilot.samples_per_prompt,
            "training_rollouts": sum(row["rollouts"] for row in rows),
            "expected_informative_groups": round(sum(row["expected_informative_groups"] for row in rows), 2),
        },
    }


def _visits(variant: Variant, order: list[dict]) -> dict:
    visits = variant.visits
    chances = np.array([prompt["p_informative"] for prompt in visiting_order(order, visits)])
    return {
        "rollouts": visits * variant.group_size,
        "groups": visits,
        "distinct_prompts": min(visits, len(order)),
        "coverage": round(min(visits / len(order), 1.0), 4),
        "expected_informative_groups": round(float(chances.sum()), 2),
        "expected_informative_share": round(float(chances.mean()), 4),
    }
