"""Verdicts on completions of every kind of task, each observed once, truncated ones failed."""

from dataclasses import replace
from typing import Any

import pytest

from grpo_assets.domain.verdicts import Verdict
from grpo_assets.runtime.verifier import verifying
from grpo_assets.runtime.verifier.programs import program_of
from grpo_assets.runtime.verifier.verifying import repeated_verdicts, verdicts
from grpo_assets_tests.builders import task_row
from grpo_assets_tests.runtime.verifier.jobs import ADDITION, HIDDEN, SHOWN


def program_task(name: str = "add", **parts: Any) -> dict[str, Any]:
    """The row of a task whose completions are programs; keywords replace parts of its tests."""
    tests = {"entry_points": ["add"], "tests": SHOWN + HIDDEN, "shown": 1, "preamble": "", "setup": ""}
    return task_row(name, verification="tests", tests={**tests, **parts}, constant_checks=2, answer=ADDITION)


def verdict(task: dict, completion: str, truncated: bool = False) -> Verdict:
    """The verdict without its times."""
    [found] = verdicts([(task, completion, truncated)])
    return replace(found, wall_seconds=None, cpu_seconds=None)


HARD_CODED = "def add(a, b):\n    return 3 if a == 1 else None\n"


def test_a_program_that_passes_has_all_counts() -> None:
    """Checks, those that stand in the prompt, and what the best constant answer passes."""
    assert verdict(program_task(), ADDITION) == Verdict("pass", "all_tests", 6, 6, 2, 1, 1)


def test_a_program_that_knows_only_the_shown_test_is_known_by_its_counts() -> None:
    """It passes what the prompt shows and fails the rest."""
    assert verdict(program_task(), HARD_CODED) == Verdict("fail", "wrong_answer", 1, 6, 2, 1, 1)


def test_a_program_that_was_cut_off_fails_without_being_run() -> None:
    """It did not say that it ends there."""
    found = verdict(program_task(), ADDITION, truncated=True)

    assert found == Verdict("fail", "truncated", 0, 6, 2, 0, 1)


def test_programs_carry_their_times() -> None:
    """Wall and CPU time of a run; nothing where nothing was run."""
    [run, cut] = verdicts([(program_task(), ADDITION + "# timed\n", False), (program_task(), ADDITION, True)])

    assert run.wall_seconds is not None
    assert run.cpu_seconds is not None
    assert (cut.wall_seconds, cut.cpu_seconds) == (None, None)


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        ("def add(): pass", "def add(): pass"),
        ("Here it is:\n```python\nx = 1\n```\nDone.", "x = 1\n"),
        ("```\nfirst\n```\nNo, better:\n```py\nlast\n```", "last\n"),
        ("```python\nnever closed", "```python\nnever closed"),
        ("```python\n    return 1\n```", "    return 1\n"),
        ("", ""),
        ("use ```x``` here\n```python\ny = 1\n```", "y = 1\n"),
        ("  ```python\n  z = 1\n  ```", "  z = 1\n"),
    ],
)
def test_the_program_is_the_last_block_in_fences(completion: str, program: str) -> None:
    """Or the whole completion where there is none; what the task puts in front comes first."""
    assert program_of(program_task(preamble="import math\n"), completion) == "import math\n" + program


def test_a_body_goes_on_from_the_head_that_the_task_gives() -> None:
    """A completion of a function's head is a program together with it, and so is the whole function again."""
    head = 'def add(a, b):\n    """The sum."""\n'

    for completion in ("    return a + b\n", ADDITION):
        assert verdict(program_task(preamble=head), completion).outcome == "pass"


def test_fences_without_end_are_read_in_time() -> None:
    """A completion of nothing but fences is no reason to wait."""
    for hostile in ("`" * 2**19, "```\n" * 2**17, "```x\n" * 2**17):
        assert isinstance(program_of(program_task(), hostile), str)


@pytest.mark.parametrize("completion", ["x" * (2**20 + 1), "```python\n" + "x" * 2**20 + "\n```"])
def test_a_completion_of_more_than_a_mebibyte_fails(completion: str) -> None:
    """It is not handed on."""
    assert verdict(program_task(), completion).reason == "too_long"


def test_answers_are_verified_beside_programs_in_one_batch() -> None:
    """Each ask gets the verdict of its own kind of task, in its place."""
    number = task_row("number", verification="integer", answer="72")
    asks = [(task_row(), "210", False), (number, "so\n#### 72", False), (program_task(), "", False)]

    found = verdicts(asks)

    assert [(v.outcome, v.reason) for v in found] == [
        ("pass", "exact_match"),
        ("pass", "right_answer"),
        ("fail", "raised"),
    ]


class Counting:
    """A verifier that counts what it is asked."""

    def __init__(self, outcome: str) -> None:
        self.asked, self.outcome = 0, outcome

    def observe(self, jobs: list[dict]) -> list[dict]:
        """The same for each job."""
        self.asked += len(jobs)
        return [{"outcome": self.outcome, "reason": "counted", "passed": []} for _ in jobs]


@pytest.mark.parametrize(("outcome", "asked"), [("fail", 1), ("no_verdict", 2)])
def test_the_same_completion_is_observed_once_unless_there_was_no_verdict(
    monkeypatch: pytest.MonkeyPatch, outcome: str, asked: int
) -> None:
    """In one batch and in later ones; what could not be decided is tried again, and a repeat is always observed."""
    counting = Counting(outcome)
    monkeypatch.setattr(verifying, "verifier", lambda: counting)
    ask = (program_task(f"counted {outcome}"), "pass", False)

    verdicts([ask, ask])
    verdicts([ask])

    assert counting.asked == asked
    repeated_verdicts([ask])
    assert counting.asked == asked + 1
