"""Verdicts are repeated where a wrong one would show, and one that does not hold is no verdict."""

from collections.abc import Callable, Sequence

import pytest

from grpo_assets.domain.rollouts import correctness, groups, is_informative
from grpo_assets.domain.verdicts import Verdict
from grpo_assets.runtime import rollouts
from grpo_assets.runtime.rollouts import verified_again
from grpo_assets_tests.builders import group_rows, task_row

TASKS = [task_row(name, verification="tests") for name in ("mixed", "right")] + [task_row("text")]


def repeating(monkeypatch: pytest.MonkeyPatch, outcome: Callable[[dict], str]) -> list[tuple[str, str]]:
    """Let the second verdict on a completion be what a function of its task says; returns what was asked again."""
    asked = []

    def again(asks: Sequence[tuple[dict, str, bool]]) -> list[Verdict]:
        asked.extend((task["task_id"], completion) for task, completion, _ in asks)
        return [Verdict(outcome(task), "again", 0, 0) for task, _, _ in asks]  # type: ignore[arg-type]

    monkeypatch.setattr(rollouts, "repeated_verdicts", again)
    return asked


def test_groups_whose_outcomes_differ_are_repeated_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a tenth of the others; texts that are compared as they stand are not, since nothing can waver there."""
    asked = repeating(monkeypatch, lambda task: "pass")
    rows = group_rows("mixed", "pfpf") + group_rows("right", "p" * 200) + group_rows("text", "pf")

    again, repeats = verified_again(rows, TASKS)

    tasks = [task for task, _ in asked]
    assert tasks.count("mixed") == 4
    assert 5 <= tasks.count("right") <= 40
    assert tasks.count("text") == 0
    assert len(repeats) == len(asked)
    assert len(again) == len(rows)


def test_a_prompt_whose_outcomes_come_from_a_wavering_verifier_is_not_informative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A verdict that changed is none, so what is left of the group no longer differs."""
    repeating(monkeypatch, lambda task: "pass")
    rows = group_rows("mixed", "ppfp")

    again, repeats = verified_again(rows, TASKS)

    assert [row["outcome"] for row in again] == ["pass", "pass", "no_verdict", "pass"]
    assert again[2]["reason"] == "flipped"
    assert [repeat.flipped for repeat in repeats] == [False, False, True, False]
    [group] = groups(again)
    assert not is_informative([correctness(row) for row in group])


def test_a_missing_second_verdict_is_no_flip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a pass that becomes a fail, or the other way round, is a change of mind."""
    repeating(monkeypatch, lambda task: "no_verdict")
    rows = group_rows("mixed", "pf")

    again, repeats = verified_again(rows, TASKS)

    assert again == rows
    assert not any(repeat.flipped for repeat in repeats)
