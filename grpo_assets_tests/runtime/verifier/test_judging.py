"""A judge counts the tests that hold, by itself; a candidate can only choose what its functions return."""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grpo_assets.runtime.verifier.grading import best_constant, overrun, run_tests
from grpo_assets.runtime.verifier.judging import Judge
from grpo_assets_tests.runtime.verifier.jobs import ADDITION, HIDDEN, SHOWN, code_job

RAISES = "try:\n    f({})\nexcept NameError:\n    pass\nelse:\n    raise AssertionError"


@pytest.fixture(scope="module", autouse=True)
def _alarm() -> Iterator[None]:
    """A judge's process stops its own work by this signal."""
    before = signal.signal(signal.SIGALRM, overrun)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """A judge in the best tier of this machine."""
    from grpo_assets.runtime.verifier.verifying import verifier

    judge = Judge(verifier().tier)
    yield judge
    judge.close()


def answering(value: object) -> Callable[..., object]:
    return lambda name, arguments, keywords: value


@pytest.mark.parametrize(
    ("program", "outcome", "reason", "passed"),
    [
        (ADDITION, "pass", "all_tests", 6),
        ("def add(a, b):\n    return a - b\n", "fail", "wrong_answer", 0),
        ("def add(a, b):\n    return 3\n", "fail", "wrong_answer", 2),  # 3 == 3.0
        ("def add(a, b):\n    return a + b if type(a) is int else 0\n", "fail", "wrong_answer", 3),
        ("def sub(a, b):\n    return a - b\n", "fail", "raised", 0),
        ("def add(a):\n    return a\n", "fail", "raised", 0),
        ("def add(a, b)\n    return a + b\n", "fail", "syntax_error", 0),
        ("  def add(a, b):\n    return a + b\n", "fail", "syntax_error", 0),
        ("import nothing_like_this\n" + ADDITION, "fail", "load_error", 0),
        ("raise SystemExit\n" + ADDITION, "fail", "load_error", 0),
        ("def add(a, b):\n    while True: pass\n", "fail", "timeout", 0),
        ("while True: pass\n" + ADDITION, "fail", "timeout", 0),
        ("import os\ndef add(a, b):\n    os._exit(0)\n", "fail", "died", 0),
        ("def add(a, b):\n    return [object()]\n", "fail", "unsupported_value", 0),
        ("def add(a, b):\n    return 'x' * 5_000_000\n", "fail", "unsupported_value", 0),
        ("def add(a, b):\n    return 'x' * 2_500_000\n", "fail", "output_limit", 0),  # the second one is too much
        ("", "fail", "raised", 0),
        ("\0" + ADDITION, "fail", None, 0),  # the reason depends on the version of Python
        ("# " + "x" * 1_000_000 + "\n" + ADDITION, "pass", "all_tests", 6),
        ("x = '\ud800'\n" + ADDITION, "fail", "syntax_error", 0),  # no UTF-8
        ("x = " + "(" * 5000 + ")" * 5000 + "\n" + ADDITION, "fail", None, 0),
        ("x = " + "-" * 100_000 + "1\n" + ADDITION, "fail", None, 0),
        ("# -*- coding: latin-1 -*-\n" + ADDITION, "pass", "all_tests", 6),
        ("\ufeff" + ADDITION, "pass", "all_tests", 6),
        ("print('noise')\n" + ADDITION, "pass", "all_tests", 6),
        ("if __name__ == '__main__':\n    raise ValueError\n" + ADDITION, "pass", "all_tests", 6),
    ],
)
def test_programs_get_the_verdict_that_they_earn(
    judge: Judge, program: str, outcome: str, reason: str | None, passed: int
) -> None:
    """Whatever a program is, there is a verdict with a reason, and the judge goes on."""
    seen = judge.answer(code_job(program, seconds=1.0))

    assert (seen["outcome"], sum(seen["passed"]), len(seen["passed"])) == (outcome, passed, 6)
    assert reason in (None, seen["reason"])
    assert seen["wall_seconds"] > 0
    assert judge.answer(code_job())["outcome"] == "pass"


