"""No cheating program is scored as passing or gets out, in any tier, as root and as an ordinary user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from grpo_assets_tests.runtime.verifier.jobs import CHEATS, SHARED, TESTS, text_of

ATTACK = "grpo_assets_tests.runtime.verifier.attack"
SYSTEM_PYTHON = Path("/usr/bin/python3")
NOBODY = 65534
GROUPS = {
    "leave early",
    "forged equality",
    "patched world",
    "reading the answer",
    "test framework",
    "time",
    "resources",
    "crash",
    "host",
    "serialised results",
    "specification",
}
ATTACKS = [(user, tier) for user in ("this user", "nobody") for tier in ("bwrap", "landlock")]
PROGRAMS = CHEATS + SHARED


@pytest.fixture(scope="session")
def open_copy() -> Iterator[Path]:
    """The package and what the verifier needs of other packages, in a folder that every user can read."""
    root = Path(tempfile.mkdtemp())
    folder = root / "project"
    for name in ("grpo_assets", "grpo_assets_tests"):
        shutil.copytree(TESTS.parent / name, folder / name)
    spec = find_spec("pyseccomp")
    assert spec is not None
    assert spec.origin is not None
    shutil.copy(spec.origin, folder)
    if SHARED:
        shutil.copytree(SHARED[0].parent, root / "shared" / "hacks")
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield folder
    shutil.rmtree(root)


@lru_cache
def report_of(user: str, tier: str, folder: Path) -> dict[str, Any]:
    """What became of all programs, and of the machine."""
    python, identity = sys.executable, {}
    if user == "nobody":
        if os.getuid() != 0:
            pytest.skip("only root can become another user, and this user is an ordinary one already")
        said = subprocess.run(
            [SYSTEM_PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True
        )
        if said.stdout.strip() != b"True":
            pytest.skip("no Python of the system that another user can run")
        python, identity = str(SYSTEM_PYTHON), {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    output = folder / f"{user}-{tier}.json"
    output.touch()
    output.chmod(0o666)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    command = [python, "-m", ATTACK, tier, str(output)]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, **identity)
    assert ran.returncode == 0, ran.stderr
    return json.loads(output.read_text())


def test_the_corpus_covers_each_group() -> None:
    """At least forty programs of our own, at least three a group, each attack named in its first line."""
    groups = [text_of(file).partition("# group: ")[2].partition(";")[0] for file in CHEATS]

    assert len(CHEATS) >= 40
    assert set(groups) == GROUPS
    assert min(groups.count(group) for group in GROUPS) >= 3


@pytest.mark.parametrize(("user", "tier"), ATTACKS)
@pytest.mark.parametrize("program", [file.name for file in PROGRAMS])
def test_a_cheating_program_fails_in_time_and_the_next_one_is_judged_right(
    program: str, user: str, tier: str, open_copy: Path
) -> None:
    """It fails by its own doing, within a second and what tests may take; the honest one beside it passes."""
    seen = report_of(user, tier, open_copy)["programs"][program]

    assert seen["outcome"] == "fail"
    assert not all(seen["passed"])
    assert seen["honest"] == "pass"
    assert seen["wall_seconds"] < 4.0


@pytest.mark.parametrize(("user", "tier"), ATTACKS)
def test_the_machine_is_as_it_was(user: str, tier: str, open_copy: Path) -> None:
    """No file changed, no process stopped, slowed or left, nothing reached over the network, the judges still small."""
    report = report_of(user, tier, open_copy)

    alive = report["alive"]
    assert set(report["files"].values()) == {True}
    assert (alive["stopped"], alive["connections"], report["left"]) == ([], 0, [])
    assert alive["nice"] == ["0"]
    assert alive["memory"] < 200_000, "kilobytes"
    expected = 3 if tier == "bwrap" else 1
    assert [len(processes) for processes in alive["processes"]] == [expected, expected]


@pytest.mark.skipif(not SHARED, reason="the shared folder of cheating programs is not here")
def test_the_shared_programs_are_attacked_with_too() -> None:
    """The corpus of the shared folder is read where it stands."""
    assert len(SHARED) >= 40
