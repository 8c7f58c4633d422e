"""Rollouts, groups, advantages, and the one definition of an informative prompt."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from grpo_assets.domain.verdicts import Verdict

INFORMATIVE_SPREAD = 1e-6
ADVANTAGE_EPSILON = 1e-4


@dataclass(frozen=True)
class Rollout:
    """One completion of one prompt with its verdict: all that a reward may look at."""

    prompt: str
    answer: str
    completion: str
    token_count: int
    truncated: bool
    verdict: Verdict


OWN = tuple(field.name for field in fields(Rollout) if field.name != "verdict")
OF_VERDICT = tuple(field.name for field in fields(Verdict))
"""The columns of a rollouts table that a rollout is made of: its own, and those of its verdict."""


def rollout_of(row: dict) -> Rollout:
    """The rollout in a row of a rollouts table."""
    verdict = Verdict(*(row[name] for name in OF_VERDICT))
    return Rollout(**{name: row[name] for name in OWN}, verdict=verdict)


def rollouts_of(columns: Mapping[str, Sequence]) -> list[Rollout]:
    """The rollouts in columns of a rollouts table."""
    verdicts = map(Verdict, *(columns[name] for name in OF_VERDICT))
    return list(map(Rollout, *(columns[name] for name in OWN), verdicts))


def correctness(row: dict) -> float | None:
    """1.0 for a pass, 0.0 for a fail, None without a verdict."""
    return None if row["outcome"] == "no_verdict" else float(row["outcome"] == "pass")


def is_informative(rewards: Sequence[float | None]) -> bool:
    """Whether a group teaches: two or more scored rollouts whose rewards differ by more than 1e-6.

    Args:
        rewards: the raw rewards of one group as training sees them, None where there was no verdict.
    """
    scored = [reward for reward in rewards if reward is not None]
    return len(scored) >= 2 and max(scored) - min(scored) > INFORMATIVE_SPREAD


def advantages(rewards: Sequence[float | None]) -> np.ndarray:
    """Group-relative advantages, shape (group size,): (reward - mean) / (std + 1e-4), 0 where unscored.

    The standard deviation has Bessel's correction, as in TRL's `scale_rewards="group"` (arXiv 2402.03300).
    A group that is not informative has exact zeros, where float rounding would leave noise.
    """
    result = np.zeros(len(rewards))
    if is_informative(rewards):
        scored = np.array([reward is not None for reward in rewards])
        values = np.array([reward for reward in rewards if reward is not None])
        result[scored] = (values - values.mean()) / (values.std(ddof=1) + ADVANTAGE_EPSILON)
    return result


def groups(rows: Iterable[dict]) -> list[list[dict]]:
    """Rows of rollouts cut into groups, in order; a group starts with the rollout of index 0."""
    cut: list[list[dict]] = []
    for row in rows:
        if row["rollout_index"] == 0:
            cut.append([])
        cut[-1].append(row)
    return cut


COUNTED = ("task_id", "task_key", "rollout_index", "outcome", "prompt_tokens", "token_count")
"""The columns of a rollouts table that the statistics of its prompts need beside the rewards."""


def prompt_statistics(rows: Iterable[dict], rewards: Sequence[float | None]) -> list[dict]:
    """One row a prompt from its pilot rollouts, in the order in which the prompts first appear.

    Args:
        rows: rollouts with what is `COUNTED`, those of one prompt next to each other.
        rewards: the reward of each rollout, None where there was no verdict.

    Raises:
        ValueError: when there is not one reward a rollout.

    Returns:
        rows of `schemas.STATISTICS`; rates, means and variances are None where nothing was scored.
    """
    rows = list(rows)
    if len(rows) != len(rewards):
        raise ValueError(f"{len(rewards)} rewards for {len(rows)} rollouts")
    starts = [place for place, row in enumerate(rows) if row["rollout_index"] == 0]
    statistics = []
    for position, (start, end) in enumerate(zip(starts, [*starts[1:], len(rows)], strict=True)):
        group, group_rewards = rows[start:end], rewards[start:end]
        counts = sorted(Counter(reward for reward in group_rewards if reward is not None).items())
        passes = sum(row["outcome"] == "pass" for row in group)
        scored = sum(count for _, count in counts)
        mean = sum(value * count for value, count in counts) / scored if scored else None
        statistics.append(
            {
                "position": position,
                "task_id": group[0]["task_id"],
                "task_key": group[0]["task_key"],
                "rollouts": len(group),
                "scored": scored,
                "passes": passes,
                "pass_rate": passes / scored if scored else None,
                "reward_mean": mean,
                "reward_variance": _variance(counts, mean),
                "informative": is_informative([value for value, _ in counts]),
                "reward_values": [value for value, _ in counts],
                "reward_counts": [count for _, count in counts],
                "prompt_tokens": group[0]["prompt_tokens"],
                "completion_tokens": sum(row["token_count"] for row in group) / len(group),
                "longest_completion": max(row["token_count"] for row in group),
            }
        )
    return statistics


def _variance(counts: Sequence[tuple[float, int]], mean: float | None) -> float | None:
    """The population variance of values with their counts."""
    if mean is None:
        return None
    return sum(count * (value - mean) ** 2 for value, count in counts) / sum(count for _, count in counts)
