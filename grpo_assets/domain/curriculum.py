"""Curricula: the order in which the training prompts are visited, from pilot statistics.

A curriculum re-orders, it drops nothing: each is a permutation of all training prompts.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from grpo_assets.domain.fingerprints import unit_interval
from grpo_assets.domain.informativeness import Prior, chances, fit_prior, unbiased, value_counts

FLOOR_EVERY = 20
"""Of so many visits the informative order gives one to a prompt drawn evenly from the rest: pilots age, and what looks
hopeless now may teach later."""

Order = Callable[[Sequence[dict], int], list[dict]]


def static(prompts: Sequence[dict], seed: int) -> list[dict]:
    """The original order of the suite; all seeds share it, so their variance is a lower bound."""
    return list(prompts)


def informative(prompts: Sequence[dict], seed: int) -> list[dict]:
    """Prompts whose group is most likely informative come first, but for the floor.

    Ties go to the larger standard deviation, of which there is more to learn, then by task key.
    """
    chance, doubt = (
        np.round([prompt[name] for prompt in prompts], 12).tolist() for name in ("p_informative", "p_informative_sd")
    )
    keys = [prompt["task_key"] for prompt in prompts]
    placed: set[int] = set()

    def untaken(places: list[int]) -> Iterator[int]:
        return (place for place in places if place not in placed)

    best = untaken(sorted(range(len(prompts)), key=lambda i: (-chance[i], -doubt[i], keys[i])))
    drawn = untaken(sorted(range(len(prompts)), key=lambda i: keys[i][::-1]))  # a hash from its end: even, and its own
    order = []
    for position in range(len(prompts)):
        place = next(drawn if position % FLOOR_EVERY == FLOOR_EVERY - 1 else best)
        placed.add(place)
        order.append(prompts[place])
    return order


def random(prompts: Sequence[dict], seed: int) -> list[dict]:
    """A seeded shuffle: the control that tells an order's effect from that of shuffling.

    Where the budget ends before the prompts do, its first visits are a random subset of the same size.
    """
    return sorted(prompts, key=lambda prompt: unit_interval("random curriculum", seed, prompt["task_key"]))


CURRICULA: dict[str, Order] = {"static": static, "informative": informative, "random": random}
SEEDED = {"random"}


def curriculum(
    statistics: Sequence[dict], mode: str, group_size: int, seed: int = 0, prior: Prior | None = None
) -> list[dict]:
    """The visiting order of all prompts of a scoring, rows of `schemas.CURRICULUM`.

    Args:
        statistics: rows of `schemas.STATISTICS` in the original order of the prompts.
        mode: a key of `CURRICULA`.
        group_size: the variant's own; the chance of an informative group depends on it.
        prior: that of the scoring, where it has been fitted already.
    """
    counts = value_counts(statistics)
    mean, deviation = chances(counts, group_size, prior or fit_prior(counts))
    estimates = unbiased(counts, group_size)
    prompts = [
        {
            "task_id": row["task_id"],
            "task_key": row["task_key"],
            "p_informative": chance,
            "p_informative_sd": doubt,
            "unbiased": None if np.isnan(estimate) else estimate,
        }
        for row, chance, doubt, estimate in zip(
            statistics, mean.tolist(), deviation.tolist(), estimates.tolist(), strict=True
        )
    ]
    return [{"position": i, **prompt} for i, prompt in enumerate(CURRICULA[mode](prompts, seed))]


def visiting_order(curriculum_rows: Sequence[dict], visits: int) -> list[dict]:
    """The first `visits` prompts that training sees; a curriculum shorter than that starts again."""
    return [curriculum_rows[i % len(curriculum_rows)] for i in range(visits)]
