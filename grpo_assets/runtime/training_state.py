"""Saved states of a training: the last whole one is what a stopped training goes on from."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from grpo_assets.runtime.store import file_hashes

COMPLETE = "complete.json"
KEPT = 2
"""The last state and the one before it, in case the last is damaged."""


class Saved(NamedTuple):
    """A state that can be gone on from."""

    step: int
    folder: Path


def mark_complete(folder: Path) -> None:
    """Write the hashes of a state's files beside them, last and at once: only then does it count."""
    incoming = folder / f"{COMPLETE}.incoming"
    incoming.write_text(json.dumps(file_hashes(folder)), encoding="utf-8")
    incoming.replace(folder / COMPLETE)


def last_whole(state: Path) -> tuple[Saved | None, list[str]]:
    """The latest state whose files are what they were when it was saved, and what is wrong with later ones.

    States that were not finished or are damaged are removed.
    """
    damages: list[str] = []
    for saved in reversed(_states(state)):
        damage = _damage(saved.folder)
        if damage is None:
            return saved, damages
        damages.append(f"the saved state of step {saved.step} is left out: {damage}")
        shutil.rmtree(saved.folder)
    return None, damages


def drop_old(state: Path) -> None:
    """Remove all but the last states."""
    for saved in _states(state)[:-KEPT]:
        shutil.rmtree(saved.folder)


def _states(state: Path) -> list[Saved]:
    """All states by step; transformers names them checkpoint-STEP."""
    found = [folder for folder in state.glob("checkpoint-*") if folder.is_dir()]
    return sorted(Saved(int(folder.name.removeprefix("checkpoint-")), folder) for folder in found)


def _damage(folder: Path) -> str | None:
    if not (folder / COMPLETE).exists():
        return "it was not finished"
    expected = json.loads((folder / COMPLETE).read_text(encoding="utf-8"))
    found = {name: sha256 for name, sha256 in file_hashes(folder).items() if name != COMPLETE}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            return f"{name} is not the file that was saved" if name in found else f"{name} is gone"
    return None
