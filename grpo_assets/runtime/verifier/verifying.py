"""Verdicts on completions: the one way in, for every kind of task."""

import atexit
import logging
import os
from collections.abc import Sequence
from functools import lru_cache

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.domain.verdicts import Verdict
from grpo_assets.runtime.verifier import exact
from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets.runtime.verifier.programs import LONGEST_COMPLETION, job_of, verdict_of
from grpo_assets.runtime.verifier.sandbox import SAFE_TIERS, Tier

ACCEPT_UNSAFE = "GRPO_ACCEPT_UNSAFE"
"""Environment variable: 1 lets programs run with rlimits only where no better tier can be had."""
REMEMBERED = 100_000

log = logging.getLogger(__name__)
Ask = tuple[dict, str, bool]
"""A task row, a completion of it, and whether the completion was cut off."""


def verdicts(asks: Sequence[Ask]) -> list[Verdict]:
    """The verdict on each completion; the same completion of the same task is observed once.

    Raises:
        UserMistake: when a program has to run and this machine cannot hold it.
        FailedWork: when the verifier cannot be trusted any more.
    """
    return _verdicts(asks, _remembered(os.getpid()))


def repeated_verdicts(asks: Sequence[Ask]) -> list[Verdict]:
    """Verdicts that are observed again, whatever was observed before."""
    return _verdicts(asks, {})


def _verdicts(asks: Sequence[Ask], known: dict[str, Verdict]) -> list[Verdict]:
    keys = [_key(*ask) for ask in asks]
    found: dict[str, Verdict] = {}
    to_observe: dict[str, Ask] = {}
    for key, ask in zip(keys, asks, strict=True):
        verdict = _without_observation(*ask) or known.get(key)
        if verdict is None:
            to_observe[key] = ask
        else:
            found[key] = verdict
    if to_observe:
        observed = verifier().observe([job_of(task, completion) for task, completion, _ in to_observe.values()])
        for (key, (task, _, _)), observation in zip(to_observe.items(), observed, strict=True):
            found[key] = verdict_of(task, observation)
            if found[key].outcome != "no_verdict":
                known[key] = found[key]
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
    return [found[key] for key in keys]


def _without_observation(task: dict, completion: str, truncated: bool) -> Verdict | None:
    """The verdict where no judge is needed."""
    if task["verification"] == "exact":
        return exact.verify(task["answer"], completion, truncated)
    checks = len(task["tests"]["tests"]) if task["tests"] else 1
    shown = task["tests"]["shown"] if task["tests"] else 0
    failed = {"constant_checks": task["constant_checks"], "shown": shown}
    if truncated:
        return Verdict("fail", "truncated", 0, checks, **failed)
    if len(completion) > LONGEST_COMPLETION:
        return Verdict("fail", "too_long", 0, checks, **failed)
    return None


def _key(task: dict, completion: str, truncated: bool) -> str:
    text = completion.encode("utf-8", "surrogatepass").hex()
    return fingerprint([task["task_key"], task["seconds"], text, truncated])


@lru_cache(maxsize=1)
def _remembered(process: int) -> dict[str, Verdict]:
    return {}


def verifier() -> Verifier:
    """The verifier of this process, in the best tier that this machine can build; started when first needed.

    Raises:
        UserMistake: when no tier holds a program and the user has not accepted that.
    """
    return _opened(os.getpid())  # a fork must not share its parent's judges


@lru_cache(maxsize=1)
def _opened(process: int) -> Verifier:
    opened = open_verifier(len(os.sched_getaffinity(0)), os.environ.get(ACCEPT_UNSAFE) == "1")
    atexit.register(opened.close)
    return opened


def open_verifier(judges: int, accept_unsafe: bool) -> Verifier:
    """A verifier in the best tier that holds its canaries.

    Raises:
        UserMistake: when there is none and the user has not accepted that.
    """
    reasons: dict[Tier, str] = {}
    for tier in SAFE_TIERS:
        try:
            opened = Verifier(tier, judges)
        except FailedWork as failure:
            reasons[tier] = str(failure)
            continue
        for better, reason in reasons.items():
            log.warning("programs run in the tier %s, not in %s: %s", tier, better, reason)
        return opened
    if accept_unsafe:
        log.warning("programs run with resource limits only: they can read and change what this user can")
        return Verifier("unsafe", judges)
    found = "\n".join(f"  {tier}: {reason}" for tier, reason in reasons.items())
    raise UserMistake(
        f"no sandbox on this machine holds a program that a model wrote:\n{found}\n"
        "  see grpo-assets doctor; --i-accept-unsafe (or GRPO_ACCEPT_UNSAFE=1) runs programs all the same"
    )
