"""What every trainer is given and what it writes, and the trainers by name."""

import json
import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from pydantic import TypeAdapter

from grpo_assets.domain.ageing import ageing
from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.health import OUT_OF_TIME, judge_step, passes_only_what_is_shown
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.rewards import score
from grpo_assets.domain.rollouts import correctness, groups, is_informative, rollout_of
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime.rewards import function_at

WRITTEN = ("metrics.jsonl", "groups.jsonl", "last_rollouts.jsonl")
"""What a training writes beside the policy."""

Report = Callable[[dict], None]
"""Called with the metrics of each step."""


@dataclass(frozen=True)
class Training:
    """One variant to train.

    Attributes:
        prompts: task rows in visiting order, one a group, `variant.visits` of them.
        base_fingerprint: of the base policy; the adapter carries it.
        predicted: the pilot's chance of an informative group, for each visit.
        reward_path: of the function that is trained on, as `module:function`.
    """

    variant: Variant
    sampling: Sampling
    prompts: Sequence[dict]
    base_fingerprint: str
    predicted: Sequence[float]
    reward_path: str

    @property
    def groups_per_step(self) -> int:
        """Prompts visited by one step; fewer where groups are larger, so that the rollouts are the same."""
        return self.variant.recipe.rollouts_per_step // self.variant.group_size


TRAINING = TypeAdapter(Training)
"""Writes a training as JSON for a process of its own, and reads it there."""


class TrainingLog:
    """Writes `metrics.jsonl`, a line a step, `groups.jsonl`, a line a group, and `last_rollouts.jsonl`.

    Everything about rewards is computed from the raw rollouts, never taken from a trainer's own metrics.
    """

    def __init__(self, training: Training, folder: Path, report: Report, after_step: int = 0) -> None:
        """A log in a folder; a training that is taken up again after a step drops the lines of later ones."""
        self._training, self._folder, self._report = training, folder, report
        self._reward = function_at(training.reward_path)
        self.steps = after_step
        _keep_until(folder / "metrics.jsonl", after_step)
        visited = _keep_until(folder / "groups.jsonl", after_step)
        self._rollouts = sum(len(group["rewards"]) for group in visited)
        self._tokens = sum(group["tokens"] for group in visited)
        self._started = perf_counter()

    def scored(self, rows: list[dict]) -> list[float | None]:
        """The rewards of rollouts, None where there is no verdict; they are written into the rows too."""
        name = self._training.variant.reward
        rewards = [score(self._reward, rollout_of(row)) for row in rows]
        for row, reward in zip(rows, rewards, strict=True):
            row["rewards"] = {name: reward}
        return rewards

    def step(
        self,
        rows: list[dict],
        loss: float,
        kl: float | None,
        gradient_norm: float,
        cost: dict[str, float] | None = None,
    ) -> None:
        """Write the lines of a step and report it.

        Args:
            rows: its scored rollouts, those of one group next to each other, in the order of the curriculum.
            kl: to the base policy, in nats as the trainer estimates it; None where the trainer does not.
            cost: further numbers of the trainer's, such as seconds by phase.

        Raises:
            FailedWork: when a number is not finite, the KL shows a wrong reference, or too few rollouts have
                a verdict.
        """
        self.steps += 1
        seconds, self._started = perf_counter() - self._started, perf_counter()
        self._rollouts += len(rows)
        self._tokens += sum(row["token_count"] for row in rows)
        by_group = [self._group_line(group) for group in groups(rows)]
        values = [[reward for reward in group["rewards"] if reward is not None] for group in by_group]
        line = {
            "step": self.steps,
            "reward_mean": _mean([value for group in values for value in group]),
            "reward_spread": _mean([float(np.std(group)) for group in values if group]),
            "groups": len(by_group),
            "informative_groups": sum(is_informative(group["rewards"]) for group in by_group),
            "informative_prompts": len({group["task_key"] for group in by_group if group["informative"]}),
            "no_verdict": sum(row["outcome"] == "no_verdict" for row in rows),
            "timeouts": sum(row["reason"] in OUT_OF_TIME for row in rows),
            "hacks": sum(passes_only_what_is_shown(row) for row in rows),
            "truncated": sum(row["truncated"] for row in rows),
            "kl": kl,
            "loss": loss,
            "gradient_norm": gradient_norm,
            "tokens": self._tokens,
            "rollouts": self._rollouts,
            "seconds": round(seconds, 4),
            "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            **(cost or {}),
        }
        judge_step(line, len(rows))
        _append(self._folder / "groups.jsonl", by_group)
        _append(self._folder / "metrics.jsonl", [line])
        _write(self._folder / "last_rollouts.jsonl", rows)
        self._report(line)

    def _group_line(self, group: list[dict]) -> dict:
        name = self._training.variant.reward
        return {
            "step": self.steps,
            "task_id": group[0]["task_id"],
            "task_key": group[0]["task_key"],
            "rewards": [row["rewards"][name] for row in group],
            "informative": is_informative([correctness(row) for row in group]),
            "tokens": sum(row["token_count"] for row in group),
            "truncated": sum(row["truncated"] for row in group),
        }

    def facts(self) -> dict:
        """The training in numbers, for the manifest.

        Raises:
            FailedWork: when it visited other prompts than planned, or fewer.
        """
        visited = _lines(self._folder / "groups.jsonl")
        _check_order(self._training, visited)
        last = [group for group in visited if group["step"] == self.steps]
        rewards = [reward for group in last for reward in group["rewards"] if reward is not None]
        truncated = sum(group["truncated"] for group in visited)
        return {
            "steps": self.steps,
            "rollouts": self._rollouts,
            "tokens": self._tokens,
            "groups": len(visited),
            "informative_groups": sum(is_informative(group["rewards"]) for group in visited),
            "ageing": ageing(self._training.predicted, [is_informative(group["rewards"]) for group in visited]),
            "truncated_share": round(truncated / self._rollouts, 4),
            "last_reward_mean": _mean(rewards),
            "informative_prompts_training": len({g["task_key"] for g in visited if g["informative"]}),
            "informative_prompts_final_step": len({g["task_key"] for g in last if g["informative"]}),
        }


