"""What every trainer is given and what it writes, and the trainers by name."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.rewards import REWARDS, score
from grpo_assets.domain.rollouts import correctness, groups, is_informative, rollout_of
from grpo_assets.domain.specs import Recipe, Sampling


@dataclass(frozen=True)
class Training:
    """One variant to train.

    Attributes:
        prompts: task rows in visiting order, one a group, `steps * rollouts_per_step / group_size` of them.
    """

    variant: Variant
    recipe: Recipe
    sampling: Sampling
    prompts: Sequence[dict]

    @property
    def groups_per_step(self) -> int:
        """Prompts visited by one step; fewer where groups are larger, so that the rollouts are the same."""
        return self.recipe.rollouts_per_step // self.variant.group_size


class TrainingLog:
    """Writes `metrics.jsonl`, a line a step, and at the end `last_rollouts.jsonl`.

    Everything about rewards is computed from the raw rollouts, never taken from a trainer's own metrics.
    """

    def __init__(self, training: Training, folder: Path, clock: Callable[[], float] = perf_counter) -> None:
        """A log of one training in a folder; `clock` gives seconds."""
        self._reward = training.variant.reward
        self._folder, self._clock, self._started = folder, clock, clock()
        self._last: list[dict] = []
        self._steps = self._rollouts = self._tokens = 0
        self._informative: set[str] = set()

    def scored(self, rows: list[dict]) -> list[float | None]:
        """The rewards of rollouts, None where there is no verdict; they are written into the rows too."""
        rewards = [score(REWARDS[self._reward], rollout_of(row)) for row in rows]
        for row, reward in zip(rows, rewards, strict=True):
            row["rewards"] = {self._reward: reward}
        return rewards

    def step(self, rows: list[dict], loss: float, kl: float | None, gradient_norm: float) -> None:
        """Write the line of a step.

        Args:
            rows: its scored rollouts, those of one group next to each other.
            kl: to the base policy, in nats as the trainer estimates it; None where the trainer does not.

        Raises:
            FailedWork: when a number is not finite.
        """
        number = self._steps + 1
        for name, value in (("loss", loss), ("kl", kl), ("gradient_norm", gradient_norm)):
            if value is not None and not math.isfinite(value):
                raise FailedWork(f"step {number}: {name} is {value}; training has diverged")
        rewards = [[row["rewards"][self._reward] for row in group] for group in groups(rows)]
        values = [[reward for reward in group if reward is not None] for group in rewards]
        if not any(values):
            raise FailedWork(f"step {number}: none of the {len(rows)} rollouts has a verdict")
        correct = _informative(rows)

        seconds, self._started = self._clock() - self._started, self._clock()
        self._steps, self._last = number, rows
        self._rollouts += len(rows)
        self._tokens += sum(row["token_count"] for row in rows)
        self._informative |= correct
        line = {
            "step": number,
            "reward_mean": float(np.mean([value for group in values for value in group])),
            "reward_spread": float(np.mean([np.std(group) for group in values if group])),
            "groups": len(rewards),
            "informative_groups": sum(map(is_informative, rewards)),
            "informative_prompts": len(correct),
            "no_verdict": sum(row["outcome"] == "no_verdict" for row in rows),
            "truncated": sum(row["truncated"] for row in rows),
            "kl": kl,
            "loss": loss,
            "gradient_norm": gradient_norm,
            "tokens": self._tokens,
            "rollouts": self._rollouts,
            "seconds": round(seconds, 4),
        }
        with (self._folder / "metrics.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, allow_nan=False) + "\n")

    def finish(self) -> dict:
        """Write the last rollouts; returns the facts of the training for the manifest.

        Raises:
            FailedWork: when no step was taken.
        """
        if not self._last:
            raise FailedWork("training took no step")
        with (self._folder / "last_rollouts.jsonl").open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row, allow_nan=False) + "\n" for row in self._last)
        rewards = [row["rewards"][self._reward] for row in self._last]
        return {
            "steps": self._steps,
            "rollouts": self._rollouts,
            "tokens": self._tokens,
            "last_reward_mean": float(np.mean([reward for reward in rewards if reward is not None])),
            "informative_prompts_training": len(self._informative),
            "informative_prompts_final_step": len(_informative(self._last)),
        }


def _informative(rows: list[dict]) -> set[str]:
    """Keys of the tasks with a group that is informative by correctness, whatever the reward."""
    return {group[0]["task_key"] for group in groups(rows) if is_informative([correctness(row) for row in group])}


def train(trainer: str, training: Training, base: Path, folder: Path) -> dict:
    """Train one variant from a base policy into an empty folder; returns the facts for its manifest.

    Args:
        trainer: `smoke` or `trl`.

    Raises:
        FailedWork: when the training diverges or falls short of its plan.
    """
    if trainer == "smoke":
        from grpo_assets.runtime.smoke import train_smoke

        return train_smoke(training, base, folder)
    from grpo_assets.runtime.trl_training import train_trl  # loads torch

    return train_trl(training, base, folder)
