"""Tasks whose completions are programs, from files: our own JSONL, MBPP, sanitized MBPP and HumanEval as published."""

import ast
from collections.abc import Iterator
from pathlib import Path

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.tasks import Split, Task, Tests
from grpo_assets.runtime.rows import SourceTask, id_of, json_rows, text_of, texts_of

MBPP_SPLITS: tuple[tuple[int, Split], ...] = ((10, "train"), (510, "heldout"), (600, "dev"), (974, "train"))
"""The official split of MBPP by the last id of each: few-shot examples, test, validation, train."""


def code_tasks(suite: Suite, files: list[Path]) -> Iterator[SourceTask]:
    """The tasks of a JSONL file in our own form, as `data/tasks/python-basics.jsonl`."""
    for where, row in json_rows(files[0], str(suite.path)):
        text = text_of(row, "text", where)
        shown, hidden = texts_of(row, "visible_tests", where), texts_of(row, "hidden_tests", where)
        for test in (*shown, *hidden):
            _parsed(test, f"{where}: the test")
        task = Task(
            task_id=id_of(row, "id", where),
            prompt=_prompt(text, shown),
            answer=text_of(row, "reference", where),
            source=suite.path or "",
            licence=suite.licence or "",
            family=text_of(row, "family", where) if "family" in row else "",
            candidates=tuple(texts_of(row, "candidates", where)) if "candidates" in row else (),
            verification="tests",
            tests=Tests((text_of(row, "entry_point", where),), (*shown, *hidden), len(shown)),
        )
        yield SourceTask(where, task, text)


def mbpp_tasks(suite: Suite, files: list[Path]) -> Iterator[SourceTask]:
    """The tasks of MBPP, whole or sanitized, which name their parts differently.

    One test is shown in the prompt; the others, and the challenge tests, are hidden.
    The functions that tests call are known from the tests alone.
    """
    names = {"mbpp": ("text", "test_setup_code"), "sanitized-mbpp": ("prompt", "test_imports")}
    described, prepared = names[suite.source]
    for where, row in json_rows(files[0], files[0].name):
        text, program = text_of(row, described, where).strip(), text_of(row, "code", where)
        tests = [test.strip() for test in texts_of(row, "test_list", where)]
        tests += [test.strip() for test in texts_of({"challenge_test_list": [], **row}, "challenge_test_list", where)]
        if suite.source == "mbpp":
            setup = text_of(row, prepared, where, empty=True)
        else:
            setup = "\n".join(texts_of(row, prepared, where))
        task = Task(
            task_id=id_of(row, "task_id", where),
            prompt=_prompt(text, tests[:1]),
            answer=program,
            source=suite.source,
            licence=suite.licence or "",
            verification="tests",
            tests=Tests(_called(program, tests, where), tuple(tests), len(tests[:1]), setup=setup),
        )
        yield SourceTask(where, task, text, _mbpp_split(task.task_id, where) if suite.official_splits else None)


def humaneval_tasks(suite: Suite, files: list[Path]) -> Iterator[SourceTask]:
    """The tasks of HumanEval: completions go on from the head of the function, or write it anew.

    The statements of `check` become tests of their own, and the judge has its own copy of the functions that the prompt
    defines beside the one to write.
    """
    for where, row in json_rows(files[0], files[0].name):
        prompt, name = text_of(row, "prompt", where), text_of(row, "entry_point", where)
        task = Task(
            task_id=id_of(row, "task_id", where),
            prompt=prompt,
            answer=text_of(row, "canonical_solution", where),
            source="HumanEval",
            licence=suite.licence or "",
            verification="tests",
            tests=Tests(
                entry_points=(name,),
                tests=tuple(_statements_of_check(text_of(row, "test", where), where)),
                shown=0,
                preamble=prompt,
                setup=f"{_without(prompt, name, where)}\ncandidate = {name}\n",
            ),
        )
        yield SourceTask(where, task, prompt.rpartition("def ")[2])


def _prompt(text: str, shown: list[str]) -> str:
    if not shown:
        return text
    tests = "\n".join(shown)
    return f"{text}\nYour code should pass {'this test' if len(shown) == 1 else 'these tests'}:\n{tests}\n"


def _mbpp_split(task_id: str, where: str) -> Split:
    number = int(task_id) if task_id.isascii() and task_id.isdigit() else 0
    found = [split for last, split in MBPP_SPLITS if 1 <= number <= last]
    if not found:
        raise UserMistake(f"{where}: task_id: {task_id!r} is not allowed\n  allowed: 1 to 974, for official_splits")
    return found[0]


def _parsed(code: str, where: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserMistake(f"{where} {code[:60]!r}: {error}\n  allowed: code of Python") from None


def _called(program: str, tests: list[str], where: str) -> tuple[str, ...]:
    """The functions and classes of a program that its tests name."""
    defined = {
        node.name
        for node in _parsed(program, f"{where}: code").body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    named = [
        node.id
        for test in tests
        for node in ast.walk(_parsed(test, f"{where}: the test"))
        if isinstance(node, ast.Name)
    ]
    return tuple(dict.fromkeys(name for name in named if name in defined))


def _statements_of_check(test: str, where: str) -> list[str]:
    """The tests in the body of `check(candidate)`: each assertion with the statements that prepare it."""
    checks = [
        node
        for node in _parsed(test, f"{where}: test").body
        if isinstance(node, ast.FunctionDef) and node.name == "check"
    ]
    if not checks:
        raise UserMistake(f"{where}: test: it defines no function check\n  allowed: rows of HumanEval")
    found, preparing = [], []
    for statement in checks[0].body:
        preparing.append(ast.unparse(statement))
        asserts = [node for node in ast.walk(statement) if isinstance(node, ast.Assert)]
        if any(not isinstance(node.test, ast.Constant) for node in asserts):  # `assert True` checks nothing
            found.append("\n".join(preparing))
            preparing = []
    return found


def _without(prompt: str, name: str, where: str) -> str:
    """The code of a prompt without the function that is to be written."""
    tree = _parsed(prompt, f"{where}: prompt")
    kept = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name == name)]
    return ast.unparse(ast.Module(kept, []))
