"""Rollouts of a policy: completions with the verdicts on them, as rows of `schemas.ROLLOUTS`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from pyarrow.parquet import ParquetFile

from grpo_assets.domain.fingerprints import unit_interval
from grpo_assets.domain.health import Repeat
from grpo_assets.domain.rewards import Reward, score
from grpo_assets.domain.rollouts import COUNTED, OF_VERDICT, OWN, groups, rollouts_of
from grpo_assets.runtime.verifier.verifying import repeated_verdicts, verdicts

Decoding = Literal["sampled", "greedy"]


class Completion(NamedTuple):
    """What a policy said to a prompt.

    Attributes:
        token_count: tokens of the completion, the end token included.
        truncated: the budget ended before the completion did.
        prompt_tokens: of the prompt as the policy was given it; None in training.
        kl_to_base: KL divergence from the base policy over this completion, in nats; None in training.
    """

    text: str
    token_count: int
    truncated: bool
    kl_to_base: float | None = None
    prompt_tokens: int | None = None


class Policy(Protocol):
    """Anything that completes prompts."""

    def complete(self, tasks: Sequence[dict], samples: int, decoding: Decoding, seed: str) -> list[list[Completion]]:
        """Completions of each task, shape (tasks, samples).

        Args:
            seed: names the stream of random numbers; the completions of a task depend on it, on the task and on
                the sample's index alone, not on the other tasks.
        """
        ...


def roll_out(policy: Policy, tasks: Sequence[dict], samples: int, decoding: Decoding, seed: str) -> list[dict]:
    """Rollouts of each task, those of one task next to each other."""
    said = policy.complete(tasks, samples, decoding, seed)
    return judged([(t, c, i) for t, group in zip(tasks, said, strict=True) for i, c in enumerate(group)], decoding)


def evaluate(policy: Policy, tasks: Sequence[dict], samples: int) -> list[dict]:
    """Rollouts for an evaluation: `samples` sampled ones of each task, and one greedy."""
    sampled = roll_out(policy, tasks, samples, "sampled", "evaluation")
    return sampled + roll_out(policy, tasks, 1, "greedy", "evaluation")


def verified_anew(rows: Sequence[dict], tasks: Sequence[dict]) -> list[dict]:
    """Stored rollouts with the verdicts that the verifier gives now; the completions are as they were."""
    by_key = {task["task_key"]: task for task in tasks}
    found = verdicts([(by_key[row["task_key"]], row["completion"], row["truncated"]) for row in rows])
    return [{**row, **asdict(verdict)} for row, verdict in zip(rows, found, strict=True)]


AT_A_TIME = 10_000


def rescored(file: Path, reward: Reward) -> tuple[list[dict], list[float | None]]:
    """What `prompt_statistics` takes of stored rollouts; their texts are read a batch at a time and not kept."""
    rows: list[dict] = []
    rewards: list[float | None] = []
    names = sorted({*OWN, *OF_VERDICT, *COUNTED})
    for batch in ParquetFile(file).iter_batches(AT_A_TIME, columns=names):
        columns = {name: batch.column(name).to_pylist() for name in names}
        rewards += [score(reward, rollout) for rollout in rollouts_of(columns)]
        rows += [dict(zip(COUNTED, row, strict=True)) for row in zip(*(columns[n] for n in COUNTED), strict=True)]
    return rows, rewards


def judged(
    completions: Sequence[tuple[dict, Completion, int]], decoding: Decoding, step: int | None = None
) -> list[dict]:
    """The rows of completions, with their verdicts.

    Args:
        completions: task, completion and its place in the group.
    """
    found = verdicts([(task, completion.text, completion.truncated) for task, completion, _ in completions])
    return [
        {
            "step": step,
            "task_id": task["task_id"],
            "task_key": task["task_key"],
            "rollout_index": index,
            "decoding": decoding,
            "prompt": task["prompt"],
            "messages": None,
            "answer": task["answer"],
            "completion": completion.text,
            "prompt_tokens": completion.prompt_tokens,
            "token_count": completion.token_count,
            "truncated": completion.truncated,
            "finish_reason": "length" if completion.truncated else "end_token",
            **asdict(verdict),
            "rewards": None,
            "kl_to_base": completion.kl_to_base,
        }
        for (task, completion, index), verdict in zip(completions, found, strict=True)
    ]


REPEATED_SHARE = 0.1


def verified_again(rows: Sequence[dict], tasks: Sequence[dict]) -> tuple[list[dict], list[Repeat]]:
    """Rollouts whose verdicts were repeated, in the groups where a wrong one would show, and on a tenth of the others.

    Groups whose outcomes differ are repeated whole, so that no prompt is informative only because the verifier wavers.

    Returns:
        the rows, those that got another outcome the second time without a verdict; and each repeat.
    """
    by_key = {task["task_key"]: task for task in tasks}
    chosen: list[int] = []
    start = 0
    for group in groups(rows):
        differs = len({row["outcome"] for row in group}) > 1
        for place, row in enumerate(group, start):
            drawn = unit_interval("repeat", row["task_key"], row["rollout_index"]) < REPEATED_SHARE
            if (differs or drawn) and by_key[row["task_key"]]["verification"] != "exact":
                chosen.append(place)
        start += len(group)
    asks = [(by_key[rows[i]["task_key"]], rows[i]["completion"], rows[i]["truncated"]) for i in chosen]
    again, repeats = list(rows), []
    for i, verdict in zip(chosen, repeated_verdicts(asks), strict=True):
        repeats.append(Repeat(rows[i]["outcome"], verdict.outcome))
        if repeats[-1].flipped:
            again[i] = {**rows[i], "outcome": "no_verdict", "reason": "flipped"}
    return again, repeats
