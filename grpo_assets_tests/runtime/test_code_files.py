"""Tasks whose completions are programs survive the oddities of the files that they come in."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.runtime.code_files import code_tasks, humaneval_tasks, mbpp_tasks
from grpo_assets.runtime.rows import SourceTask
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.verifier.admission import admit

READERS = {"code": code_tasks, "mbpp": mbpp_tasks, "sanitized-mbpp": mbpp_tasks, "humaneval": humaneval_tasks}

OWN: dict[str, Any] = {
    "id": "double",
    "text": "Write a function `double(n)` that returns twice n.",
    "entry_point": "double",
    "visible_tests": ["assert double(2) == 4"],
    "hidden_tests": ["assert double(0) == 0", "assert double(-3) == -6"],
    "reference": "def double(n):\n    return 2 * n\n",
}
MBPP: dict[str, Any] = {
    "task_id": 11,
    "text": "Write a function to add two numbers.",
    "code": "def add(a, b):\r\n\treturn a + b",
    "test_setup_code": "",
    "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0", "assert add(2, -5) == -3"],
    "challenge_test_list": [],
}
SANITIZED: dict[str, Any] = {
    "source_file": "a notebook",
    "task_id": 11,
    "prompt": "Write a function to find whether a text has a digit.",
    "code": "import re\ndef has_digit(text):\n  return re.search(r'\\d', text)",
    "test_imports": ["import math", "import string"],
    "test_list": ["assert has_digit('a1')", "assert not has_digit('ab')", "assert has_digit(string.digits)"],
}
HUMANEVAL: dict[str, Any] = {
    "task_id": "HumanEval/38",
    "prompt": (
        "import math\n\n\ndef mirrored(s: str):\n    return s[::-1]\n\n\n"
        'def restored(s: str):\n    """Undoes mirrored.\n    >>> restored("ab")\n    "ba"\n    """\n'
    ),
    "entry_point": "restored",
    "canonical_solution": "    return mirrored(s)\n",
    "test": (
        "\n\nMETADATA = {\n    'author': 'jt',\n    'dataset': 'test'\n}\n\n\ndef check(candidate):\n"
        "    from random import choice\n"
        "    # a few simple ones\n"
        "    assert True, 'This prints if this assert fails 1 (good for debugging!)'\n"
        "    letters = 'abc'\n"
        "    for _ in range(5):\n"
        "        text = choice(letters) + choice(letters) + 'd'\n"
        "        assert candidate(mirrored(text)) == text\n"
        "    long = 100 * letters\n"
        "    assert candidate(long) == 100 * 'cba', 'a long one'\n"
        "    assert candidate('') == ''\n"
        "    assert True\n\n"
    ),
}
ROWS = {"code": OWN, "mbpp": MBPP, "sanitized-mbpp": SANITIZED, "humaneval": HUMANEVAL}


def suite(source: str, **parts: object) -> Suite:
    return Suite(**{"source": source, "path": f"{source}.jsonl", "licence": "CC0-1.0", **parts})


def write(folder: Path, source: str, *rows: object) -> Path:
    file = folder / f"{source}.jsonl"
    file.write_bytes(b"\r\n".join(json.dumps(row, ensure_ascii=False).encode() for row in rows))
    return file


def read(folder: Path, source: str, *rows: object, **parts: object) -> list[SourceTask]:
    return list(READERS[source](suite(source, **parts), [write(folder, source, *rows)]))


def refused(folder: Path, source: str, bad: object, **parts: object) -> str:
    """What is said of a row that stands behind a good one."""
    with pytest.raises(UserMistake) as mistake:
        read(folder, source, ROWS[source], bad, **parts)
    return str(mistake.value)


@pytest.mark.parametrize("source", READERS)
def test_every_task_says_where_it_comes_from(tmp_path: Path, source: str) -> None:
    """Source, licence and the place of the row are known, and completions are programs."""
    [found] = read(tmp_path, source, ROWS[source])

    origin = {"code": "code.jsonl", "humaneval": "HumanEval"}.get(source, source)
    assert found.where == f"{source}.jsonl: line 1"
    assert (found.task.source, found.task.licence, found.task.verification) == (origin, "CC0-1.0", "tests")
    assert found.split is None


def test_our_own_rows_are_read(tmp_path: Path) -> None:
    """The visible tests stand in the prompt and come first, the hidden ones do not."""
    [found] = read(tmp_path, "code", OWN)

    assert found.task.task_id == "double"
    assert found.task.prompt == f"{OWN['text']}\nYour code should pass this test:\nassert double(2) == 4\n"
    assert found.task.answer == OWN["reference"]
    assert (found.task.family, found.task.candidates) == ("", ())
    assert found.description == OWN["text"]
    tests = found.task.tests
    assert (tests.entry_points, tests.shown, tests.preamble, tests.setup) == (("double",), 1, "", "")
    assert tests.tests == ("assert double(2) == 4", "assert double(0) == 0", "assert double(-3) == -6")


def test_our_own_rows_may_have_a_family_and_candidates(tmp_path: Path) -> None:
    """Both may be left out, and texts lose their carriage returns."""
    wrong = "def double(n):\r\n    return n\r"

    [found] = read(tmp_path, "code", {**OWN, "family": "numbers", "candidates": [wrong], "id": 7})

    assert (found.task.task_id, found.task.family) == ("7", "numbers")
    assert found.task.candidates == ("def double(n):\n    return n\n",)


def test_a_prompt_with_several_tests_says_so(tmp_path: Path) -> None:
    """Each visible test has a line of its own."""
    [found] = read(tmp_path, "code", {**OWN, "visible_tests": ["assert double(1) == 2", "assert double(2) == 4"]})

    assert found.task.prompt.endswith(
        "Your code should pass these tests:\nassert double(1) == 2\nassert double(2) == 4\n"
    )
    assert found.task.tests.shown == 2


def test_mbpp_is_read(tmp_path: Path) -> None:
    """One test stands in the prompt, the others are hidden, and numbers become ids."""
    [found] = read(tmp_path, "mbpp", MBPP)

    assert found.task.task_id == "11"
    assert found.task.prompt == f"{MBPP['text']}\nYour code should pass this test:\nassert add(1, 2) == 3\n"
    assert found.description == MBPP["text"]
    tests = found.task.tests
    assert (tests.entry_points, tests.shown, tests.preamble, tests.setup) == (("add",), 1, "", "")
    assert tests.tests == tuple(MBPP["test_list"])


def test_challenge_tests_are_hidden_tests(tmp_path: Path) -> None:
    """Eleven rows of MBPP have some; a row without the field has none."""
    challenge = "assert add(10**20, 1) == 10**20 + 1"
    without = {name: value for name, value in MBPP.items() if name != "challenge_test_list"}

    [hard] = read(tmp_path, "mbpp", {**MBPP, "challenge_test_list": [challenge]})
    [plain] = read(tmp_path, "mbpp", without)

    assert hard.task.tests.tests == (*MBPP["test_list"], challenge)
    assert (hard.task.tests.shown, hard.task.prompt) == (1, plain.task.prompt)
    assert plain.task.tests.tests == tuple(MBPP["test_list"])


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("def add(a, b):\r\n\treturn a + b", "def add(a, b):\n\treturn a + b"),
        ("def add(a, b):\r\n\treturn a + b\r", "def add(a, b):\n\treturn a + b\n"),
        ("def add(a, b): \r\n\r\n\treturn a + b\t\r\n", "def add(a, b): \n\n\treturn a + b\t\n"),
    ],
    ids=repr,
)
def test_programs_have_line_feeds_alone(tmp_path: Path, written: str, read_as: str) -> None:
    """Nearly all of MBPP has CRLF and four rows end in a lone carriage return; blanks and tabs stay."""
    [found] = read(tmp_path, "mbpp", {**MBPP, "code": written})

    assert found.task.answer == read_as


def test_blanks_around_tests_and_descriptions_go(tmp_path: Path) -> None:
    """A test with a blank in front would be no statement."""
    padded = {**MBPP, "text": f" {MBPP['text']}\r\n", "test_list": [f"  {test}\r\n " for test in MBPP["test_list"]]}

    [found] = read(tmp_path, "mbpp", padded)
    [plain] = read(tmp_path, "mbpp", MBPP)

    assert (found.task, found.description) == (plain.task, plain.description)


@pytest.mark.parametrize(
    ("code", "tests", "called"),
    [
        # the function is neither the first nor the last
        ("def a(x): return x\ndef b(x): return a(x)\ndef c(x): return x\n", ["assert b(1) == 1"], ("b",)),
        # its name is that of a built-in function, and the tests use other built-in ones
        ("def sum(a, b): return a + b\n", ["assert sum(1, 2) == 3", "assert set([sum(1, 1)]) == set([2])"], ("sum",)),
        # so is that of its helper, which no test names
        ("def max(x): return x\ndef check(x): return max(x)\n", ["assert check(1) == 1"], ("check",)),
        # tests call two, and each stands once
        ("def f(x): return x\ndef g(x): return x\n", ["assert g(f(1)) == f(1)", "assert f(2) == 2"], ("g", "f")),
        # classes count
        ("class Pair:\n    pass\ndef f(x): return x\n", ["assert f([Pair()]) != 1"], ("f", "Pair")),
        # methods, functions inside others and plain variables do not
        ("x = 1\ndef f(n):\n    def g(): return n\n    return g()\n", ["g = 1\nassert f(x) == g"], ("f",)),
    ],
)
def test_functions_that_tests_call_are_known_from_the_tests(
    tmp_path: Path, code: str, tests: list[str], called: tuple[str, ...]
) -> None:
    """MBPP names no entry point: it is what the program defines and a test names."""
    [found] = read(tmp_path, "mbpp", {**MBPP, "code": code, "test_list": tests})

    assert sorted(found.task.tests.entry_points) == sorted(called)


def test_setup_code_is_for_the_judge_alone(tmp_path: Path) -> None:
    """It runs after the program, so it stands neither in front of completions nor in the prompt."""
    setup = "import math\r\nroot = math.sqrt(4)"

    [found] = read(tmp_path, "mbpp", {**MBPP, "test_setup_code": setup})

    assert found.task.tests.setup == "import math\nroot = math.sqrt(4)"
    assert found.task.tests.preamble == ""
    assert "math" not in found.task.prompt


def test_sanitized_mbpp_has_other_names(tmp_path: Path) -> None:
    """Its description is called prompt, and its setup is a list of imports."""
    [found] = read(tmp_path, "sanitized-mbpp", SANITIZED)

    assert found.description == SANITIZED["prompt"]
    assert found.task.prompt.startswith(f"{SANITIZED['prompt']}\nYour code should pass this test:\n")
    assert found.task.tests.entry_points == ("has_digit",)
    assert found.task.tests.setup == "import math\nimport string"
    assert found.task.tests.tests == tuple(SANITIZED["test_list"])


def test_sanitized_mbpp_is_a_list(tmp_path: Path) -> None:
    """As published it is one JSON list, whose rows have numbers."""
    file = tmp_path / "set.json"
    file.write_text(json.dumps([SANITIZED, {**SANITIZED, "task_id": 12}]), encoding="utf-8")

    found = list(mbpp_tasks(suite("sanitized-mbpp"), [file]))

    assert [source.where for source in found] == ["set.json: row 1", "set.json: row 2"]
    assert [source.task.task_id for source in found] == ["11", "12"]


@pytest.mark.parametrize(
    ("source", "row", "reason"),
    [("mbpp", SANITIZED, "text: is missing"), ("sanitized-mbpp", MBPP, "prompt: is missing")],
)
def test_the_two_kinds_of_mbpp_are_not_mixed_up(tmp_path: Path, source: str, row: dict, reason: str) -> None:
    """A file of the other kind is refused for its first field that is missing."""
    with pytest.raises(UserMistake, match=rf"^{source}\.jsonl: line 1: {reason}; the row has "):
        read(tmp_path, source, row)


@pytest.mark.parametrize(
    ("task_id", "split"),
    [
        (1, "train"),  # 1 to 10 are for prompts with examples
        (10, "train"),
        (11, "heldout"),  # 11 to 510 are the test tasks
        (510, "heldout"),
        (511, "dev"),  # 511 to 600 are for validation
        (600, "dev"),
        (601, "train"),
        (974, "train"),
    ],
)
def test_official_splits_go_by_id(tmp_path: Path, task_id: int, split: str) -> None:
    """They are kept where the suite asks for them, and only there."""
    row = {**MBPP, "task_id": task_id}

    [official] = read(tmp_path, "mbpp", row, official_splits=True)
    [other] = read(tmp_path, "mbpp", row, official_splits=False)

    assert (official.split, other.split) == (split, None)
    assert official.task == other.task


@pytest.mark.parametrize("task_id", [0, -1, 975, "Mbpp/11"], ids=repr)
def test_ids_that_mbpp_does_not_have_are_in_none_of_its_splits(tmp_path: Path, task_id: object) -> None:
    """A file of the user's own has no official splits; the message names its row and its id."""
    message = refused(tmp_path, "mbpp", {**MBPP, "task_id": task_id}, official_splits=True)

    assert message.startswith("mbpp.jsonl: line 2: ")
    assert str(task_id) in message
    assert "\n  allowed: " in message


