# group: test framework; expect: fail
# Tries to be counted as skipped or expected to fail, with outcome exceptions of pytest and unittest made by hand.
import itertools


def outcome(name, module):
    body = {"__module__": module, "msg": "not applicable", "pytrace": False, "returncode": 0}
    return type(name, (BaseException,), body)


OUTCOMES = itertools.cycle(
    [
        outcome("Skipped", "builtins"),
        outcome("SkipTest", "unittest.case"),
        outcome("XFailed", "_pytest.outcomes"),
        outcome("_ShouldStop", "unittest.case"),
        outcome("Exit", "_pytest.outcomes"),
    ]
)


def add(a, b):
    raise next(OUTCOMES)("not applicable")
