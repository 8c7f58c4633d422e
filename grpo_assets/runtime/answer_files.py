"""Tasks with an answer, from files: JSONL of the user's, and GSM8K as it is published."""

from collections.abc import Iterator
from pathlib import Path

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Fields, Suite
from grpo_assets.domain.tasks import Task
from grpo_assets.runtime.rows import SourceTask, id_of, json_rows, text_of, texts_of
from grpo_assets.runtime.verifier.answers import whole_number

GSM8K_INSTRUCTION = "Write the final answer, a whole number, on a last line that starts with ####."


def answer_tasks(suite: Suite, files: list[Path]) -> Iterator[SourceTask]:
    """The tasks of a JSONL file of the user's, by the names that the suite gives to its fields."""
    fields = suite.fields or Fields()
    for number, (where, row) in enumerate(json_rows(files[0], str(suite.path)), start=1):
        prompt = text_of(row, fields.prompt, where)
        task = Task(
            task_id=id_of(row, fields.task_id, where) if fields.task_id else str(number),
            prompt=prompt,
            answer=text_of(row, fields.answer, where),
            source=suite.path or "",
            licence=suite.licence or "",
            family=text_of(row, fields.family, where) if fields.family else "",
            candidates=tuple(_candidates(row, fields, where)),
            verification=suite.verification or "exact",
        )
        if task.verification == "integer" and whole_number(task.answer) is None:
            raise UserMistake(f"{where}: {fields.answer}: {task.answer!r} is not allowed\n  allowed: a whole number")
        yield SourceTask(where, task, prompt)


def _candidates(row: dict, fields: Fields, where: str) -> list[str]:
    named = fields.candidates if fields.candidates in row else None
    return texts_of(row, named, where) if named else []


def gsm8k_tasks(suite: Suite, files: list[Path]) -> Iterator[SourceTask]:
    """The word problems of GSM8K; a second file holds the official test tasks, which become the held-out ones."""
    for file, split in zip(files, (None, "heldout"), strict=False):
        for number, (where, row) in enumerate(json_rows(file, file.name), start=1):
            question = text_of(row, "question", where).strip()
            _, marker, answer = text_of(row, "answer", where).rpartition("####")
            value = whole_number(answer) if marker else None
            if value is None:
                raise UserMistake(f"{where}: answer: no whole number after ####\n  allowed: rows of GSM8K")
            task = Task(
                task_id=f"{file.stem}-{number}",
                prompt=f"{question}\n{GSM8K_INSTRUCTION}",
                answer=str(value),
                source="GSM8K",
                licence=suite.licence or "",
                verification="integer",
            )
            yield SourceTask(where, task, question, split)  # type: ignore[arg-type]
