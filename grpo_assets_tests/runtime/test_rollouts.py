"""Verdicts are repeated where a wrong one would show, and one that does not hold is no verdict."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from grpo_assets.domain.rewards import REWARDS, score
from grpo_assets.domain.rollouts import correctness, groups, is_informative, prompt_statistics, rollout_of
from grpo_assets.domain.schemas import ROLLOUTS
from grpo_assets.domain.verdicts import Verdict
from grpo_assets.runtime import rollouts
from grpo_assets.runtime.rollouts import rescored, verified_again, verified_anew
from grpo_assets.runtime.store import read_table, write_table
from grpo_assets_tests.builders import group_rows, rollout_row, task_row

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


def test_stored_completions_get_the_verdicts_of_now() -> None:
    """Nothing but the verdict is new, and one that had been taken back is given again."""
    kept = {"kl_to_base": 0.25, "token_count": 9, "prompt_tokens": 3}
    stored = [
        rollout_row(completion="210", outcome="no_verdict", reason="flipped", **kept),
        rollout_row(completion="021", index=1, outcome="pass", **kept),
    ]

    rows = verified_anew(stored, [task_row()])

    assert [(row["outcome"], row["reason"]) for row in rows] == [("pass", "exact_match"), ("fail", "wrong_answer")]
    verdict = set(Verdict.__dataclass_fields__)
    for row, before in zip(rows, stored, strict=True):
        assert {k: v for k, v in row.items() if k not in verdict} == {
            k: v for k, v in before.items() if k not in verdict
        }


@pytest.mark.parametrize("at_a_time", [1, 3, 10_000])
def test_rescored_rollouts_give_the_statistics_of_all_their_columns(
    at_a_time: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that end within a group, and columns that are left out, change nothing."""
    monkeypatch.setattr(rollouts, "AT_A_TIME", at_a_time)
    stored = group_rows("a", "pfnp", checks_passed=2) + group_rows("b", "ffnn", checks_passed=1)
    write_table(tmp_path / "pilot_rollouts.parquet", stored, ROLLOUTS)

    for reward in REWARDS.values():
        rows, rewards = rescored(tmp_path / "pilot_rollouts.parquet", reward)

        whole = read_table(tmp_path / "pilot_rollouts.parquet")
        assert rewards == [score(reward, rollout_of(row)) for row in whole]
        assert prompt_statistics(rows, rewards) == prompt_statistics(whole, rewards)