def test_a_program_that_computes_says_how_long(judge: Judge) -> None:
    """CPU time is that of the candidate's process, measured from outside."""
    slow = "def add(a, b):\n    sum(range(2_000_000))\n    return a + b\n"

    seen = judge.answer(code_job(slow, seconds=10.0))

    assert 0.02 < seen["cpu_seconds"] <= seen["wall_seconds"] + 0.05


def test_without_a_test_there_is_no_verdict(judge: Judge) -> None:
    """Nothing was checked, so nothing passed."""
    seen = judge.answer(code_job(tests=[]))

    assert (seen["outcome"], seen["reason"]) == ("no_verdict", "no_tests")


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ("assert add(1, b=2) == 3", True),
        ("try:\n    add(1)\nexcept TypeError:\n    pass", True),
        ("try:\n    add(1)\nexcept ValueError:\n    pass", False),
        ("assert math.isclose(add(0.1, 0.2), 0.3)", True),  # a module that the test names
        ("print(add(1, 2)); assert add(1, 2) == 3", True),
        ("raise ValueError('the test itself is broken')", False),
        ("assert unknown(1) == 1", False),
        ("assert sorted(x for x in [add(1, 1), add(0, 1)]) == [1, 2]", True),
    ],
)
def test_tests_are_statements_that_raise_where_the_program_is_wrong(judge: Judge, test: str, holds: bool) -> None:
    """Tests may call with keywords, expect exceptions and use standard modules; one that raises itself is a fail."""
    seen = judge.answer(code_job(tests=[test]))

    assert seen["outcome"] == ("pass" if holds else "fail")


def test_a_test_that_swallows_everything_does_not_save_a_dead_program(judge: Judge) -> None:
    """A program that ended before its last test has not passed, whatever the test makes of it."""
    program = "import os\ndef add(a, b):\n    os._exit(0)\n"

    seen = judge.answer(code_job(program, tests=["try:\n    add(1, 2)\nexcept BaseException:\n    pass"]))

    assert (seen["outcome"], seen["reason"]) == ("fail", "died")


def test_the_judge_has_its_own_copy_of_what_the_setup_defines(judge: Judge) -> None:
    """A program that redefines a helper of its test changes nothing for the judge."""
    setup = "def twice(x):\n    return 2 * x\n"
    cheat = "def twice(x):\n    return x\n\n\ndef add(a, b):\n    return 1\n"

    seen = judge.answer(code_job(cheat, setup=setup, tests=["assert add(1, 1) == twice(1)"]))

    assert seen["outcome"] == "fail"


def test_a_program_may_shadow_a_builtin_that_its_test_calls(judge: Judge) -> None:
    """The entry point is the program's, also where Python has a function of this name."""
    job = code_job("def sum(a, b):\n    return a * b\n", ["assert sum(3, 4) == 12"], entry_points=["sum"])

    assert judge.answer(job)["outcome"] == "pass"


@pytest.mark.parametrize("value", [[0] * 100_000, 10**30_000], ids=["a long list", "a long int"])
def test_comparing_has_a_deadline(value: object) -> None:
    """A test that takes too long on what a program returned is a fail of the program."""
    job = code_job(tests=["while add(1, 2): pass"])

    passed, reason = run_tests(job, answering(value), 0.2)

    assert (passed, reason) == ([False], "comparison_timeout")


def test_a_setup_that_raises_fails_all_tests() -> None:
    """Nothing can be said for a program with which its setup does not work."""
    passed, reason = run_tests(code_job(setup="add(1, 2).missing"), answering(3), 1.0)

    assert (passed, reason) == ([False] * 6, "setup_raised")


