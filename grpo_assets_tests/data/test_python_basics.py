"""The shipped suite of small Python functions: every task is sound, and its candidates are wrong as they should be."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from grpo_assets.domain.health import passes_only_what_is_shown
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.verdicts import Verdict
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.verifier.admission import admit
from grpo_assets.runtime.verifier.verifying import verdicts

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """The tasks of the suite as they are read."""
    spec = yaml.safe_load((DATA / "suites" / "python-basics.yaml").read_text(encoding="utf-8"))
    return read_tasks("python-basics", Suite.model_validate(spec), DATA).rows


@pytest.fixture(scope="module")
def judged(rows: list[dict]) -> dict[tuple[str, int], Verdict]:
    """The verdict on each candidate, by the id of its task and its number."""
    asks = [(row, number) for row in rows for number in range(len(row["candidates"]))]
    found = verdicts([(row, row["candidates"][number], False) for row, number in asks])
    return {(row["task_id"], number): verdict for (row, number), verdict in zip(asks, found, strict=True)}


def test_it_has_at_least_60_tasks(rows: list[dict]) -> None:
    """Each has a function of its own."""
    assert len(rows) >= 60
    assert len({row["tests"]["entry_points"] for row in rows}) == len(rows)


def test_every_task_is_admitted(rows: list[dict]) -> None:
    """Its reference passes; no candidate does, nor an empty or a constant answer."""
    admitted, rejected = admit(rows)

    assert rejected == []
    assert [row["task_id"] for row in admitted] == [row["task_id"] for row in rows]


def test_every_task_has_three_candidates_and_hidden_tests(rows: list[dict]) -> None:
    """The candidates are distinct, and one or two of the tests stand in the prompt."""
    for row in rows:
        assert len(set(row["candidates"])) == len(row["candidates"]) == 3, row["task_id"]
        assert 1 <= row["tests"]["shown"] <= 2 < len(row["tests"]["tests"]), row["task_id"]


def test_prompts_show_the_visible_tests_alone(rows: list[dict]) -> None:
    """A hidden test in the prompt would not be hidden."""
    for row in rows:
        tests, shown = row["tests"]["tests"], row["tests"]["shown"]
        lines = row["prompt"].splitlines()
        assert lines[-shown:] == list(tests[:shown]), row["task_id"]
        assert not set(lines) & set(tests[shown:]), row["task_id"]


def test_prompts_name_the_function(rows: list[dict]) -> None:
    """Whoever writes the function has to know what to call it."""
    assert [row["task_id"] for row in rows if f"`{row['tests']['entry_points'][0]}(" not in row["prompt"]] == []


def test_no_candidate_passes(rows: list[dict], judged: dict[tuple[str, int], Verdict]) -> None:
    """All are judged, and all are wrong."""
    assert Counter(verdict.outcome for verdict in judged.values()) == {"fail": 3 * len(rows)}


def test_the_first_candidate_passes_only_what_is_shown(
    rows: list[dict], judged: dict[tuple[str, int], Verdict]
) -> None:
    """It looks right by the prompt and fails a hidden test, as a program that was written for the shown tests."""
    honest = [row["task_id"] for row in rows if not passes_only_what_is_shown(asdict(judged[row["task_id"], 0]))]

    assert honest == []


def test_no_two_tasks_are_near_duplicates(rows: list[dict]) -> None:
    """Each is alone in its cluster."""
    assert [cluster for cluster, size in Counter(row["cluster"] for row in rows).items() if size > 1] == []


def test_every_split_has_tasks(rows: list[dict]) -> None:
    """There is something to train on, to select by and to hold out."""
    assert {row["split"] for row in rows} == {"train", "dev", "heldout"}
