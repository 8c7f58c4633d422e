"""Questions with an answer are read from the user's files and from GSM8K, whose numbers are written in many ways."""

import json
from pathlib import Path

import pytest

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Fields, Suite
from grpo_assets.runtime.answer_files import GSM8K_INSTRUCTION, answer_tasks, gsm8k_tasks
from grpo_assets.runtime.rows import SourceTask
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.verifier.admission import admit

GSM8K = {
    "question": "Ada has 12 pens and buys 1,222 more.\nHow many pens has she now? ",
    "answer": "She has 12+1222=<<12+1222=1234>>1,234 pens.\n#### 1,234",
}
OTHER = {"question": "Ben\u2019s debt of \u00a33 grows by \u00a32. What does he own?", "answer": "-3-2=-5\n#### -5"}
MAPPED = Fields(prompt="q", answer="a", task_id="id", family="kind", candidates="wrong")
ROW = {"q": "1+1=", "a": "2", "id": 7, "kind": "sums", "wrong": ["3", "11"]}


def write(file: Path, *rows: object) -> Path:
    file.write_bytes("\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
    return file


def answers(**parts: object) -> Suite:
    return Suite(**{"source": "answers", "path": "own.jsonl", "licence": "CC0-1.0", "fields": MAPPED, **parts})


def own(folder: Path, *rows: object, **parts: object) -> list[SourceTask]:
    return list(answer_tasks(answers(**parts), [write(folder / "own.jsonl", *rows)]))


def gsm8k(folder: Path, *rows: object) -> list[SourceTask]:
    suite = Suite(source="gsm8k", path="problems.jsonl", licence="MIT")
    return list(gsm8k_tasks(suite, [write(folder / "problems.jsonl", *rows)]))


def test_fields_are_read_by_the_names_that_the_suite_gives(tmp_path: Path) -> None:
    """Each part of a task stands under a key of the user's."""
    [found] = own(tmp_path, ROW)

    task = found.task
    assert (task.task_id, task.prompt, task.answer) == ("7", "1+1=", "2")
    assert (task.family, task.candidates) == ("sums", ("3", "11"))
    assert (task.source, task.licence, task.verification) == ("own.jsonl", "CC0-1.0", "exact")
    assert (found.where, found.description, found.split) == ("own.jsonl: line 1", "1+1=", None)


def test_without_a_mapping_a_row_has_a_prompt_and_an_answer(tmp_path: Path) -> None:
    """Tasks are then named by their number, and what else a row has is not read."""
    first, second = own(
        tmp_path, {"prompt": "1+1=", "answer": "2", "id": 7}, {"prompt": "2+2=", "answer": "4"}, fields=None
    )

    assert [(source.task.task_id, source.task.prompt) for source in (first, second)] == [("1", "1+1="), ("2", "2+2=")]
    assert (first.task.family, first.task.candidates) == ("", ())


def test_a_row_without_candidates_has_none(tmp_path: Path) -> None:
    """Not every question has a wrong answer that is plausible."""
    [found] = own(tmp_path, {key: value for key, value in ROW.items() if key != "wrong"})

    assert found.task.candidates == ()


@pytest.mark.parametrize("verification", ["exact", "integer", "math"])
def test_the_suite_says_how_answers_are_verified(tmp_path: Path, verification: str) -> None:
    """The same file can be judged as text, as whole numbers or as mathematics."""
    [found] = own(tmp_path, ROW, verification=verification)

    assert found.task.verification == verification


@pytest.mark.parametrize("answer", ["two", "2.5", "1,00", "1/2", "2 apples", "#### 2", "0x2", "1e3"])
def test_an_answer_that_is_no_whole_number_is_refused_where_one_is_needed(tmp_path: Path, answer: str) -> None:
    """The message has the file, the line, the user's name of the field and what is allowed."""
    bad = {**ROW, "id": 8, "q": "?", "a": answer}

    with pytest.raises(UserMistake) as mistake:
        own(tmp_path, ROW, bad, verification="integer")

    assert str(mistake.value) == f"own.jsonl: line 2: a: {answer!r} is not allowed\n  allowed: a whole number"
    assert [source.task.answer for source in own(tmp_path, ROW, bad)] == ["2", answer]


@pytest.mark.parametrize("answer", ["1234", "-5", "+5", "0", "1,234", "-1,234,567", "$12", "72.", "72.0", " 8 "])
def test_a_whole_number_may_be_written_as_people_do(tmp_path: Path, answer: str) -> None:
    """An answer that the reader takes for a whole number passes its own verification."""
    write(tmp_path / "own.jsonl", {**ROW, "a": answer})
    rows = read_tasks("mine", answers(verification="integer"), tmp_path).rows

    admitted, rejected = admit(rows)

    assert rejected == []
    assert len(admitted) == 1


def test_gsm8k_is_read(tmp_path: Path) -> None:
    """The prompt is the question with an instruction, the answer is what follows the marks."""
    [found] = gsm8k(tmp_path, GSM8K)

    task = found.task
    assert task.prompt == f"{GSM8K['question'].strip()}\n{GSM8K_INSTRUCTION}"
    assert (task.task_id, task.answer, task.verification) == ("problems-1", "1234", "integer")
    assert (task.source, task.licence, task.candidates, task.tests) == ("GSM8K", "MIT", (), None)
    assert (found.where, found.split) == ("problems.jsonl: line 1", None)


def test_the_instruction_is_not_compared(tmp_path: Path) -> None:
    """Near-duplicates are found among the questions, all of which have the same instruction."""
    [found] = gsm8k(tmp_path, GSM8K)

    assert found.description == GSM8K["question"].strip()


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("#### 5", "5"),
        ("####5", "5"),
        ("####  5 ", "5"),
        ("#### 5\r", "5"),
        ("so #### 4 is wrong\n#### 5", "5"),
        ("#### 0", "0"),
        ("#### 007", "7"),
        ("#### -5", "-5"),
        ("#### 1,234", "1234"),
        ("#### 1,234,567", "1234567"),
        ("#### -1,234", "-1234"),
        ("#### $18", "18"),
        ("#### 18.", "18"),
        ("#### 18.00", "18"),
    ],
)
def test_numbers_of_gsm8k_are_whole(tmp_path: Path, written: str, number: str) -> None:
    """Thousands' commas, signs and zero fractions are ways to write a whole number."""
    [found] = gsm8k(tmp_path, {**GSM8K, "answer": f"She counts.\n{written}"})

    assert found.task.answer == number


