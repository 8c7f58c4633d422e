"""The tabular policy: a categorical distribution over the candidate completions of each task.

Its chances of a right answer are spread evenly over [0, 1], one a task, by the task's content.
What training changes is one weight for each candidate position of a family of tasks, so that it reaches tasks
that were never trained on.
Here a token is a character.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grpo_assets.domain.fingerprints import seed_of, unit_interval
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime.rollouts import Completion, Decoding

FILE = "policy.json"
Weights = Mapping[str, npt.NDArray[np.float64]]


def build(folder: Path) -> None:
    """Write the untrained policy."""
    save({}, folder)


def save(weights: Weights, folder: Path) -> None:
    """Write a policy; `weights` maps a family to an array of shape (candidate positions,)."""
    content = {"weights": {family: values.tolist() for family, values in sorted(weights.items())}}
    (folder / FILE).write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")


def load(folder: Path, sampling: Sampling) -> "TabularPolicy":
    """Read a policy.

    Raises:
        FileNotFoundError: when the folder holds none.
    """
    content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return TabularPolicy(sampling, {family: np.array(w) for family, w in content["weights"].items()})


@dataclass(frozen=True)
class TabularPolicy:
    """A policy over candidates; `weights` is empty for the untrained one."""

    sampling: Sampling
    weights: Weights = field(default_factory=dict)

    def complete(self, tasks: Sequence[dict], samples: int, decoding: Decoding, seed: str) -> list[list[Completion]]:
        """See `rollouts.Policy`."""
        completions = []
        for task in tasks:
            chances, texts = self.chances(task), texts_of(task)
            if decoding == "greedy":
                chosen = [int(np.argmax(chances))] * samples
            else:
                generator = np.random.default_rng(seed_of(seed, task["task_key"]))
                chosen = [int(np.searchsorted(np.cumsum(chances), u)) for u in generator.random(samples)]
            divergence = self.kl_to_base(task)
            said = [self.completion(texts[min(index, len(texts) - 1)], divergence) for index in chosen]
            completions.append([completion._replace(prompt_tokens=len(task["prompt"])) for completion in said])
        return completions

    def chances(self, task: dict) -> npt.NDArray[np.float64]:
        """Chance of each candidate as sampled, shape (candidates,); the right answer is the first."""
        logits = base_logits(task)
        weights = self.weights.get(task["family"])
        if weights is not None:
            logits = logits + weights[: len(logits)]
        return sampled_chances(logits, self.sampling)

    def kl_to_base(self, task: dict) -> float:
        """KL divergence from the untrained policy on one task, in nats."""
        now, base = self.chances(task), sampled_chances(base_logits(task), self.sampling)
        said = now > 0
        with np.errstate(divide="ignore"):  # infinite where the untrained policy would never say it
            return float(np.sum(now[said] * (np.log(now[said]) - np.log(base[said]))))

    def completion(self, text: str, kl_to_base: float | None = None) -> Completion:
        """A candidate as a completion, cut to the budget; the end counts as one more token."""
        budget = self.sampling.max_completion_tokens
        truncated = len(text) + 1 > budget
        return Completion(text[:budget], min(len(text) + 1, budget), truncated, kl_to_base)


def texts_of(task: dict) -> list[str]:
    """What the policy may say to a task: the right answer, then the wrong candidates.

    Raises:
        UserMistake: when the task has no wrong candidate.
    """
    if not task["candidates"]:
        raise UserMistake(
            f"task {task['task_id']}: candidates: none\n"
            "  a tabular policy needs wrong completions to choose from: name their field in the suite's `fields`"
        )
    return [task["answer"], *task["candidates"]]


def base_logits(task: dict) -> npt.NDArray[np.float64]:
    """Logits of the untrained policy, shape (candidates,): the right answer has a chance that the task decides."""
    wrong = len(texts_of(task)) - 1
    right = np.clip(unit_interval("pass chance", task["task_key"]), 1e-3, 1 - 1e-3)
    return np.log(np.array([right, *[(1 - right) / wrong] * wrong]))


def sampled_chances(logits: npt.NDArray[np.float64], sampling: Sampling) -> npt.NDArray[np.float64]:
    """Chances after temperature, then top-k, then top-p, shape as the logits."""
    scaled = logits / sampling.temperature
    chances = np.exp(scaled - scaled.max())
    order = np.argsort(-chances, kind="stable")
    if sampling.top_k:
        chances[order[sampling.top_k :]] = 0.0
    chances /= chances.sum()
    before = np.cumsum(chances[order]) - chances[order]
    chances[order[before >= sampling.top_p]] = 0.0
    return chances / chances.sum()
