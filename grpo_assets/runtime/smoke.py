"""The smoke trainer: GRPO on a tabular policy with numpy alone, so that a whole matrix takes seconds.

Every axis of the matrix bites as it does in the real trainer: group-relative advantages, a policy-gradient step,
the KL to the start policy, the curriculum's order and a seed.
"""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.health import warnings
from grpo_assets.domain.rollouts import advantages
from grpo_assets.runtime.rollouts import judged
from grpo_assets.runtime.tabular import (
    TabularPolicy,
    base_logits,
    load,
    sampled_chances,
    save,
    texts_of,
)
from grpo_assets.runtime.training import Report, Training, TrainingLog


def train_smoke(training: Training, base: Path, folder: Path, report: Report) -> dict:
    """Train the weights of each family; writes `policy.json` and the files of the training log.

    The loss of a step is -mean(advantage * log chance) + beta * mean KL(policy || start policy) over its rollouts,
    and its gradient is exact for a policy whose top-k and top-p cut nothing.
    """
    variant, recipe = training.variant, training.variant.recipe
    log = TrainingLog(training, folder, report)
    start = load(base, training.sampling)
    width = max(len(texts_of(task)) for task in training.prompts)
    families = sorted({task["family"] for task in training.prompts})
    weights = {family: np.zeros(width) + _padded(start.weights.get(family), width) for family in families}
    generator = np.random.default_rng(seed_of("smoke training", variant.seed))

    for step in range(recipe.steps):
        policy = TabularPolicy(training.sampling, weights)
        first = step * training.groups_per_step
        rows, loss, divergences = [], 0.0, []
        gradient = {family: np.zeros(width) for family in families}
        for task in training.prompts[first : first + training.groups_per_step]:
            chances, texts = policy.chances(task), texts_of(task)
            chosen = generator.choice(len(texts), size=variant.group_size, p=chances)
            said = [(task, policy.completion(texts[choice]), index) for index, choice in enumerate(chosen)]
            group = judged(said, "sampled", step + 1)
            advantage = advantages(log.scored(group))
            rows += group
            loss -= float(np.sum(advantage * np.log(chances[chosen]))) / recipe.rollouts_per_step
            ascent = np.bincount(chosen, weights=advantage, minlength=len(texts)) - advantage.sum() * chances
            divergence, descent = _kl_gradient(chances, sampled_chances(base_logits(task), training.sampling))
            divergences.append(divergence)
            share = variant.group_size / recipe.rollouts_per_step
            gradient[task["family"]][: len(texts)] += (
                ascent / recipe.rollouts_per_step - variant.kl_beta * share * descent
            ) / training.sampling.temperature
        for family in families:
            weights[family] = weights[family] + recipe.learning_rate * gradient[family]
        divergence = float(np.mean(divergences))
        norm = math.hypot(*(float(g) for of_family in gradient.values() for g in of_family))
        log.step(rows, loss + variant.kl_beta * divergence, divergence, norm)

    save(weights, folder)
    facts = log.facts()
    return {**facts, "warnings": warnings(facts)}


def _padded(weights: npt.NDArray[np.float64] | None, width: int) -> npt.NDArray[np.float64]:
    known = np.zeros(0) if weights is None else weights
    return np.pad(known, (0, width - len(known)))


def _kl_gradient(now: npt.NDArray[np.float64], start: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
    """KL(now || start) in nats, and its gradient by the logits of `now`, shape (candidates,)."""
    said = now > 0
    log_ratio = np.zeros(len(now))
    log_ratio[said] = np.log(now[said]) - np.log(start[said])
    divergence = float(np.sum(now * log_ratio))
    return divergence, now * (log_ratio - divergence)
