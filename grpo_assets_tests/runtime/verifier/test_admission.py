"""Tasks pass the gate when their right answer does and wrong ones do not."""

from typing import Any

import pytest

from grpo_assets.runtime.verifier.admission import admit, refusal
from grpo_assets_tests.builders import task_row

RIGHT = "def f(x):\n    return x + 1\n"
TESTS = ["assert f(1) == 2", "assert f(2) == 3", "assert f(0) == 1"]


def program_row(tests: list[str] | None = None, answer: str = RIGHT, **parts: Any) -> dict[str, Any]:
    """The row of a task whose completions are programs."""
    spec = {"entry_points": ["f"], "tests": TESTS if tests is None else tests, "shown": 1, "preamble": "", "setup": ""}
    row = task_row("f", verification="tests", tests=spec, answer=answer, candidates=["def f(x):\n    return x\n"])
    return {**row, **parts}


def test_an_admitted_task_carries_its_limit_and_what_a_constant_earns() -> None:
    """The least limit fits a quick reference; the best constant passes one of three tests."""
    [row], rejected = admit([program_row()])

    assert rejected == []
    assert (row["seconds"], row["constant_checks"]) == (2.0, 1)


def test_a_slow_reference_gets_a_longer_limit() -> None:
    """A program that needs most of a second may take more than two under load."""
    slow = "import time\n\ndef f(x):\n    time.sleep(0.25)\n    return x + 1\n"

    [row], _ = admit([program_row(answer=slow)])

    assert row["seconds"] == 8.0


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (program_row([]), "it has no test"),
        (program_row(answer="def f(x):\n    return x\n"), "its own answer does not pass: wrong_answer, 0 of 3 checks"),
        (program_row(answer="def g(x):\n    return x\n"), "its own answer does not pass: raised, 0 of 3 checks"),
        (program_row(answer="while True: pass\n"), "its own answer does not pass: timeout, 0 of 3 checks"),
        (program_row(["raise ValueError"]), "its own answer does not pass: raised, 0 of 1 checks"),
        (program_row(["assert f(1) == 2"]), "a constant answer passes all its tests"),
        (program_row(["assert f(1)", "assert f(5)"], candidates=[]), "a constant answer passes all its tests"),
        (program_row(["try:\n    f(1)\nexcept Exception:\n    pass"], candidates=[]), "the wrong answer '' passes"),
        (program_row(candidates=[RIGHT + "# wrong?\n"]), "the wrong answer 'def f(x):"),
        (
            task_row(verification="integer", answer="many"),
            "its own answer does not pass: no_whole_number, 0 of 1 checks",
        ),
    ],
)
def test_a_task_that_cannot_be_trusted_is_left_out_with_its_reason(
    row: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote it can read what to mend."""
    monkeypatch.setattr("grpo_assets.runtime.verifier.admission.LIMITS", (2.0, 2.0))

    admitted, [rejected] = admit([row])

    assert admitted == []
    assert rejected["task_id"] == row["task_id"]
    assert rejected["reason"].startswith(reason)


def test_answers_that_are_compared_as_they_stand_need_no_gate() -> None:
    """Only that one text passes, so the rows are returned as they are."""
    rows = [task_row("a"), task_row("b")]

    assert admit(rows) == (rows, [])


def test_the_order_of_tasks_stays() -> None:
    """Rows of different kinds come back in the order in which they came, without the rejected ones."""
    rows = [task_row("a"), program_row(), program_row([], task_key="none"), task_row("b", verification="integer")]

    admitted, rejected = admit([{**row, "task_key": str(n)} for n, row in enumerate(rows)])

    assert [row["task_key"] for row in admitted] == ["0", "1", "3"]
    assert len(rejected) == 1


def test_a_refused_suite_names_the_first_tasks_and_counts_the_others() -> None:
    """The message has the suite, the share, reasons and what is allowed."""
    said = refusal("mine", [{"task_id": f"t{n}", "reason": "it has no test"} for n in range(7)], 20)

    assert said.startswith("suite mine: 7 of 20 tasks are rejected, more than 10%\n  t0: it has no test")
    assert "and 2 more" in said
    assert "allowed: " in said