@pytest.mark.parametrize(
    "answer",
    ["She has 5.", "#### ", "#### five", "#### 5.5", "#### 1,23", "#### 5 pens", "#### 5\nor so", "### 5", "#### --5"],
    ids=repr,
)
def test_an_answer_without_a_whole_number_is_refused(tmp_path: Path, answer: str) -> None:
    """A problem whose answer is not found would be one that nobody can solve; the row is named."""
    with pytest.raises(UserMistake) as mistake:
        gsm8k(tmp_path, GSM8K, {**GSM8K, "answer": answer})

    assert str(mistake.value) == (
        "problems.jsonl: line 2: answer: no whole number after ####\n  allowed: rows of GSM8K"
    )


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"question": None}, "question: None is not allowed"),
        ({"question": " \r\n"}, "question: ' \\r\\n' is not allowed"),
        ({"answer": 5}, "answer: 5 is not allowed"),
        ({"answer": ""}, "answer: '' is not allowed"),
    ],
)
def test_a_bad_row_of_gsm8k_is_named_by_file_and_line(tmp_path: Path, part: dict, reason: str) -> None:
    """The message has the file, the line, what is wrong and what is allowed."""
    with pytest.raises(UserMistake) as mistake:
        gsm8k(tmp_path, GSM8K, {**OTHER, **part})

    assert str(mistake.value).startswith(f"problems.jsonl: line 2: {reason}")
    assert "\n  allowed: " in str(mistake.value)


def test_letters_beyond_ascii_stay_and_end_no_row(tmp_path: Path) -> None:
    """Typographic apostrophes, pound signs and U+2028 are part of a question."""
    odd = {**GSM8K, "question": "One\u2028two\u2029three\u0085four?"}

    first, second = gsm8k(tmp_path, odd, OTHER)

    assert first.description == odd["question"]
    assert second.description == OTHER["question"]
    assert second.where == "problems.jsonl: line 2"


def many(first: int, last: int) -> list[dict]:
    return [{"question": f"What is {n} times itself?", "answer": f"#### {n * n}"} for n in range(first, last)]


def test_the_second_file_is_held_out_and_the_first_is_not(tmp_path: Path) -> None:
    """Official test tasks are the held-out ones; the others are split between training and dev alone."""
    write(tmp_path / "train.jsonl", *many(0, 60))
    write(tmp_path / "test.jsonl", *many(60, 80))
    suite = Suite(source="gsm8k", path="train.jsonl", heldout_path="test.jsonl", licence="MIT")

    found = read_tasks("mine", suite, tmp_path)

    splits = {row["task_id"]: row["split"] for row in found.rows}
    assert {splits[f"test-{number}"] for number in range(1, 21)} == {"heldout"}
    assert {splits[f"train-{number}"] for number in range(1, 61)} == {"train", "dev"}
    assert len(splits) == 80


def test_without_a_second_file_the_first_is_split_three_ways(tmp_path: Path) -> None:
    """Then nothing is official, and there are no leaks to report."""
    write(tmp_path / "train.jsonl", *many(0, 60))

    found = read_tasks("mine", Suite(source="gsm8k", path="train.jsonl", licence="MIT"), tmp_path)

    assert {row["split"] for row in found.rows} == {"train", "dev", "heldout"}
    assert found.leaks is None


def test_a_question_that_is_in_both_files_is_a_leak(tmp_path: Path) -> None:
    """It is reported, and stays where the official files have it."""
    write(tmp_path / "train.jsonl", GSM8K)
    write(tmp_path / "test.jsonl", {**GSM8K, "question": GSM8K["question"].upper()}, OTHER)
    suite = Suite(source="gsm8k", path="train.jsonl", heldout_path="test.jsonl", licence="MIT")

    [leak] = read_tasks("mine", suite, tmp_path).leaks or []

    assert leak.pop("rule") == "same_prompt"
    assert leak.pop("heldout") == "test-1"
    assert list(leak.values()) == ["train-1"]


def test_a_bad_row_of_the_second_file_is_named_by_that_file(tmp_path: Path) -> None:
    """Both files have a line 1."""
    write(tmp_path / "train.jsonl", GSM8K)
    write(tmp_path / "test.jsonl", {"question": "Why?"})
    suite = Suite(source="gsm8k", path="train.jsonl", heldout_path="test.jsonl", licence="MIT")

    with pytest.raises(UserMistake, match=r"^test\.jsonl: line 1: answer: is missing"):
        read_tasks("mine", suite, tmp_path)


def test_right_answers_of_gsm8k_are_admitted(tmp_path: Path) -> None:
    """Commas and negatives survive to the judge."""
    write(tmp_path / "train.jsonl", GSM8K, OTHER)

    admitted, rejected = admit(
        read_tasks("mine", Suite(source="gsm8k", path="train.jsonl", licence="MIT"), tmp_path).rows
    )

    assert rejected == []
    assert [row["answer"] for row in admitted] == ["1234", "-5"]
