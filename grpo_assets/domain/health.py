"""The health of a training: what fails a variant at a step, and what is only worth a warning."""

import math
from collections.abc import Mapping
from typing import Any

from grpo_assets.domain.mistakes import FailedWork

FIRST_KL = 1e-3
"""A first KL above this means a wrong reference: before the first step the policy is the base (nats a token)."""

NO_VERDICT_SHARE = 0.1
"""Above this share of rollouts without a verdict the rewards of a step say little about the policy."""

TRUNCATED_SHARE = 0.5
"""Above this share of completions that were cut off, the budget or the end tokens are probably wrong."""


def judge_step(line: Mapping[str, Any], rollouts: int) -> None:
    """Look at the metrics of one step.

    Args:
        line: a line of `metrics.jsonl`.

    Raises:
        FailedWork: naming the step, the number and what it means.
    """
    step = line["step"]
    for name in ("loss", "kl", "gradient_norm"):
        value = line[name]
        if value is not None and not math.isfinite(value):
            raise FailedWork(f"step {step}: {name} is {value}; training has diverged")
    if step == 1 and line["kl"] is not None and abs(line["kl"]) > FIRST_KL:
        raise FailedWork(f"step 1: kl is {line['kl']:.3g} before anything was trained; the reference is a wrong one")
    if line["no_verdict"] > NO_VERDICT_SHARE * rollouts:
        raise FailedWork(
            f"step {step}: {line['no_verdict']} of {rollouts} rollouts have no verdict, "
            f"more than {NO_VERDICT_SHARE:.0%}; see their reasons in last_rollouts.jsonl"
        )


def warnings(facts: Mapping[str, Any]) -> list[str]:
    """What in a finished training a person should know before trusting it."""
    found = []
    if facts["truncated_share"] > TRUNCATED_SHARE:
        found.append(f"{facts['truncated_share']:.0%} of the completions were cut off")
    return found
