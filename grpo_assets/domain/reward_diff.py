"""What another reward, or another version of one, changes on stored pilot rollouts: scores, informativeness, order."""

from collections.abc import Sequence
from typing import Any

from grpo_assets.domain.curriculum import curriculum


def statistics_diff(old: Sequence[dict], new: Sequence[dict], group_sizes: Sequence[int]) -> dict[str, Any]:
    """Compare the statistics of the same rollouts under two rewards, prompt by prompt.

    Args:
        old, new: rows of `schemas.STATISTICS` of the same prompts in the same order.
        group_sizes: at which the informative order is compared.

    Returns:
        `prompts` (their number), and as task ids `scores` (some rollout is rewarded otherwise), `informative` (the
        pilot's group became or ceased to be informative) and `ranks`, by group size the places in the informative
        order that moved, each as task id, old and new place, the largest moves first.

    Raises:
        ValueError: when the prompts are not the same.
    """
    if [row["task_key"] for row in old] != [row["task_key"] for row in new]:
        raise ValueError("the two statistics are not of the same prompts")
    pairs = list(zip(old, new, strict=True))
    return {
        "prompts": len(pairs),
        "scores": [before["task_id"] for before, after in pairs if _rewards(before) != _rewards(after)],
        "informative": [before["task_id"] for before, after in pairs if before["informative"] != after["informative"]],
        "ranks": {size: _moved(old, new, size) for size in group_sizes},
    }


def _rewards(row: dict) -> list[tuple[float, int]]:
    return list(zip(row["reward_values"], row["reward_counts"], strict=True))


def _moved(old: Sequence[dict], new: Sequence[dict], group_size: int) -> list[tuple[str, int, int]]:
    places = [_places(rows, group_size) for rows in (old, new)]
    moved = [(task, place, places[1][task]) for task, place in places[0].items() if places[1][task] != place]
    return sorted(moved, key=lambda move: (-abs(move[1] - move[2]), move[1]))


def _places(rows: Sequence[dict], group_size: int) -> dict[str, int]:
    order = curriculum(rows, "informative", group_size)
    return {row["task_id"]: row["position"] for row in order}
