"""The smallest effects that a matrix, a selection and a held-out test can see: before anything is spent."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import norm
from statsmodels.stats.power import TTestPower

from grpo_assets.domain.experiments import curricula_of, recipe_axes, variants
from grpo_assets.domain.specs import Experiment, Matrix

LEVEL = 0.05
POWER = 0.8
Z = 1.959964 + 0.841621
"""Standard errors between nothing and an effect that is found with 80% power at 5%, two-sided."""
SEED_DEVIATION = 0.03
"""Of a variant's pass rate between seeds, where nothing has been measured."""
TASK_VARIANCE = 1 / 9
"""Of the difference between two policies from task to task (Miller, arXiv 2411.00640)."""
RUN_TASK_VARIANCE = 0.03
"""Of the difference between two runs from one base policy, from task to task; measured on `tiny`."""
EXACT_UP_TO = 12
"""Matched pairs up to which all sign flips are enumerated; beyond, Student's t has the same power."""
SIMULATIONS = 1000
SELECTIONS = 4000
LEAD = 0.05
"""The lead of a better configuration whose chance of being found is stated."""


@lru_cache
def detectable_in_deviations(pairs: int) -> float | None:
    """The mean difference, in standard deviations of one matched pair, that an exact sign-flip test finds.

    With 80% power at 5%, two-sided; None where no difference can: with five pairs the least p is 2/32.
    """
    if 2 / 2**pairs > LEVEL:
        return None
    if pairs > EXACT_UP_TO:
        return float(TTestPower().solve_power(nobs=pairs, alpha=LEVEL, power=POWER))
    noise = np.random.default_rng(pairs).normal(size=(SIMULATIONS, pairs))
    signs = np.array(list(product((1, -1), repeat=pairs)))
    low, high = 0.0, 8.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if _power(noise + middle, signs) >= POWER else (middle, high)
    return high


def _power(differences: np.ndarray, signs: np.ndarray) -> float:
    """Share of the rows on which a sign-flip test of the mean rejects."""
    flipped = np.abs(differences @ signs.T)
    observed = np.abs(differences.sum(axis=1, keepdims=True))
    return float((((flipped >= observed - 1e-12).mean(axis=1)) <= LEVEL).mean())


