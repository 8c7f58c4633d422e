"""A judge: a process of its own that runs the tests of a suite against candidates, and keeps the count.

It holds tests and expected values; a candidate's program is only bytes to it, handed on to the sandbox.
Tests come from suites and are trusted; what a candidate returns is not, so comparing has a deadline and a memory limit.
"""

import ast
import json
import logging
import os
import random
import resource
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from multiprocessing.connection import Connection
from time import monotonic
from types import CodeType
from typing import Any

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.verifier.values import Unsupported
from grpo_assets.runtime.verifier.worker import CandidateError, Ended, Worker, WorkerGone

MEMORY_BYTES = 4 * 1024**3
SECONDS_TO_COMPARE = 1.0
"""What the tests themselves may take beyond the time of the candidate."""
WORKER_STARTS = 5
TEST_MODULES = (
    "math",
    "cmath",
    "re",
    "random",
    "collections",
    "itertools",
    "functools",
    "string",
    "datetime",
    "copy",
    "sys",
)
CONSTANTS: tuple[object, ...] = (None, 0, 1, -1, True, False, "", 0.0, [], {}, ())

Call = Callable[[str, tuple, dict[str, Any]], object]


class Overrun(BaseException):
    """The tests took too long."""


def main() -> None:
    """Serve jobs from the connection whose descriptor is the first argument; the second is the tier."""
    connection = Connection(int(sys.argv[1]))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)  # a test that prints must not reach the terminal
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _overrun)
    logging.disable()  # math-verify warns that its timeouts are off; the deadline of the judge stands around it
    threading.Thread(target=_end_with, args=(connection.fileno(),), daemon=True).start()
    judge = Judge(sys.argv[2])
    with suppress(EOFError, OSError):  # the thread ends the process in a moment
        while True:
            connection.send_bytes(json.dumps(judge.answer(json.loads(connection.recv_bytes()))).encode())


def _end_with(connection: int) -> None:
    """End this process, and with it the sandbox, when the one that asks has gone, in the middle of a job too."""
    poll = select.poll()
    poll.register(connection, 0)  # a hang-up is always told
    poll.poll()
    os._exit(0)


def _overrun(*_: object) -> None:
    raise Overrun


class Judge:
    """A judge with its sandbox, which is started when the first candidate comes and again when it fails."""

    def __init__(self, tier: Any) -> None:
        """A judge in a tier of `sandbox.Tier`."""
        self._tier, self._starts = tier, 0
        self._worker: Worker | None = None

    def answer(self, job: dict) -> dict:
        """The observation on one job: `outcome`, `reason`, `passed` a test, `wall_seconds`, `cpu_seconds`.

        A job of the kind `code` has a `program`, and one of the kind `constants` has none: it tells how many tests the
        best constant answer passes.
        """
        if job["kind"] == "constants":
            return {"constant_checks": best_constant(job)}
        if job["kind"] == "answer":
            from grpo_assets.runtime.verifier.answers import judge_answer

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
            if self._starts >= WORKER_STARTS:
                raise FailedWork(f"the sandbox failed {self._starts} times")
            self._starts += 1
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


def run_tests(job: dict, call: Call, seconds: float) -> tuple[list[bool], str]:
    """Run the tests of a job one after the other; whether each held, and the reason of the first that did not.

    Args:
        call: answers the calls of `job["entry_points"]`.
        seconds: after which what is left counts as failed.
    """
    passed: list[bool] = []
    reason = "all_tests"
    random.seed(0)  # a few tests of HumanEval draw their inputs
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        namespace = _namespace(job, call)
        for test in job["tests"]:
            failure = _failure(test, namespace)
            passed.append(failure is None)
            if failure and reason == "all_tests":
                reason = failure
    except Overrun:
        reason = "comparison_timeout" if reason == "all_tests" else reason
    except Exception:  # of the setup, which cannot go on without what the program gave it
        reason = "setup_raised"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return passed + [False] * (len(job["tests"]) - len(passed)), reason


def _failure(test: str, namespace: dict[str, Any]) -> str | None:
    """Why a test does not hold, None where it does."""
    try:
        exec(_compiled(test), namespace)
    except AssertionError:
        return "wrong_answer"
    except Overrun:
        raise
    except Ended as ended:
        return str(ended)
    except CandidateError as error:
        return str(error)
    except Unsupported:
        return "unsupported_value"
    except BaseException:  # a test may fail in any way: it ran on what a candidate returned
        return "raised"
    return None


def _namespace(job: dict, call: Call) -> dict[str, Any]:
    """What tests see: the candidate's functions as stubs, the setup's own code, standard modules that they name."""

    def stub(name: str) -> Callable[..., object]:
        return lambda *arguments, **keywords: call(name, arguments, keywords)

    namespace: dict[str, Any] = {"__name__": "tests"}
    named = {name for text in (job["setup"], *job["tests"]) for name in _names(text)}
    namespace |= {module: import_module(module) for module in TEST_MODULES if module in named}
    namespace |= {name: stub(name) for name in job["entry_points"]}
    if job["setup"]:
        exec(_compiled(job["setup"]), namespace)
    return namespace


def best_constant(job: dict) -> int:
    """How many tests the best constant answer passes, an answer that raises included.

    The constants are those that the tests expect, and a few common ones.
    """

    def nothing(*_: object) -> object:
        raise NameError("no such function")

    # a new value each time, since a test may change it
    answers = [lambda *_, text=constant: ast.literal_eval(text) for constant in _constants(job["tests"])]
    return max(sum(run_tests(job, answer, SECONDS_TO_COMPARE)[0]) for answer in [nothing, *answers])


def _constants(tests: list[str]) -> list[str]:
    """Literals on either side of the comparisons in tests, as source, each once."""
    found = dict.fromkeys(map(repr, CONSTANTS))
    for test in tests:
        for node in ast.walk(ast.parse(test)):
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                        found[repr(ast.literal_eval(side))] = None
    return list(found)


@lru_cache(maxsize=4096)
def _compiled(source: str) -> CodeType:
    return compile(source, "<test>", "exec", dont_inherit=True)


@lru_cache(maxsize=4096)
def _names(source: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))


if __name__ == "__main__":
    main()