@pytest.mark.parametrize(
    "test",
    [
        "assert all(map(add, [1, 2], [3, 4]))",
        "for got, want in zip(map(add, [1, 2], [3, 4]), [4, 6]): assert got == want",
        "assert sum(abs(a - b) for a, b in zip(map(add, [1, 2], [3, 4]), [4, 6])) < 1e-6",
    ],
)
@pytest.mark.parametrize("name", ["StopIteration", "StopAsyncIteration", "AssertionError", "GeneratorExit"])
def test_no_exception_of_a_program_ends_a_test_in_its_favour(judge: Judge, test: str, name: str) -> None:
    """StopIteration would end the loop of a test quietly, before anything was compared."""
    seen = judge.answer(code_job(f"def add(a, b):\n    raise {name}\n", [test]))

    assert seen["outcome"] == "fail"


HOSTILE_HEAD = """
import os
for descriptor in range(3, 32):
    head = b'["set",' + b",".join(b'["int","%x"]' % (k * (2**61 - 1)) for k in range(2, 100000)) + b"]"
    try:
        os.write(descriptor, len(head).to_bytes(4, "big") + head)
    except OSError:
        pass
"""


def test_the_head_of_a_reply_is_short(judge: Judge) -> None:
    """What a program writes in place of a head is not read any further."""
    seen = judge.answer(code_job(HOSTILE_HEAD))

    assert (seen["outcome"], seen["reason"]) == ("fail", "output_limit")
    assert seen["wall_seconds"] < 2.0


@pytest.mark.parametrize("returned", ["range(10**15)", "__import__('decimal').Decimal('1E+999999999')"])
@pytest.mark.parametrize("test", ["sum(add(1, 2))", "set(add(1, 2))", "round(add(1, 2))"])
def test_values_that_are_cheap_to_say_are_cheap_to_handle(judge: Judge, returned: str, test: str) -> None:
    """A test cannot be made to run for ever, or out of memory, by a short value."""
    seen = judge.answer(code_job(f"def add(a, b):\n    return {returned}\n", [test], seconds=1.0))

    assert seen["outcome"] == "fail"
    assert judge.answer(code_job())["outcome"] == "pass"


def test_a_program_that_ends_in_the_setup_fails(judge: Judge) -> None:
    """The end of a candidate is told in the setup as in the tests."""
    program = "import os\ndef add(a, b):\n    os._exit(0)\n"

    seen = judge.answer(code_job(program, setup="first = add(1, 2)\n"))

    assert (seen["outcome"], seen["reason"]) == ("fail", "died")


@pytest.mark.parametrize(
    ("tests", "best"),
    [
        (SHOWN + HIDDEN, 2),  # 3 and 3.0
        (["assert f(1) is None", "assert f(2) is None", "assert f(3) == 1"], 2),
        (["assert f(1)", "assert f(2)"], 2),  # anything true
        (["assert not f(1)"], 1),
        (["assert f([]) == []", "assert f([1]) == [1]", "assert f([2]) == []"], 2),
        ([RAISES.format(1), RAISES.format(2), "assert f(1) == 7"], 2),
        (["assert f(1) == 'x' * 3"], 0),  # an expression is no literal
        (["assert math.isclose(f(1), 3.14)", "assert f(2) == 7"], 1),
        (["assert sorted(f(1)) == sorted([3, 1])"], 1),
        (["assert f(1) != f(2)"], 1),  # not a number
        (["try:\n    f(1)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError"], 1),
        (["x = f(1)\nx.append(2)\nassert x == [2]", "assert f(3) == []"], 2),  # each call gives a new list
    ],
)
def test_the_best_constant_answer_is_counted(tests: list[str], best: int) -> None:
    """The constants are those that tests compare with and a few common ones, an answer that raises among them."""
    assert best_constant(code_job(tests=tests, entry_points=["f", "add"])) == best


def test_two_judges_agree_whatever_the_hash_seed(judge: Judge) -> None:
    """The order of sets and the random numbers of tests are the same each time."""
    job: dict[str, Any] = code_job(
        "def add(a, b):\n    return list({'x', 'y', 'z', str(a)})\n",
        ["import random\nassert add(random.random(), 1) == add(0.8444218515250481, 1)"],
    )

    assert [judge.answer(job)["outcome"] for _ in range(3)] == ["pass"] * 3
