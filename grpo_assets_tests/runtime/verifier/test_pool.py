"""A pool of judges keeps the order of jobs, survives the death of a judge, and stops when a canary is misjudged."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


def test_a_program_on_which_two_judges_hang_fails(verifier: Verifier) -> None:
    """A test that never ends within C cannot be interrupted: the judge is replaced twice, then the program fails."""
    endless = code_job(tests=["assert sum(range(10**14)) == add(1, 2)"], seconds=0.5)

    stuck, honest = verifier.observe([endless, code_job()], patience=1.0)

    assert (stuck["outcome"], stuck["reason"], stuck["passed"]) == ("fail", "judge_overrun", [False])
    assert honest["outcome"] == "pass"
    assert outcomes(verifier.observe([code_job()])) == ["pass"]


def test_programs_that_kill_judges_do_not_stop_the_verifier(verifier: Verifier) -> None:
    """Each fails by itself, however many there are: a fresh judge has judged its canaries well."""
    dying = code_job(tests=["import os\nos._exit(1)"])

    seen = verifier.observe([dying, code_job()] * 6)

    assert outcomes(seen) == ["fail", "pass"] * 6
    assert seen[0]["reason"] == "judge_overrun"


def test_sandboxes_that_die_again_and_again_cost_no_verdict(verifier: Verifier) -> None:
    """A judge whose sandbox failed is replaced, and does not answer for the rest of the queue."""
    for _ in range(7):
        for judge in verifier._judges:
            for process in psutil.Process(judge.process.pid).children():
                process.kill()

        assert outcomes(verifier.observe([code_job()] * 4)) == ["pass"] * 4


def test_an_interrupted_batch_leaves_no_answer_to_the_next(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers that were still to come belong to the old jobs."""
    heard = Verifier._heard

    def interrupted(self: Verifier) -> list:
        time.sleep(0.2)  # the judges have answered by now
        raise KeyboardInterrupt

    monkeypatch.setattr(Verifier, "_heard", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verifier.observe([code_job()] * 4)
    monkeypatch.setattr(Verifier, "_heard", heard)

    wrong = code_job("def add(a, b):\n    return a\n")
    assert outcomes(verifier.observe([wrong, code_job(), wrong])) == ["fail", "pass", "fail"]


def test_a_job_that_is_no_json_leaves_the_verifier_usable(verifier: Verifier) -> None:
    """It is refused before a judge is busy with it."""
    with pytest.raises(TypeError):
        verifier.observe([code_job(), code_job(tests=[object()])])  # type: ignore[list-item]

    assert outcomes(verifier.observe([code_job()] * 3)) == ["pass"] * 3


def test_threads_take_turns(verifier: Verifier) -> None:
    """Each gets the observations on its own jobs."""
    wrong = code_job("def add(a, b):\n    return a\n")
    with ThreadPoolExecutor(4) as threads:
        batches = [[code_job()] * 5 if n % 2 else [wrong] * 5 for n in range(8)]
        seen = list(threads.map(verifier.observe, batches))

    assert [set(outcomes(batch)) for batch in seen] == [{"pass"} if n % 2 else {"fail"} for n in range(8)]


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
