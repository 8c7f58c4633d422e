"""A vote counts the answers that were sampled, and the most frequent one is right or wrong."""

from typing import Any

import pytest

from grpo_assets.runtime.voting import majority, vote_of
from grpo_assets_tests.builders import rollout_row, task_row


def said(task: str, *completions: str, right: str = "210", **parts: Any) -> list[dict[str, Any]]:
    """Rollouts of a task with these completions; those that hold the right text passed."""
    return [
        rollout_row(task, index, completion=text, outcome="pass" if right in text else "fail", **parts)
        for index, text in enumerate(completions)
    ]


def voted(*completions: str, verification: str = "exact", right: str = "210") -> float:
    """Whether the vote on one task is right."""
    tasks = [task_row("a", verification=verification)]
    found = majority(said("a", *completions, right=right), tasks)
    assert found is not None
    return float(found[0])


@pytest.mark.parametrize(
    ("completions", "right"),
    [
        (["210", "210", "012"], 1.0),
        (["210", "012", "012"], 0.0),  # the most frequent answer is wrong
        (["210", "012"], 1.0),  # as frequent: the first one counts
        (["012", "210"], 0.0),
        (["012", " 210", "210\n"], 1.0),  # white space around an answer does not count
        (["", " ", "210"], 1.0),  # no answer is no vote
        (["", ""], 0.0),  # nobody voted
    ],
)
def test_the_most_frequent_answer_decides(completions: list[str], right: float) -> None:
    """One vote a completion that gives an answer."""
    assert voted(*completions) == right


@pytest.mark.parametrize(
    ("completions", "right"),
    [
        (["#### 1,000", "so\n#### 1000", "#### 7", "#### $1000.00"], 1.0),  # one number, written in three ways
        (["#### 7", "#### 7", "1000"], 0.0),  # without a final answer no vote
        (["#### seven", "#### seven", "#### 1000"], 0.0),  # words are a vote too
        (["\\boxed{1000}", "#### 7", "\\boxed{1,000}"], 1.0),
    ],
)
def test_whole_numbers_vote_by_value(completions: list[str], right: float) -> None:
    """Numbers that are equal are one answer, however they are written."""
    rows = [
        rollout_row("a", index, completion=text, outcome="pass" if "000" in text and "####" in text else "fail")
        for index, text in enumerate(completions)
    ]
    rows = [{**row, "outcome": "pass"} if "boxed" in row["completion"] else row for row in rows]

    found = majority(rows, [task_row("a", verification="integer", answer="1000")])

    assert found is not None
    assert found.tolist() == [right]


@pytest.mark.parametrize("verification", ["math", "scorer"])
def test_other_answers_vote_as_texts(verification: str) -> None:
    """A final answer that is no number is voted on as it is written."""
    task = task_row("a", verification=verification)

    assert vote_of(task, "so\n#### 1/2 ") == "1/2"
    assert vote_of(task, "#### x / 2") == "x / 2"
    assert vote_of(task, "1/2") is None
    assert voted("#### 1/2", "#### x", "#### 1/2", verification=verification, right="1/2") == 1.0


def test_greedy_completions_do_not_vote() -> None:
    """Only what was sampled is counted."""
    rows = said("a", "210") + said("a", "012", "012", decoding="greedy")

    found = majority(rows, [task_row("a")])

    assert found is not None
    assert found.tolist() == [1.0]


def test_votes_are_in_the_order_of_the_tasks() -> None:
    """Whatever the order of the rollouts is; a task without rollouts is not passed."""
    rows = said("b", "210") + said("a", "012") + said("c", "210")

    found = majority(rows, [task_row(name) for name in ("a", "b", "c", "d")])

    assert found is not None
    assert found.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_programs_have_no_answer_to_vote_on() -> None:
    """One task with tests is enough for there to be no vote."""
    tasks = [task_row("a"), task_row("b", verification="tests")]

    assert majority(said("a", "210"), tasks) is None


def test_equal_numbers_are_one_vote() -> None:
    """A fraction and its decimal are the same answer; what is no number is voted on as its text."""
    task = task_row("a", verification="math")

    votes = [vote_of(task, f"#### {answer}") for answer in ("1/2", "0.5", "$.50", "x + 1", "x+1")]

    assert votes == ["1/2", "1/2", "1/2", "x + 1", "x+1"]
