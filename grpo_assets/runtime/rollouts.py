"""Rollouts of a policy: completions with the verdicts on them, as rows of `schemas.ROLLOUTS`."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from grpo_assets.runtime.verifier.exact import verify

Decoding = Literal["sampled", "greedy"]


class Completion(NamedTuple):
    """What a policy said to a prompt.

    Attributes:
        token_count: tokens of the completion, the end token included.
        truncated: the budget ended before the completion did.
        kl_to_base: KL divergence from the base policy over this completion, in nats; None in training.
    """

    text: str
    token_count: int
    truncated: bool
    kl_to_base: float | None = None


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
    completions = policy.complete(tasks, samples, decoding, seed)
    return [
        judged(task, completion, index, decoding)
        for task, group in zip(tasks, completions, strict=True)
        for index, completion in enumerate(group)
    ]


def evaluate(policy: Policy, tasks: Sequence[dict], samples: int) -> list[dict]:
    """Rollouts for an evaluation: `samples` sampled ones of each task, and one greedy."""
    sampled = roll_out(policy, tasks, samples, "sampled", "evaluation")
    return sampled + roll_out(policy, tasks, 1, "greedy", "evaluation")


def judged(task: dict, completion: Completion, index: int, decoding: Decoding, step: int | None = None) -> dict:
    """The row of a completion, with its verdict."""
    verdict = verify(task["answer"], completion.text, completion.truncated)
    return {
        "step": step,
        "task_id": task["task_id"],
        "task_key": task["task_key"],
        "rollout_index": index,
        "decoding": decoding,
        "prompt": task["prompt"],
        "messages": None,
        "answer": task["answer"],
        "completion": completion.text,
        "token_count": completion.token_count,
        "truncated": completion.truncated,
        "finish_reason": "length" if completion.truncated else "end_token",
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "checks_passed": verdict.checks_passed,
        "checks": verdict.checks,
        "rewards": None,
        "kl_to_base": completion.kl_to_base,
    }
