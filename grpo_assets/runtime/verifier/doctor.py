"""Looks a machine over: which tier can be built, from what, how fast it is, and what would make it better."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.verifier import canaries, sandbox
from grpo_assets.runtime.verifier.pool import Verifier

EXECUTIONS = 400
ADVICE = {
    "bwrap": (
        "install the package bubblewrap; in a container allow user namespaces: docker with --security-opt"
        " seccomp=unconfined, Kubernetes with hostUsers: false and procMount: Unmasked"
    ),
    "landlock": (
        "install the package libseccomp2; run Linux 5.13 or newer with Landlock (lsm=landlock,... on its command line)"
    ),
}
"""What to do for a tier that does not work."""


class Finding(NamedTuple):
    """One thing that was looked at; `advice` says what to do about it, "" where all is well."""

    what: str
    found: str
    advice: str = ""


def examine() -> Iterator[Finding]:
    """Look at the kernel, at each tier for real with its canaries, and at the speed of the best one."""
    yield Finding("kernel", f"Linux {platform.release()}, uid {os.getuid()}")
    yield Finding("candidates run in", _python())
    yield Finding("bubblewrap", _bubblewrap(), "" if shutil.which("bwrap") else ADVICE["bwrap"])
    abi = sandbox.landlock_abi()
    yield Finding("Landlock", f"ABI {abi}" if abi else "none", "" if abi else ADVICE["landlock"])
    try:
        yield Finding("seccomp filter", f"{len(sandbox.system_call_filter()) // 8} instructions")
    except FailedWork as failure:
        yield Finding("seccomp filter", "none", str(failure))
    best = None
    for tier in sandbox.SAFE_TIERS:
        try:
            Verifier(tier, 1).close()
        except FailedWork as failure:
            yield Finding(f"tier {tier}", str(failure), ADVICE[tier])
            continue
        best = best or tier
        yield Finding(f"tier {tier}", "works: a right program passes, a wrong one fails, one that tries cannot get out")
    if best is None:
        refused = "none: programs of a model are refused unless --i-accept-unsafe is given"
        yield Finding("active tier", refused, ADVICE["bwrap"])
        return
    judges = len(os.sched_getaffinity(0))
    speed = f"{_executions_a_second(best, judges):.0f} programs a second with {judges} judges"
    yield Finding("active tier", f"{best}, {speed}", ADVICE["bwrap"] if best != "bwrap" else "")


def _python() -> str:
    return f"{sandbox.interpreter()} ({platform.python_version()})"


def _bubblewrap() -> str:
    path = shutil.which("bwrap")
    if path is None:
        return "not installed"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip() or f"{path} does not run: {said.stderr.strip()}"


def _executions_a_second(tier: sandbox.Tier, judges: int) -> float:
    with Verifier(tier, judges) as verifier:
        started = perf_counter()
        verifier.observe([canaries.RIGHT] * EXECUTIONS)
        return EXECUTIONS / (perf_counter() - started)
