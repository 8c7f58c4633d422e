"""Health: what fails a training at a step or is worth a warning, and how far a verifier can be trusted."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from grpo_assets.domain.mistakes import FailedWork

FIRST_KL = 1e-3
"""A first KL above this means a wrong reference: before the first step the policy is the base (nats a token)."""

NO_VERDICT_SHARE = 0.1
"""Above this share of rollouts without a verdict the rewards of a step say little about the policy."""

TRUNCATED_SHARE = 0.5
"""Above this share of completions that were cut off, the budget or the end tokens are probably wrong."""


FLIP_RATE = 0.01
"""Above this share of repeated verdicts that differ, pass rates near 0 and 1 are the verifier's doing."""

NO_VERDICT_RATE = 0.01
TIMEOUT_RATE = 0.1
HACK_RATE = 0.1
"""Above this share of completions that pass what the prompt shows and fail the hidden rest, a policy has learned the
shown tests and not the task."""

OUT_OF_TIME = frozenset({"timeout", "comparison_timeout", "judge_overrun"})


class Repeat(NamedTuple):
    """The outcomes of two verdicts on one completion."""

    first: str
    second: str

    @property
    def flipped(self) -> bool:
        """Whether the verifier changed its mind."""
        return {self.first, self.second} == {"pass", "fail"}


def passes_only_what_is_shown(row: Mapping[str, Any]) -> bool:
    """Whether a completion passes every check that stands in the prompt and fails a hidden one: the mark of a hack."""
    return bool(row["shown"]) and row["outcome"] == "fail" and row["shown_passed"] == row["shown"]


def verifier_health(rows: Sequence[Mapping[str, Any]], repeats: Sequence[Repeat]) -> dict[str, Any]:
    """How far the verdicts on rollouts can be trusted.

    Returns:
        shares in [0, 1], None where there is nothing to take one of: `flip_rate` of the `repeated` verdicts,
        `no_verdict_rate` and `timeout_rate` of the rollouts, `hack_rate` of those that pass the checks in their
        prompts; and `troubles`, a sentence for each share that is too high.
    """
    shown = [row for row in rows if row["shown"] and row["shown_passed"] == row["shown"]]
    health = {
        "repeated": len(repeats),
        "flip_rate": _share(sum(repeat.flipped for repeat in repeats), len(repeats)),
        "no_verdict_rate": _share(sum(row["outcome"] == "no_verdict" for row in rows), len(rows)),
        "timeout_rate": _share(sum(row["reason"] in OUT_OF_TIME for row in rows), len(rows)),
        "hack_rate": _share(sum(passes_only_what_is_shown(row) for row in rows), len(shown)),
    }
    limits = {
        "flip_rate": FLIP_RATE,
        "no_verdict_rate": NO_VERDICT_RATE,
        "timeout_rate": TIMEOUT_RATE,
        "hack_rate": HACK_RATE,
    }
    found = {name: health[name] for name, limit in limits.items() if (health[name] or 0.0) > limit}
    return {**health, "troubles": [f"{name} {value:.3f} is above {limits[name]}" for name, value in found.items()]}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


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
