"""The suite of digits: its tasks, their right answers and their wrong candidates."""

import pytest

from grpo_assets.runtime.digits import all_digits_tasks


def test_digits_has_3000_distinct_tasks() -> None:
    """Three rules over a thousand numbers, each prompt once."""
    tasks = all_digits_tasks()

    assert len({task.prompt for task in tasks}) == len(tasks) == 3000


@pytest.mark.parametrize(
    ("prompt", "answer"), [("rev 482=", "284"), ("sort 482=", "248"), ("max 482=", "8"), ("rev 100=", "001")]
)
def test_digits_answers_are_right(prompt: str, answer: str) -> None:
    """Each rule gives the answer that its name says."""
    assert {task.prompt: task.answer for task in all_digits_tasks()}[prompt] == answer


def test_every_digits_task_has_a_wrong_candidate_and_none_that_is_right() -> None:
    """The tabular policy can go wrong on every task."""
    assert all(task.candidates and task.answer not in task.candidates for task in all_digits_tasks())
