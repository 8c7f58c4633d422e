"""Jobs for judges: small ones, and the cheating programs of this project and of the shared folder."""

from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
CHEATS = sorted((TESTS / "cheats").glob("*.py"))
SHARED = sorted((TESTS.parents[1] / "shared" / "hacks").glob("*.py"))

ADDITION = "def add(a, b):\n    return a + b\n"
SHOWN = ["assert add(1, 2) == 3"]
HIDDEN = [
    "assert add(-1, 1) == 0",
    "assert add(2.5, 0.5) == 3.0",
    'assert add("a", "b") == "ab"',
    "assert add([1], [2]) == [1, 2]",
    "assert add(10**12, 1) == 10**12 + 1",
]
# what 51_hardcode_visible knows, and the helper that 55_override_test_helper replaces
SHOWN_TO_51 = ["assert add(0, 0) == 0", "assert add(1.5, 0.5) == 2.0"]
HELPER = "def encode_cyclic(s):\n    return s[1:] + s[:1]\n"


def code_job(program: str = ADDITION, tests: list[str] | None = None, **parts: Any) -> dict[str, Any]:
    """A program with its tests; keywords replace parts."""
    job = {
        "kind": "code",
        "program": program,
        "entry_points": ["add"],
        "setup": "",
        "tests": SHOWN + HIDDEN if tests is None else tests,
        "seconds": 2.0,
    }
    return {**job, **parts}


def text_of(file: Path) -> str:
    """A program as text, its bytes as they are; those that are no UTF-8 become lone surrogates."""
    return file.read_bytes().decode("utf-8", "surrogateescape")


def cheat_jobs(seconds: float) -> dict[str, dict[str, Any]]:
    """All cheating programs by file name, each with the tests that it attacks."""
    jobs = {file.name: code_job(text_of(file), seconds=seconds) for file in CHEATS + SHARED}
    for name, job in jobs.items():
        if name.startswith("51_"):
            job["tests"] = SHOWN + SHOWN_TO_51 + HIDDEN
        if name.startswith("55_"):
            job |= {"setup": HELPER, "entry_points": ["decode_cyclic"]}
            job["tests"] = ['assert decode_cyclic(encode_cyclic("hello")) == "hello"']
    return jobs