def test_near_duplicates_across_official_splits_are_reported(tmp_path: Path) -> None:
    """They keep their splits and share a cluster; where clusters are split by hash there is nothing to report."""
    twin = {**MBPP, "task_id": 700, "code": "def plus(x, y):\n    return y + x\n", "test_list": ["assert plus(1, 0)"]}
    write(tmp_path, "mbpp", MBPP, twin)

    official = read_tasks("mine", suite("mbpp", official_splits=True), tmp_path)
    by_hash = read_tasks("mine", suite("mbpp"), tmp_path)

    assert [row["split"] for row in official.rows] == ["heldout", "train"]
    assert official.leaks == [{"heldout": "11", "train": "700", "rule": "same_prompt"}]
    assert len({row["cluster"] for row in official.rows}) == 1
    assert len({row["split"] for row in by_hash.rows}) == 1
    assert by_hash.leaks is None


def test_official_splits_without_near_duplicates_leak_nothing(tmp_path: Path) -> None:
    """An empty list says that they were looked for."""
    write(tmp_path, "mbpp", MBPP)

    assert read_tasks("mine", suite("mbpp", official_splits=True), tmp_path).leaks == []


def test_humaneval_is_read(tmp_path: Path) -> None:
    """Completions go on from the prompt, nothing is shown, and the description is the function's own."""
    [found] = read(tmp_path, "humaneval", HUMANEVAL)

    assert (found.task.task_id, found.task.prompt) == ("HumanEval/38", HUMANEVAL["prompt"])
    assert found.task.answer == HUMANEVAL["canonical_solution"]
    assert found.description.startswith("restored(s: str):")
    tests = found.task.tests
    assert (tests.entry_points, tests.shown, tests.preamble) == (("restored",), 0, HUMANEVAL["prompt"])


