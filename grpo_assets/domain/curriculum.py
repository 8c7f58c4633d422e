"""Curricula: the order in which the training prompts are visited, from pilot statistics.

A curriculum re-orders, it drops nothing: each is a permutation of all training prompts.
"""

from collections.abc import Callable, Sequence

from grpo_assets.domain.fingerprints import unit_interval
from grpo_assets.domain.informativeness import p_informative, value_counts

Order = Callable[[Sequence[dict], int], list[dict]]


def static(prompts: Sequence[dict], seed: int) -> list[dict]:
    """The original order of the suite."""
    return list(prompts)


def informative(prompts: Sequence[dict], seed: int) -> list[dict]:
    """Prompts whose group is most likely informative come first; ties go by task key."""
    return sorted(prompts, key=lambda prompt: (-round(prompt["p_informative"], 12), prompt["task_key"]))


def random(prompts: Sequence[dict], seed: int) -> list[dict]:
    """A seeded shuffle: the control that tells an order's effect from that of shuffling."""
    return sorted(prompts, key=lambda prompt: unit_interval("random curriculum", seed, prompt["task_key"]))


CURRICULA: dict[str, Order] = {"static": static, "informative": informative, "random": random}
SEEDED = {"random"}


def curriculum(statistics: Sequence[dict], mode: str, group_size: int, seed: int = 0) -> list[dict]:
    """The visiting order of all prompts of a scoring, rows of `schemas.CURRICULUM`.

    Args:
        statistics: rows of `schemas.STATISTICS` in the original order of the prompts.
        mode: a key of `CURRICULA`.
        group_size: the variant's own; the chance of an informative group depends on it.
    """
    chances = p_informative(value_counts(statistics), group_size).tolist()
    prompts = [
        {"task_id": row["task_id"], "task_key": row["task_key"], "p_informative": chance}
        for row, chance in zip(statistics, chances, strict=True)
    ]
    return [{"position": i, **prompt} for i, prompt in enumerate(CURRICULA[mode](prompts, seed))]


def visiting_order(curriculum_rows: Sequence[dict], visits: int) -> list[dict]:
    """The first `visits` prompts that training sees; a curriculum shorter than that starts again."""
    return [curriculum_rows[i % len(curriculum_rows)] for i in range(visits)]
