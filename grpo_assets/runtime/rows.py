"""Rows of task files: JSONL and JSON lists, plain or gzipped, each with a name for messages."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.tasks import Split, Task


class SourceTask(NamedTuple):
    """A task as its source has it.

    Attributes:
        where: names its row, for messages.
        description: what is compared to find near-duplicates: the prompt without examples and instructions.
        split: the official one, where the suite keeps it.
    """

    where: str
    task: Task
    description: str
    split: Split | None = None


def json_rows(file: Path, name: str) -> Iterator[tuple[str, dict]]:
    """The objects of a JSONL file or of a JSON list, with the place of each; `.gz` is unpacked.

    Args:
        name: of the file in messages.

    Raises:
        UserMistake: for what is no JSON object, with file, line number and reason.
    """
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise UserMistake(f"{name}: {error}\n  allowed: a file that can be read") from None
    if content.lstrip()[:1] == b"[":
        listed = cast(list[object], _json(content, name))
        rows = [(f"{name}: row {number}", row) for number, row in enumerate(listed, start=1)]
    else:
        lines = enumerate(content.split(b"\n"), start=1)  # never splitlines, which cuts at U+2028 too
        rows = [(f"{name}: line {n}", _json(line, f"{name}: line {n}")) for n, line in lines if line.strip()]
    for where, row in rows:
        if not isinstance(row, dict):
            raise UserMistake(f"{where}: {row!r} is not allowed\n  allowed: one JSON object a line")
        yield where, row


def _json(text: bytes, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserMistake(f"{where}: {error}\n  allowed: one JSON object a line, in UTF-8") from None


def text_of(row: dict, field: str, where: str, empty: bool = False) -> str:
    """The text in a field of a row, each of its lines ended by a line feed alone.

    Raises:
        UserMistake: when there is none, or one that is empty where it may not be, or one that is no Unicode.
    """
    value = row.get(field)
    if not isinstance(value, str) or not (empty or value.strip()):
        found = f"{value!r} is not allowed" if field in row else f"is missing; the row has {sorted(row)}"
        raise UserMistake(f"{where}: {field}: {found}\n  allowed: a text{'' if empty else ' that is not empty'}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserMistake(f"{where}: {field}: {value!r} is not allowed\n  allowed: Unicode without lone surrogates")
    return value.replace("\r\n", "\n").replace("\r", "\n")


def texts_of(row: dict, field: str, where: str) -> list[str]:
    """The list of texts in a field of a row.

    Raises:
        UserMistake: when it is none.
    """
    value = row.get(field)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UserMistake(f"{where}: {field}: {value!r} is not allowed\n  allowed: a list of texts")
    return [text_of({field: text}, field, where) for text in value]


def id_of(row: dict, field: str, where: str) -> str:
    """The id in a field of a row; whole numbers are common.

    Raises:
        UserMistake: when there is none.
    """
    number = row.get(field)
    whole = isinstance(number, int) and not isinstance(number, bool)
    return text_of({**row, field: str(number)} if whole else row, field, where)
