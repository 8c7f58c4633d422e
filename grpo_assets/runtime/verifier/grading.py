"""Runs the tests of a task against whatever answers its calls, and keeps the count.

Tests come from suites and are trusted; the values that they work on are not.
"""

import ast
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from types import CodeType
from typing import Any

from grpo_assets.runtime.verifier.values import Unsupported
from grpo_assets.runtime.verifier.worker import CandidateError, Ended

SECONDS_TO_COMPARE = 1.0
"""What the tests themselves may take beyond the time of the candidate."""
TEST_MODULES = frozenset(
    ("math", "cmath", "re", "random", "collections", "itertools", "functools", "string", "datetime", "copy", "sys")
)
CONSTANTS: tuple[object, ...] = (None, 0, 1, -1, True, False, "", 0.0, [], {}, ())
EXCEPTIONS = (NameError, ValueError, TypeError, KeyError, IndexError, ZeroDivisionError)
MOST_LITERALS = 100

Call = Callable[[str, tuple, dict[str, Any]], object]


class Overrun(BaseException):
    """The tests took too long; SIGALRM raises it."""


def overrun(*_: object) -> None:
    """The handler of SIGALRM."""
    raise Overrun


def run_tests(job: dict, call: Call, seconds: float) -> tuple[list[bool], str]:
    """Run the tests of a job one after the other; whether each held, and the reason of the first that did not.

    Args:
        call: answers the calls of `job["entry_points"]`.
        seconds: after which what is left counts as failed.
    """
    passed: list[bool] = []
    reason = "all_tests"
    random.seed(0)  # a few tests of HumanEval draw their inputs
    signal.setitimer(signal.ITIMER_REAL, max(0.1, seconds))
    try:
        namespace = _namespace(job, call)
        for test in job["tests"]:
            failure = _failure(test, namespace)
            passed.append(failure is None)
            if failure and reason == "all_tests":
                reason = failure
    except Overrun:
        reason = "comparison_timeout" if reason == "all_tests" else reason
    except Ended as ended:
        reason = str(ended)
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
    """How many tests the best answer passes that does not depend on its arguments.

    Such are the literals in the tests, a few common ones, not a number, an object that equals nothing, and exceptions.
    """
    # a new value each time, since a test may change it
    answers: list[Call] = [lambda *_, text=text: ast.literal_eval(text) for text in _literals(job["tests"])]
    answers += [lambda *_: float("nan"), lambda *_: object(), *map(_raising, EXCEPTIONS)]
    seconds = job["seconds"] + SECONDS_TO_COMPARE
    return max(sum(run_tests(job, answer, seconds)[0]) for answer in answers)


def _raising(kind: type[Exception]) -> Call:
    def answer(*_: object) -> object:
        raise kind("raised by no program")

    return answer


def _literals(tests: list[str]) -> list[str]:
    """Literals in tests as source, each once, those that something is compared with first."""
    found = dict.fromkeys(map(repr, CONSTANTS))
    nodes = [node for test in tests for node in ast.walk(ast.parse(test))]
    compared = [side for node in nodes if isinstance(node, ast.Compare) for side in (node.left, *node.comparators)]
    for node in compared + [node for node in nodes if isinstance(node, ast.expr)]:
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            found[repr(ast.literal_eval(node))] = None
    return list(found)[:MOST_LITERALS]


@lru_cache(maxsize=4096)
def _compiled(source: str) -> CodeType:
    return compile(source, "<test>", "exec", dont_inherit=True)


@lru_cache(maxsize=4096)
def _names(source: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
