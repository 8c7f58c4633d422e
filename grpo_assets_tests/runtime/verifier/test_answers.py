"""Final answers of maths tasks: one span of a completion, compared as a number, as mathematics or by a scorer."""

import inspect
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.runtime.reasoning_gym_tasks import UNFIT
from grpo_assets.runtime.verifier.answers import final_answer, judge_answer, whole_number
from grpo_assets.runtime.verifier.verifying import verifier
from grpo_assets_tests.builders import LAW


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("#### 72", "72"),
        ("3 + 4 = 7\n#### 7\n", "7"),
        ("#### 1\nno, wait\n#### 2\nbecause", "2"),
        ("The grader should accept this.\n####", None),
        ("the answer is 72", None),
        (r"so \boxed{42}.", "42"),
        (r"\boxed{1} or \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{1", None),
        (r"\boxed{}", None),
        (r"\boxed{1} #### 2", "2"),
        ("", None),
    ],
)
def test_the_final_answer_is_the_last_one_that_is_marked(completion: str, answer: str | None) -> None:
    """What follows the last ####, on its line, else the last box; nothing that only stands in the reasoning."""
    assert final_answer(completion) == answer


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("72", 72),
        ("-3", -3),
        ("+3", 3),
        ("1,234,567", 1234567),
        ("$1,000", 1000),
        ("18.00", 18),
        ("18.", 18),
        ("18.5", None),
        ("1,23", None),
        ("12 apples", None),
        ("0 1 2 3", None),
        ("1e3", None),
        ("", None),
        ("9" * 200, None),
        ("٣", 3),  # a digit of another script is a digit
    ],
)
def test_whole_numbers_are_read_as_people_write_them(text: str, number: int | None) -> None:
    """With thousands' commas, a sign, a dollar sign or a zero fraction, and nothing else beside."""
    assert whole_number(text) == number


@LAW
@given(number=st.integers(-(10**12), 10**12))
def test_every_whole_number_is_read_back_from_its_usual_forms(number: int) -> None:
    """Plain and with commas."""
    assert whole_number(str(number)) == whole_number(f"{number:,}") == number


def judged(verification: str, answer: str, completion: str, **parts: Any) -> tuple[str, str]:
    """The outcome and the reason that a verifier's judge gives."""
    job = {"kind": "answer", "verification": verification, "answer": answer, "completion": completion}
    [seen] = verifier().observe([{**job, "entry": None, "seconds": 10.0, **parts}])
    return seen["outcome"], seen["reason"]


@pytest.mark.parametrize(
    ("completion", "outcome", "reason"),
    [
        ("#### 72", "pass", "right_answer"),
        ("#### 72.0", "pass", "right_answer"),
        ("#### 73", "fail", "wrong_answer"),
        ("72", "fail", "no_final_answer"),
        ("#### 72 or 73", "fail", "no_whole_number"),
        ("#### " + "7" * 2000, "fail", "answer_too_long"),
    ],
)
def test_numbers_are_right_or_wrong(completion: str, outcome: str, reason: str) -> None:
    """Only the one whole number passes."""
    assert judged("integer", "72", completion) == (outcome, reason)


@pytest.mark.parametrize(
    ("answer", "said", "outcome"),
    [
        (r"\frac{1}{2}", r"\frac{1}{2}", "pass"),
        (r"\frac{1}{2}", "0.5", "pass"),
        (r"\frac{1}{2}", r"\frac{2}{4}", "pass"),
        ("x + 1", "1 + x", "pass"),
        (r"\{1, 2\}", r"\{2, 1\}", "pass"),
        (r"\frac{1}{2}", r"\frac{1}{3}", "fail"),
        ("x + 1", "x - 1", "fail"),
        ("2", "qwerty", "fail"),
        ("2", "0 1 2 3 4 5", "fail"),
        ("2", r"\frac{", "fail"),
        ("156", "12*13", "fail"),  # the question is not its answer
        ("5050", r"\sum_{k=1}^{100} k", "fail"),
        ("1,000", "1000", "pass"),
        ("2", "__import__('os').getcwd()", "fail"),
    ],
)
def test_mathematics_is_compared_by_value(answer: str, said: str, outcome: str) -> None:
    """Another notation of the same value passes; garbage fails and raises nothing."""
    assert judged("math", answer, f"#### {said}")[0] == outcome


def test_mathematics_that_takes_too_long_fails_by_the_judges_deadline() -> None:
    """The comparer's own timeouts are off, since they are signals; the judge's stands around it."""
    tower = "#### 9^{9^{9^{9^{9}}}} + " + " + ".join(f"x^{{{n}}}" for n in range(150))

    assert judged("math", "2", tower, seconds=0.5)[0] == "fail"
    assert judged("math", "2", "#### 2")[0] == "pass"


ENTRY = '{"question": "4 - 1 =", "answer": "3", "metadata": {"source_dataset": "chain_sum", "source_index": 0}}'


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("3", "pass"), ("4", "fail"), ("the answer is 3, I think", "fail"), ("0 1 2 3 4", "fail"), ("None", "fail")],
)
def test_a_generators_scorer_counts_only_in_full(said: str, outcome: str) -> None:
    """Its partial credit for an answer that contains the right one is none here."""
    pytest.importorskip("reasoning_gym", reason="reasoning-gym is not installed")

    assert judged("scorer", "3", f"#### {said}", entry=ENTRY)[0] == outcome


EVALUATES = re.compile(r"\b(eval|exec|parse_expr|sympify)\(")
READ_AND_FOUND_HARMLESS = {
    "basic_arithmetic",  # evaluates its own questions
    "bitwise_arithmetic",
    "codeio",  # runs programs of its own data
    "gsm_symbolic",
    "number_sorting",  # evaluates the right answer only
}


def test_no_scorer_in_use_evaluates_what_a_policy_wrote() -> None:
    """Six of reasoning-gym's do, which would run a policy's text in the judge; new ones have to be read first."""
    factory = pytest.importorskip("reasoning_gym.factory", reason="reasoning-gym is not installed")
    sources = {name: inspect.getsource(inspect.getmodule(kind)) for name, (kind, _) in factory.DATASETS.items()}

    found = {name for name, source in sources.items() if EVALUATES.search(source)}

    assert found - set(UNFIT) - READ_AND_FOUND_HARMLESS == set()


def test_a_scorer_that_raises_fails_the_answer() -> None:
    """The scorer of prime_factorization raises on words; that is the answer's fault, with the exception's name."""
    pytest.importorskip("reasoning_gym", reason="reasoning-gym is not installed")
    entry = ENTRY.replace("chain_sum", "prime_factorization")

    outcome, reason = judged("scorer", "3", "#### qwerty", entry=entry)

    assert (outcome, reason.startswith("comparison_raised_")) == ("fail", True)


def test_an_answer_is_judged_by_its_kind() -> None:
    """The three ways of verifying an answer read the same final answer."""
    job = {"completion": "#### 7", "answer": "7", "entry": None}

    assert judge_answer({**job, "verification": "integer"})["outcome"] == "pass"
    assert judge_answer({**job, "verification": "math"})["outcome"] == "pass"
