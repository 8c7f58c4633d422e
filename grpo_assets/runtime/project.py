"""A data folder opened: its specs, the graph of artifacts that they call for, and the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grpo_assets.domain.lineage import Node, Ref, nodes
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Catalog
from grpo_assets.runtime.catalog import data_folder, load_catalog
from grpo_assets.runtime.store import Store


@dataclass(frozen=True)
class Project:
    """A data folder: its specs, the graph of artifacts that they call for, and the store."""

    folder: Path
    catalog: Catalog
    graph: Mapping[Ref, Node]
    store: Store


def open_project(folder: Path | None = None) -> Project:
    """The project in a data folder, by default the one of the environment.

    Raises:
        UserMistake: when the folder or a spec in it is wrong.
    """
    folder = folder or data_folder()
    catalog = load_catalog(folder)
    store = Store(str(folder / "store"), scratch=folder / "store" / ".scratch")
    return Project(folder, catalog, nodes(catalog), store)


def require_writable(project: Project) -> None:
    """Find out before any work whether its results can be kept.

    Raises:
        UserMistake: when the store cannot be written.
    """
    probe = project.store.scratch / "writable"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise UserMistake(
            f"{project.folder / 'store'}: cannot be written: {error.strerror}\n"
            "  allowed: a data folder whose store/ this user can write; GRPO_DATA_DIR names another one"
        ) from None
