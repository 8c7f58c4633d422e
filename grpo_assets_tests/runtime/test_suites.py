"""Suites give tasks with keys, clusters and splits, and refuse bad rows by line."""

import json
from pathlib import Path

import pytest

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Fields, Suite
from grpo_assets.domain.tasks import isolation_of
from grpo_assets.runtime.suites import read_tasks

DIGITS = Suite(source="digits", seed=20260601, tasks=900)
GOOD = {"question": "1+1=", "solution": "2", "name": "one", "wrong": ["3"]}


def jsonl(folder: Path, *rows: object) -> Suite:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    (folder / "tasks.jsonl").write_bytes(b"\n".join(lines))
    fields = Fields(prompt="question", answer="solution", task_id="name", candidates="wrong")
    return Suite(source="answers", path="tasks.jsonl", fields=fields, licence="CC0-1.0")


def rows_of(suite: Suite, folder: Path) -> list[dict]:
    return read_tasks("mine", suite, folder).rows


def test_the_shipped_suite_has_900_tasks_in_isolated_splits(tmp_path: Path) -> None:
    """The splits are disjoint and near their shares."""
    rows = rows_of(DIGITS, tmp_path)

    sizes = {split: sum(row["split"] == split for row in rows) for split in ("train", "dev", "heldout")}
    assert sum(sizes.values()) == 900
    assert 490 <= sizes["train"] <= 590
    assert 140 <= sizes["dev"] <= 220
    assert isolation_of(rows)["dev_tasks"] == sizes["dev"]


def test_a_larger_suite_moves_no_task_to_another_split(tmp_path: Path) -> None:
    """A task's split depends on its content alone."""
    few = {row["task_key"]: row["split"] for row in rows_of(DIGITS.model_copy(update={"tasks": 100}), tmp_path)}
    all_of_them = {row["task_key"]: row["split"] for row in rows_of(DIGITS, tmp_path)}

    assert few.items() <= all_of_them.items()


def test_a_jsonl_file_is_read_through_its_field_mapping(tmp_path: Path) -> None:
    """The suite's YAML says which key holds what."""
    [row] = rows_of(jsonl(tmp_path, GOOD), tmp_path)

    assert (row["task_id"], row["prompt"], row["answer"]) == ("one", "1+1=", "2")
    assert (row["source"], row["licence"], row["candidates"]) == ("tasks.jsonl", "CC0-1.0", ("3",))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({k: v for k, v in GOOD.items() if k != "solution"}, "solution: is missing"),
        ({**GOOD, "solution": ""}, "solution: '' is not allowed"),
        ({**GOOD, "solution": None}, "solution: None is not allowed"),
        ({**GOOD, "solution": 2}, "solution: 2 is not allowed"),
        ({**GOOD, "question": "  "}, "question: '  ' is not allowed"),
        ({**GOOD, "wrong": "3"}, "wrong: '3' is not allowed"),
        ({**GOOD, "question": "other"}, "task_id: 'one' stands at tasks.jsonl: line 1 already"),
        ({**GOOD, "name": "two"}, "prompt and answer: 'two' stands at tasks.jsonl: line 1 already"),
        ({**GOOD, "question": "\ud800"}, "without lone surrogates"),
        (["a list"], "['a list'] is not allowed"),
        (b"{not json", "Expecting property name"),
        (b"[" * 100_000, "recursion"),
        ({**GOOD, "name": True}, "name: True is not allowed"),
        (b'{"question": "\xff"}', "utf-8"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, bad: object, reason: str) -> None:
    """The message has the file, the line, what is wrong and what is allowed."""
    suite = jsonl(tmp_path, GOOD, bad, {**GOOD, "name": "three", "question": "1+2="})

    with pytest.raises(UserMistake) as mistake:
        rows_of(suite, tmp_path)

    assert "tasks.jsonl: line 2: " in str(mistake.value)
    assert reason in str(mistake.value)
    assert "allowed: " in str(mistake.value)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """A suite without tasks is a mistake, not an empty table."""
    with pytest.raises(UserMistake, match=r"tasks\.jsonl: no tasks"):
        rows_of(jsonl(tmp_path), tmp_path)


def test_more_tasks_than_digits_has_are_refused(tmp_path: Path) -> None:
    """The generator says how many there are."""
    with pytest.raises(UserMistake, match="1 to 3000"):
        rows_of(DIGITS.model_copy(update={"tasks": 3001}), tmp_path)


def test_blank_lines_are_skipped_and_numbers_may_be_ids(tmp_path: Path) -> None:
    """Files often end in a blank line, and their ids are often numbers."""
    [row] = rows_of(jsonl(tmp_path, {**GOOD, "name": 7}, b"", b"  "), tmp_path)

    assert row["task_id"] == "7"