def test_the_statements_of_check_are_tests_of_their_own(tmp_path: Path) -> None:
    """Each assertion has the statements that prepare it, and `assert True` is none."""
    [found] = read(tmp_path, "humaneval", HUMANEVAL)

    first, second, third = found.task.tests.tests
    assert first.startswith("from random import choice\n")
    assert first.endswith("assert candidate(mirrored(text)) == text")
    assert "letters = 'abc'" in first
    assert second == "long = 100 * letters\nassert candidate(long) == 100 * 'cba', 'a long one'"
    assert third == "assert candidate('') == ''"


@pytest.mark.parametrize(
    ("restored", "held"),
    [
        (lambda s: s[::-1], [True, True, True]),
        (lambda s: s, [False, False, True]),
        (lambda s: s[::-1] if len(s) < 9 else s, [True, False, True]),
        (lambda s: None, [False, False, False]),
    ],
    ids=["right", "unchanged", "long ones wrong", "nothing"],
)
def test_the_tests_of_check_tell_right_from_wrong(tmp_path: Path, restored: object, held: list[bool]) -> None:
    """They run one after the other behind the setup, which has its own copy of what the prompt defines."""
    [found] = read(tmp_path, "humaneval", HUMANEVAL)
    namespace = {"restored": restored}
    exec(found.task.tests.setup, namespace)

    outcomes = []
    for test in found.task.tests.tests:
        try:
            exec(test, namespace)
        except AssertionError:
            outcomes.append(False)
        else:
            outcomes.append(True)

    assert outcomes == held
    assert namespace["restored"] is namespace["candidate"] is restored


