"""A judge: a process of its own that runs the tests of a suite against candidates, and keeps the count.

It holds tests and expected values; a candidate's program is only bytes to it, handed on to the sandbox.
Tests come from suites and are trusted; what a candidate returns is not, so comparing has a deadline and a memory limit.
"""

import json
import logging
import os
import resource
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.verifier.answers import judge_answer, load_for
from grpo_assets.runtime.verifier.grading import SECONDS_TO_COMPARE, Overrun, best_constant, overrun, run_tests
from grpo_assets.runtime.verifier.worker import Worker, WorkerGone

MEMORY_BYTES = 2 * 1024**3


def main() -> None:
    """Serve jobs from the connection whose descriptor is the first argument; the second is the tier."""
    connection = Connection(int(sys.argv[1]))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)  # a test that prints must not reach the terminal
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, overrun)
    logging.disable()  # math-verify warns that its timeouts are off; the deadline of the judge stands around it
    threading.Thread(target=_end_with, args=(connection.fileno(),), daemon=True).start()
    judge = Judge(sys.argv[2])
    while True:
        try:
            asked = connection.recv_bytes()
        except (EOFError, OSError):  # the process that asks has gone
            break
        answer = json.dumps(judge.answer(json.loads(asked))).encode()
        with suppress(OSError):
            connection.send_bytes(answer)


def _end_with(connection: int) -> None:
    """End this process, and with it the sandbox, when the one that asks has gone, in the middle of a job too."""
    poll = select.poll()
    poll.register(connection, 0)  # a hang-up is always told
    poll.poll()
    os._exit(0)


class Judge:
    """A judge with its sandbox, which is started when the first candidate comes and again when it fails."""

    def __init__(self, tier: Any) -> None:
        """A judge in a tier of `sandbox.Tier`."""
        self._tier = tier
        self._worker: Worker | None = None

    def answer(self, job: dict) -> dict:
        """The observation on one job: `outcome`, `reason`, `passed` a test, `wall_seconds`, `cpu_seconds`.

        A job of the kind `code` has a `program`, and one of the kind `constants` has none: it tells how many tests the
        best constant answer passes.
        """
        if job["kind"] == "constants":
            return {"constant_checks": best_constant(job)}
        if job["kind"] == "answer":
            load_for(job["verification"])
            return _timed(job["seconds"], lambda: judge_answer(job))
        try:
            return self._judge_program(job)
        except (FailedWork, WorkerGone) as failure:
            self.close()
            return {"outcome": "no_verdict", "reason": "sandbox_failed", "passed": [], "detail": str(failure)}

    def _judge_program(self, job: dict) -> dict:
        if not job["tests"]:
            return {"outcome": "no_verdict", "reason": "no_tests", "passed": []}
        program = job["program"].encode("utf-8", "surrogatepass")
        started = monotonic()
        with self._started_worker().candidate(program, job["seconds"]) as candidate:
            passed, reason = run_tests(job, candidate.call, candidate.deadline - monotonic() + SECONDS_TO_COMPARE)
        held = all(passed) and candidate.ended is None  # a test may have swallowed the end of the candidate
        return {
            "outcome": "pass" if held else "fail",
            "reason": candidate.ended or reason,
            "passed": passed,
            "wall_seconds": round(monotonic() - started, 4),
            "cpu_seconds": round(candidate.cpu_seconds, 4),
        }

    def _started_worker(self) -> Worker:
        if self._worker is None:
            self._worker = Worker(self._tier)
        return self._worker

    def close(self) -> None:
        """End the sandbox."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _timed(seconds: float, observe: Callable[[], dict]) -> dict:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return observe()
    except Overrun:
        return {"outcome": "fail", "reason": "comparison_timeout", "passed": [False]}
    except Exception as error:  # the right answer does not raise, or the task had not been admitted
        return {"outcome": "fail", "reason": f"comparison_raised_{type(error).__name__}", "passed": [False]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
