"""A pool of judges keeps the order of jobs, survives the death of a judge, and stops when a canary is misjudged."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.verifier import canaries, pool
from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets.runtime.verifier.sandbox import Tier
from grpo_assets_tests.runtime.verifier.jobs import ADDITION, code_job


@pytest.fixture
def verifier(tier: Tier) -> Iterator[Verifier]:
    """A verifier of the test's own."""
    with Verifier(tier, 2) as verifier:
        yield verifier


@pytest.fixture(scope="module")
def tier() -> Tier:
    """The best tier of this machine."""
    from grpo_assets.runtime.verifier.verifying import verifier

    return verifier().tier


def numbered(count: int) -> list[dict]:
    """Programs of which each third one is wrong."""
    wrong = "def add(a, b):\n    return a\n"
    return [code_job(f"{ADDITION if n % 3 else wrong}# {n}\n") for n in range(count)]


def outcomes(seen: list[dict]) -> list[str]:
    return [observation["outcome"] for observation in seen]


def test_observations_come_in_the_order_of_the_jobs(verifier: Verifier) -> None:
    """Judges finish when they like; the observation of a job stands in its place."""
    assert outcomes(verifier.observe(numbered(60))) == ["pass" if n % 3 else "fail" for n in range(60)]


def test_no_jobs_give_no_observations(verifier: Verifier) -> None:
    """An empty batch is answered at once."""
    assert verifier.observe([]) == []


def test_a_judge_that_was_killed_is_replaced_and_its_job_judged(verifier: Verifier) -> None:
    """The death of a judge costs no verdict and changes none."""
    os.kill(verifier._judges[0].process.pid, signal.SIGKILL)

    assert outcomes(verifier.observe(numbered(12))) == ["pass" if n % 3 else "fail" for n in range(12)]


def test_a_sandbox_that_was_killed_is_replaced_and_its_job_judged(verifier: Verifier) -> None:
    """The judge notices that its fork server is gone and starts another."""
    for judge in verifier._judges:
        for process in psutil.Process(judge.process.pid).children():
            process.kill()

    assert outcomes(verifier.observe(numbered(12))) == ["pass" if n % 3 else "fail" for n in range(12)]


def test_a_program_on_which_two_judges_die_fails(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that never ends within C cannot be interrupted: the judge is replaced twice, then the program fails."""
    monkeypatch.setattr(pool, "SECONDS_OF_GRACE", 0.5)
    endless = code_job(tests=["(10 ** add(10**6, 0)) ** (10**6)"], seconds=0.5)

    stuck, honest = verifier.observe([endless, code_job()])

    assert (stuck["outcome"], stuck["reason"], stuck["passed"]) == ("fail", "judge_overrun", [False])
    assert honest["outcome"] == "pass"
    assert outcomes(verifier.observe([code_job()])) == ["pass"]


def test_too_many_dead_judges_in_a_row_end_the_verifier(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one answer in between, something is wrong with the machine and not with the programs."""
    monkeypatch.setattr(pool, "RESTARTS", 2)
    dying = code_job(tests=["import os\nos._exit(1)"])

    with pytest.raises(FailedWork, match="the verifier gives up: 3 of its judges in a row"):
        verifier.observe([dying] * 4)


@pytest.mark.parametrize(
    ("canary", "program", "said"),
    [
        ("RIGHT", "def double(n):\n    return n\n", "must be judged pass was judged fail"),
        ("WRONG", "def double(n):\n    return 2 * n\n", "must be judged fail was judged pass"),
        ("LOCKED_IN", "def escapes():\n    return ['read a file']\n", "does not hold a program that tries to get out"),
    ],
)
def test_a_misjudged_canary_stops_the_verifier(
    tier: Tier, monkeypatch: pytest.MonkeyPatch, canary: str, program: str, said: str
) -> None:
    """At the start and every so many jobs: a verifier that is wrong about a known program says so and stops."""
    monkeypatch.setattr(pool, "JOBS_BETWEEN_CANARIES", 3)
    with Verifier(tier, 1) as verifier:
        monkeypatch.setattr(canaries, canary, {**getattr(canaries, canary), "program": program})

        with pytest.raises(FailedWork, match=said):
            verifier.observe([code_job()] * 4)
        with pytest.raises(FailedWork, match=said):
            Verifier(tier, 1)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_closed_verifier_leaves_nothing(tier: Tier) -> None:
    """No process and no descriptor stays, also where a judge was in the middle of a job."""
    before, children = descriptors(), set(psutil.Process().children(recursive=True))

    with Verifier(tier, 2) as verifier:
        verifier.observe([code_job()] * 4)
        verifier._judges[0].connection.send_bytes(b'{"kind": "constants", "tests": ["while True: pass"], "setup": ""')

    assert descriptors() == before
    assert set(psutil.Process().children(recursive=True)) == children


ORPHAN = """
import os, sys, time
from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets_tests.runtime.verifier.jobs import code_job
verifier = Verifier(sys.argv[1], 2)
print("ready", flush=True)
verifier.observe([code_job("while True: pass", seconds=30.0)] * 2)
"""


def test_judges_and_programs_end_with_a_process_that_is_killed(tier: Tier) -> None:
    """A killed training leaves no program running, not even one in the middle of a loop."""
    with subprocess.Popen([sys.executable, "-c", ORPHAN, tier], stdout=subprocess.PIPE, text=True) as orphan:
        assert orphan.stdout is not None
        assert orphan.stdout.readline() == "ready\n"
        time.sleep(0.5)
        below = psutil.Process(orphan.pid).children(recursive=True)
        orphan.kill()

    gone, alive = psutil.wait_procs(below, timeout=45)

    assert len(gone) >= 4
    assert alive == []


@pytest.mark.slow
def test_20000_verdicts_leak_nothing(tier: Tier) -> None:
    """No descriptor, process or memory is left over in the asking process, the judges or the fork servers."""
    with Verifier(tier, 2) as verifier:
        verifier.observe(numbered(1000))
        before = footprint(verifier)

        for start in range(0, 20_000, 2000):
            seen = verifier.observe([code_job(f"{ADDITION}# {start + n}\n") for n in range(2000)])
            assert {observation["outcome"] for observation in seen} == {"pass"}
        after = footprint(verifier)

    assert after["descriptors"] == before["descriptors"]
    assert after["processes"] == before["processes"]
    assert after["megabytes"] - before["megabytes"] < 20


def footprint(verifier: Verifier) -> dict[str, float]:
    """Descriptors, processes and resident memory of this process, its judges and all below them."""
    judges = [psutil.Process(judge.process.pid) for judge in verifier._judges]
    below = [process for judge in judges for process in judge.children(recursive=True)]
    every = [psutil.Process(), *judges, *below]
    return {
        "descriptors": sum(process.num_fds() for process in every),
        "processes": len(every),
        "megabytes": sum(process.memory_info().rss for process in every) / 2**20,
    }
