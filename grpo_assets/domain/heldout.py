"""What the held-out tasks say, once, of the selected checkpoint and of the contrasts that were declared before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grpo_assets.domain.evaluation import task_rates
from grpo_assets.domain.final_test import holm, mcnemar, paired_comparison, pass_at_k, seed_level
from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.rollouts import correctness
from grpo_assets.domain.scores import Floats

UNTRAINED = "untrained"


@dataclass(frozen=True)
class Outcomes:
    """What one policy did on the held-out tasks, each of shape (tasks,).

    Attributes:
        samples, passes: sampled completions with a verdict, and those that passed.
        greedy: 1.0 where the greedy completion passed, else 0.0.
    """

    samples: npt.NDArray[np.int64]
    passes: npt.NDArray[np.int64]
    greedy: Floats

    @property
    def rates(self) -> Floats:
        """Pass rate of each task, in [0, 1]."""
        return self.passes / self.samples


def outcomes_of(rows: Sequence[dict]) -> Outcomes:
    """The outcomes in the rollouts of one evaluation, in the order of its tasks.

    Raises:
        ValueError: when a task has no rollout with a verdict in one of the two ways of decoding.
    """
    rates = task_rates(rows)
    places = {row["task_key"]: place for place, row in enumerate(rates)}
    samples, passes = np.zeros((2, len(rates)), dtype=np.int64)
    for row in rows:
        score = correctness(row)
        if row["decoding"] == "sampled" and score is not None:
            samples[places[row["task_key"]]] += 1
            passes[places[row["task_key"]]] += int(score)
    return Outcomes(samples, passes, np.array([row["greedy"] for row in rates]))


@dataclass(frozen=True)
class Contrast:
    """Two configurations with all their seeds: the selected one, and what it is compared with."""

    ours: Sequence[Outcomes]
    theirs: Sequence[Outcomes]


def final_results(
    untrained: Outcomes,
    selected: Outcomes,
    contrasts: Mapping[str, Contrast],
    clusters: Sequence[str],
    majority: Floats | None,
) -> dict[str, Any]:
    """The tests on the held-out tasks.

    Args:
        contrasts: by name, as they were declared before training.
        clusters: the near-duplicate cluster of each task.
        majority: 1.0 where the answer that the untrained policy gives most often is right, else 0.0; None for tasks
            whose completions have no answer to vote on.

    Returns:
        `policies`: pass rates, pass@k and greedy of both; `contrasts`: the selected checkpoint against the untrained
        policy, and each declared one over the mean of its seeds, with p values that Holm adjusted for all of them;
        `sharpening`: the same against the untrained policy's best guess, which sampling alone hides.
    """
    seed = seed_of("held-out", list(clusters))
    found = {UNTRAINED: paired_comparison(selected.rates, untrained.rates, clusters, seed)}
    if (selected.samples == 1).all() and (untrained.samples == 1).all():
        found[UNTRAINED]["mcnemar"] = mcnemar(selected.rates, untrained.rates)
    for name, contrast in contrasts.items():
        ours, theirs = (np.mean([run.rates for run in arm], axis=0) for arm in (contrast.ours, contrast.theirs))
        found[name] = paired_comparison(ours, theirs, clusters, seed)
        by_seed = [[float(run.rates.mean()) for run in arm] for arm in (contrast.ours, contrast.theirs)]
        found[name]["over_seeds"] = seed_level(*by_seed)
    adjusted = holm({name: contrast["p"] for name, contrast in found.items()})
    guesses = {"greedy": untrained.greedy} | ({} if majority is None else {"majority": majority})
    return {
        "policies": {
            name: {
                "pass_rate": float(policy.rates.mean()),
                "greedy_pass_rate": float(policy.greedy.mean()),
                "pass_at": pass_at_k(policy.samples, policy.passes, clusters, seed),
            }
            for name, policy in ((UNTRAINED, untrained), ("selected", selected))
        },
        "contrasts": {name: {**contrast, "p_holm": adjusted[name]} for name, contrast in found.items()},
        "sharpening": {
            **{
                f"selected greedy over untrained {name}": paired_comparison(selected.greedy, guess, clusters, seed)
                for name, guess in guesses.items()
            },
            "majority": None if majority is None else float(majority.mean()),
            "majority_reason": "programs have no answer to vote on" if majority is None else None,
        },
    }