def test_the_setup_has_the_other_functions_of_the_prompt(tmp_path: Path) -> None:
    """The judge must not ask the program for them, which may have changed them."""
    [found] = read(tmp_path, "humaneval", HUMANEVAL)

    setup = found.task.tests.setup
    assert "def mirrored(" in setup
    assert "import math" in setup
    assert "def restored(" not in setup


def test_humaneval_is_read_as_published(tmp_path: Path) -> None:
    """The file is gzipped, and named in messages as it is."""
    file = tmp_path / "HumanEval.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(HUMANEVAL).encode() + b"\n"))

    [found] = humaneval_tasks(suite("humaneval"), [file])

    assert found.where == "HumanEval.jsonl.gz: line 1"


def test_a_check_without_assertions_gives_no_tests(tmp_path: Path) -> None:
    """Forgetting to check passes everything, so admission has to see that there is no test."""
    [found] = read(tmp_path, "humaneval", {**HUMANEVAL, "test": "def check(candidate):\n    assert True\n"})

    assert found.task.tests.tests == ()


def test_odd_separators_inside_texts_stay(tmp_path: Path) -> None:
    """U+2028 ends no row, neither in a description nor in a program."""
    odd = {**MBPP, "text": "Add\u2028two\u0085numbers.", "code": MBPP["code"] + "  # \u2028"}

    first, second = read(tmp_path, "mbpp", odd, {**MBPP, "task_id": 12})

    assert first.description == "Add\u2028two\u0085numbers."
    assert first.task.answer.endswith("# \u2028")
    assert second.where == "mbpp.jsonl: line 2"