def _check_order(training: Training, visited: list[dict]) -> None:
    """Compare what training visited with the curriculum, position by position."""
    planned = [task["task_id"] for task in training.prompts]
    seen = [group["task_id"] for group in visited]
    for position, (wanted, found) in enumerate(zip(planned, seen, strict=False)):
        if wanted != found:
            raise FailedWork(f"training visited {found} at position {position}, where the curriculum has {wanted}")
    if len(seen) != len(planned):
        raise FailedWork(f"training visited {len(seen)} of {len(planned)} prompts of the curriculum")


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def _write(file: Path, rows: Sequence[dict]) -> None:
    """Replace a file at once, so that a training that is killed leaves the old or the new one."""
    incoming = file.with_suffix(".incoming")
    incoming.write_text("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows), encoding="utf-8")
    incoming.replace(file)


def _append(file: Path, rows: Sequence[dict]) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def _keep_until(file: Path, step: int) -> list[dict]:
    """Drop the lines of later steps, and a last line that was only half written."""
    whole = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []
    kept = [row for row in map(json.loads, whole) if row["step"] <= step]
    _write(file, kept)
    return kept


def train(trainer: str, training: Training, base: Path, folder: Path, state: Path, report: Report) -> dict:
    """Train one variant from a base policy into an empty folder; returns the facts for its manifest.

    Args:
        trainer: `smoke` or `trl`.
        state: folder of what a training that was stopped goes on from; it belongs to this training alone.

    Raises:
        FailedWork: when the training diverges or falls short of its plan.
    """
    if trainer == "smoke":
        from grpo_assets.runtime.smoke import train_smoke

        return train_smoke(training, base, folder, report)
    from grpo_assets.runtime.trl_training import train_trl  # loads torch

    return train_trl(training, base, folder, state, report)