def matched_pairs(experiment: Experiment, curricula: Sequence[str]) -> dict[str, int]:
    """For each axis of the matrix with several values, how many pairs of variants differ in nothing else."""
    axes = {axis: getattr(experiment.matrix, axis) for axis in Matrix.model_fields} | recipe_axes(experiment)
    sizes = {axis: len(curricula if axis == "curricula" else values) for axis, values in axes.items()}
    variants = int(np.prod(list(sizes.values())))
    return {axis: variants // size for axis, size in sizes.items() if size > 1 and axis != "seeds"}


def detectable_by_axis(
    pairs: int, dev_tasks: int, samples: int, seed_deviation: float, sampling: float
) -> float | None:
    """The smallest main effect of an axis on the dev pass rate, over its matched pairs; None where none can be seen.

    It is about these dev tasks; whether it holds on others is the held-out test's question.

    Args:
        samples: completions of each dev task.
        sampling: mean of p (1 - p) over tasks, the variance of one completion.
    """
    units = detectable_in_deviations(pairs)
    variance = 2 * seed_deviation**2 + 2 * sampling / (dev_tasks * samples)
    return None if units is None else units * variance**0.5


def selection_error(
    seeds: int, dev_tasks: int, samples: int, seed_deviation: float, sampling: float, task_variance: float
) -> float:
    """Standard error of the difference between two configurations' mean dev pass rates.

    Args:
        task_variance: of the difference between their means over seeds, from task to task.
    """
    by_task, by_sample = task_variance / dev_tasks, 2 * sampling / (dev_tasks * seeds * samples)
    return (2 * seed_deviation**2 / seeds + by_task + by_sample) ** 0.5


def chance_of_selection(
    effect: float,
    configurations: int,
    seeds: int,
    dev_tasks: int,
    samples: int,
    seed_deviation: float,
    sampling: float,
    run_variance: float = RUN_TASK_VARIANCE,
) -> float:
    """How often the rule of selection finds the one configuration that is better than all others, alone ahead.

    All others are equal; ahead is further than the standard error of the rule, whose variance between runs holds what
    tasks and samples add to a run too.

    Args:
        effect: by how much it is better, as a pass rate.
        run_variance: of the difference between two runs, from task to task.
    """
    noise = selection_error(seeds, dev_tasks, samples, seed_deviation, sampling, run_variance / seeds)
    shared = 2 * seed_deviation**2 / seeds  # the rest of the noise counts twice in the rule's error
    freedom = configurations * (seeds - 1)
    rng = np.random.default_rng(configurations * 1000 + seeds)
    luckiest = norm.ppf(rng.uniform(size=SELECTIONS) ** (1 / (configurations - 1)))  # of the others
    ahead = effect + (rng.normal(size=SELECTIONS) - luckiest) * noise / 2**0.5
    pooled = rng.chisquare(freedom, size=SELECTIONS) / freedom
    error = np.sqrt(noise**2 - shared + noise**2 * pooled)
    return float((ahead > error).mean())


def detectable_by_selection(
    configurations: int, seeds: int, dev_tasks: int, samples: int, seed_deviation: float, sampling: float
) -> float | None:
    """The lead that the rule of selection finds with 80% power; None without two configurations and two seeds."""
    if configurations < 2 or seeds < 2:
        return None
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        chance = chance_of_selection(middle, configurations, seeds, dev_tasks, samples, seed_deviation, sampling)
        low, high = (low, middle) if chance >= POWER else (middle, high)
    return high


def detectable_held_out(tasks: int, samples: int, sampling: float) -> float:
    """The smallest gain of one checkpoint over the untrained policy that the held-out tasks show."""
    return Z * ((TASK_VARIANCE + 2 * sampling / samples) / tasks) ** 0.5


def power_of(
    experiment: Experiment, statistics: Mapping[str, Sequence[dict]], sizes: Mapping[str, int], history: float | None
) -> dict[str, Any]:
    """The smallest differences in pass rate that the matrix, the selection and the held-out test can see.

    Each at the standard deviation between seeds of earlier experiments, else the stated one, at half and at twice it;
    an axis whose value is None cannot answer its question at all.
    """
    rows = max(statistics.values(), key=len)
    spread = [
        row["passes"] * (row["scored"] - row["passes"]) / (row["scored"] * (row["scored"] - 1))
        for row in rows
        if row["scored"] > 1
    ]
    sampling = float(np.mean(spread)) if spread else 0.25
    seeds, samples = len(experiment.matrix.seeds), experiment.evaluation.samples_per_task
    deviation = history or experiment.seed_deviation
    found: dict[str, Any] = {
        "seed_deviation": deviation,
        "seed_deviation_by": "history" if history else "the experiment",
        "dev_tasks": sizes["dev"],
        "axes": {},
    }
    deviations = [factor * deviation for factor in (0.5, 1.0, 2.0)]
    for axis, pairs in matched_pairs(experiment, curricula_of(experiment)).items():
        effects = [detectable_by_axis(pairs, sizes["dev"], samples, sd, sampling) for sd in deviations]
        found["axes"][axis] = {"matched_pairs": pairs, "effects": [_rounded(effect) for effect in effects]}
    configurations = len(variants(experiment)) // seeds
    given = [(configurations, seeds, sizes["dev"], samples, sd, sampling) for sd in deviations]
    found["selection"] = [_rounded(detectable_by_selection(*numbers)) for numbers in given]
    chooses = configurations > 1 and seeds > 1
    found["selection_finds"] = [_rounded(chance_of_selection(LEAD, *numbers)) if chooses else None for numbers in given]
    found["heldout"] = _rounded(detectable_held_out(sizes["heldout"], samples, sampling)) if sizes["heldout"] else None
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