NO_PYTHON = "def broken(:\n"


@pytest.mark.parametrize(
    ("source", "part", "reason"),
    [
        ("code", {"id": None}, "id: None is not allowed"),
        ("code", {"text": " "}, "text: ' ' is not allowed"),
        ("code", {"entry_point": 7}, "entry_point: 7 is not allowed"),
        ("code", {"visible_tests": "assert double(2) == 4"}, "visible_tests: 'assert double(2) == 4' is not allowed"),
        ("code", {"hidden_tests": [7]}, "hidden_tests: [7] is not allowed"),
        ("code", {"hidden_tests": ["assert double("]}, "the test 'assert double('"),
        ("code", {"visible_tests": ["  assert double(2) == 4"]}, "the test '  assert double(2) == 4'"),
        ("code", {"reference": ""}, "reference: '' is not allowed"),
        ("code", {"candidates": None}, "candidates: None is not allowed"),
        ("code", {"family": 7}, "family: 7 is not allowed"),
        ("mbpp", {"task_id": True}, "task_id: True is not allowed"),
        ("mbpp", {"code": None}, "code: None is not allowed"),
        ("mbpp", {"test_setup_code": None}, "test_setup_code: None is not allowed"),
        ("mbpp", {"test_list": None}, "test_list: None is not allowed"),
        ("mbpp", {"test_list": ["assert add(1, 2) =="]}, "the test 'assert add(1, 2) =='"),
        ("mbpp", {"challenge_test_list": ["assert \0"]}, "the test 'assert \\x00'"),
        ("mbpp", {"challenge_test_list": "none"}, "challenge_test_list: 'none' is not allowed"),
        ("sanitized-mbpp", {"test_imports": "import math"}, "test_imports: 'import math' is not allowed"),
        ("humaneval", {"prompt": ""}, "prompt: '' is not allowed"),
        ("humaneval", {"entry_point": None}, "entry_point: None is not allowed"),
        ("humaneval", {"canonical_solution": " \n"}, "canonical_solution: ' \\n' is not allowed"),
        ("humaneval", {"test": "assert restored('') == ''"}, "test: it defines no function check"),
        # programs that are no Python, which the reader has to look into
        ("mbpp", {"code": NO_PYTHON}, "code"),
        ("sanitized-mbpp", {"code": NO_PYTHON}, "code"),
        ("humaneval", {"test": NO_PYTHON}, "test"),
        ("humaneval", {"prompt": NO_PYTHON}, "prompt"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, source: str, part: dict, reason: str) -> None:
    """The message has the file, the line, what is wrong and what is allowed."""
    message = refused(tmp_path, source, {**ROWS[source], **part})

    assert message.startswith(f"{source}.jsonl: line 2: ")
    assert reason in message
    assert "\n  allowed: " in message


@pytest.mark.parametrize("source", READERS)
def test_right_answers_are_admitted(tmp_path: Path, source: str) -> None:
    """Every oddity of the rows above survives to the judge: helpers, imports, truth values, carriage returns."""
    write(tmp_path, source, ROWS[source])
    rows = read_tasks("mine", suite(source), tmp_path).rows

    admitted, rejected = admit(rows)

    assert rejected == []
    assert [row["task_id"] for row in admitted] == [row["task_id"] for row in rows]


def test_a_function_that_shadows_a_built_in_one_is_judged(tmp_path: Path) -> None:
    """The tests call the program's `sum`, not Python's; and a setup that needs the program's own names sees them."""
    common = "[n for n in range(1, a + 1) if a % n == 0 == b % n]"
    shadowing = {
        **MBPP,
        "code": f"def sum(a, b):\r\n\treturn len({common})\r",
        "test_setup_code": "expected = sum(10, 15)",
        "test_list": ["assert sum(10, 15) == expected", "assert sum(100, 150) == 6", "assert sum(1, 1) == 1"],
    }
    write(tmp_path, "mbpp", shadowing)

    admitted, rejected = admit(read_tasks("mine", suite("mbpp"), tmp_path).rows)

    assert rejected == []
    assert [row["tests"]["entry_points"] for row in admitted] == [("sum",)]
