"""Rows are read as they stand in files of all kinds, and what is no row is named by file and line."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.runtime.rows import id_of, json_rows, text_of, texts_of
from grpo_assets_tests.builders import LAW

ONE, TWO = {"id": 1, "text": "one"}, {"id": 2, "text": "two"}


def rows(folder: Path, content: bytes, name: str = "rows.jsonl") -> list[tuple[str, dict]]:
    (folder / name).write_bytes(content)
    return list(json_rows(folder / name, name))


def refusal(folder: Path, content: bytes, name: str = "rows.jsonl") -> str:
    with pytest.raises(UserMistake) as mistake:
        rows(folder, content, name)
    return str(mistake.value)


@pytest.mark.parametrize(
    "between",
    [b"\n", b"\r\n", b"\n\n", b"\r\n \t\r\n", b"\n\n\n"],
    ids=repr,
)
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"], ids=repr)
def test_jsonl_has_one_object_a_line(tmp_path: Path, between: bytes, end: bytes) -> None:
    """Lines end as on Unix or on Windows, the last one may not end at all, and blank lines are no rows."""
    found = rows(tmp_path, json.dumps(ONE).encode() + between + json.dumps(TWO).encode() + end)

    second = 1 + between.count(b"\n")
    assert found == [("rows.jsonl: line 1", ONE), (f"rows.jsonl: line {second}", TWO)]


def test_a_line_ends_at_line_feeds_alone(tmp_path: Path) -> None:
    """Separators that end a line elsewhere, such as U+2028, are letters of a JSON text."""
    odd = {"text": "a\u2028b\u2029c\u0085d"}
    lines = [json.dumps(row, ensure_ascii=False) for row in (ONE, odd, TWO)]

    found = rows(tmp_path, "\n".join(lines).encode())

    assert found == [("rows.jsonl: line 1", ONE), ("rows.jsonl: line 2", odd), ("rows.jsonl: line 3", TWO)]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("before", [b"", b" \r\n"], ids=repr)
def test_a_json_list_has_rows_by_number(tmp_path: Path, indent: int | None, before: bytes) -> None:
    """A file that starts with a bracket is one list, over however many lines."""
    found = rows(tmp_path, before + json.dumps([ONE, TWO], indent=indent).encode(), "rows.json")

    assert found == [("rows.json: row 1", ONE), ("rows.json: row 2", TWO)]


@pytest.mark.parametrize("content", [json.dumps(ONE).encode(), json.dumps([ONE]).encode()], ids=["JSONL", "list"])
def test_gzipped_files_are_unpacked(tmp_path: Path, content: bytes) -> None:
    """Published sets come packed, and are read as if they were not."""
    [(_, row)] = rows(tmp_path, gzip.compress(content), "rows.jsonl.gz")

    assert row == ONE


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    """Editors on Windows put one in front."""
    assert rows(tmp_path, b"\xef\xbb\xbf" + json.dumps(ONE).encode()) == [("rows.jsonl: line 1", ONE)]


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\r\n", b"[]"], ids=repr)
def test_an_empty_file_has_no_rows(tmp_path: Path, content: bytes) -> None:
    """Whether that is a mistake is for others to say."""
    assert rows(tmp_path, content) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{", "Expecting property name"),
        (b"{'id': 1}", "Expecting property name"),
        (b'{"id": 1} {"id": 2}', "Extra data"),
        (b'{"id": 1}\r{"id": 2}', "Extra data"),  # a lone carriage return ends no line
        (b'"a text"', "'a text' is not allowed"),
        (b"7", "7 is not allowed"),
        (b"null", "None is not allowed"),
        (b"[1, 2]", "[1, 2] is not allowed"),
        (b'{"text": "\xff"}', "utf-8"),
        (b'{"text": "a\tb"}', "Invalid control character"),
        (b'{"a":' * 100_000, "recursion"),
        (b'{"number": ' + b"9" * 5000 + b"}", "digits"),
    ],
)
def test_what_is_no_object_is_named_by_its_line(tmp_path: Path, bad: bytes, reason: str) -> None:
    """The message has the file, the line, what is wrong and what is allowed."""
    message = refusal(tmp_path, json.dumps(ONE).encode() + b"\n" + bad + b"\n")

    assert message.startswith("rows.jsonl: line 2: ")
    assert reason in message
    assert "\n  allowed: one JSON object a line" in message


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b'[{"id": 1}, 7]', "rows.json: row 2: 7 is not allowed"),
        (b'[{"id": 1}, [{"id": 2}]]', "rows.json: row 2: [{'id': 2}] is not allowed"),
        (b'[{"id": 1},\n {"id": }]', "rows.json: Expecting value: line 2 column 9"),
        (b'[{"id": 1}', "rows.json: Expecting ',' delimiter"),
        (b'[{"id": 1}]\n{"id": 2}\n', "rows.json: Extra data: line 2 column 1"),
    ],
)
def test_what_is_no_object_in_a_list_is_named_by_its_row(tmp_path: Path, content: bytes, start: str) -> None:
    """A list that is no JSON is named with the line where it ends to be."""
    assert refusal(tmp_path, content, "rows.json").startswith(start)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"{}" * 100)[:-9], gzip.compress(b"{}")[:12], b"\x1f\x8b\x08" + b"\0" * 7 + b"bad"],
    ids=["another format", "cut off", "cut off early", "damaged"],
)
def test_a_gzipped_file_that_is_damaged_is_a_mistake(tmp_path: Path, content: bytes) -> None:
    """The file is named, with what is allowed."""
    message = refusal(tmp_path, content, "rows.gz")

    assert message.startswith("rows.gz: ")
    assert message.endswith("\n  allowed: a file that can be read")


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    """It may have gone since it was looked for."""
    with pytest.raises(UserMistake, match=r"^gone\.jsonl: .*No such file"):
        list(json_rows(tmp_path / "gone.jsonl", "gone.jsonl"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb", "a\nb"),
        ("return x\r", "return x\n"),  # four programs of MBPP end so
        ("a\r\r\nb", "a\n\nb"),
        ("\tif x:\r\n\t\treturn\t1 ", "\tif x:\n\t\treturn\t1 "),
        ("\u2019 \u2013 \u00b2 \u2028", "\u2019 \u2013 \u00b2 \u2028"),
    ],
    ids=repr,
)
def test_lines_of_a_text_end_with_a_line_feed(written: str, read: str) -> None:
    """Carriage returns go, and everything else stays as it is."""
    assert text_of({"code": written}, "code", "here") == read
    assert texts_of({"tests": [written, "b"]}, "tests", "here") == [read, "b"]


@LAW
@given(text=st.text())
def test_reading_a_text_is_done_after_once(text: str) -> None:
    """No carriage return is left, and what has none is not changed."""
    read = text_of({"text": text}, "text", "here", empty=True)

    assert "\r" not in read
    assert text_of({"text": read}, "text", "here", empty=True) == read
    assert "\r" in text or read == text


@pytest.mark.parametrize("value", [None, 7, True, ["a"], {"a": 1}, "", " ", "\r\n\t", "\u2028"], ids=repr)
def test_what_is_no_text_is_refused(value: object) -> None:
    """The message has the place, the field, the value and what is allowed."""
    with pytest.raises(UserMistake) as mistake:
        text_of({"text": value}, "text", "rows.jsonl: line 3")

    assert str(mistake.value) == (
        f"rows.jsonl: line 3: text: {value!r} is not allowed\n  allowed: a text that is not empty"
    )


def test_a_text_may_be_empty_where_that_is_said() -> None:
    """Setup code is empty in nearly every row, but it is there."""
    assert text_of({"setup": ""}, "setup", "here", empty=True) == ""
    with pytest.raises(UserMistake, match=r"^here: setup: None is not allowed\n  allowed: a text$"):
        text_of({"setup": None}, "setup", "here", empty=True)


def test_a_field_that_is_missing_is_refused_with_those_that_are_there() -> None:
    """A file of another set is told apart by its fields."""
    with pytest.raises(UserMistake, match=r"^here: text: is missing; the row has \['code', 'prompt'\]\n"):
        text_of({"prompt": "a", "code": "b"}, "text", "here")


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb", "\udc80 x"], ids=ascii)
def test_half_a_character_is_refused(value: str) -> None:
    """JSON can hold a lone surrogate, which no UTF-8 file can."""
    with pytest.raises(
        UserMistake, match=r"^here: text: .* is not allowed\n  allowed: Unicode without lone surrogates"
    ):
        text_of({"text": value}, "text", "here")


def test_no_texts_are_a_list() -> None:
    """A row may have no challenge tests."""
    assert texts_of({"tests": []}, "tests", "here") == []


@pytest.mark.parametrize("value", [None, "assert f()", 7, [7], ["a", None], {"a": "b"}, [["a"]]], ids=repr)
def test_what_is_no_list_of_texts_is_refused(value: object) -> None:
    """The message has the place, the field, the value and what is allowed."""
    with pytest.raises(UserMistake) as mistake:
        texts_of({"tests": value}, "tests", "here")

    assert str(mistake.value) == f"here: tests: {value!r} is not allowed\n  allowed: a list of texts"


def test_a_list_with_an_empty_text_is_refused() -> None:
    """An empty test would check nothing."""
    with pytest.raises(UserMistake, match=r"^here: tests: ' ' is not allowed\n  allowed: a text that is not empty"):
        texts_of({"tests": ["assert f()", " "]}, "tests", "here")


@pytest.mark.parametrize(("value", "name"), [(7, "7"), (0, "0"), (-1, "-1"), ("HumanEval/0", "HumanEval/0")])
def test_ids_are_texts_or_whole_numbers(value: object, name: str) -> None:
    """Both are common, and become texts."""
    assert id_of({"task_id": value}, "task_id", "here") == name


@pytest.mark.parametrize("value", [True, False, 1.0, None, "", " ", [1]], ids=repr)
def test_other_ids_are_refused(value: object) -> None:
    """Truth values are no numbers here, though they are to Python."""
    with pytest.raises(UserMistake, match=r"^here: task_id: .* is not allowed\n  allowed: a text that is not empty"):
        id_of({"task_id": value}, "task_id", "here")


def test_a_missing_id_is_refused() -> None:
    """The message says which fields there are."""
    with pytest.raises(UserMistake, match=r"^here: task_id: is missing; the row has \['id'\]"):
        id_of({"id": 1}, "task_id", "here")
