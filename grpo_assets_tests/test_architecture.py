"""The layers: definitions and cli over assets over runtime over domain, and heavy libraries only where they work."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "grpo_assets"
ORDER = ["domain", "runtime", "assets", "top"]
PURE = {"os", "io", "time", "datetime", "random", "subprocess", "socket", "shutil", "tempfile", "threading"}
HEAVY = {"torch", "transformers", "peft", "trl", "datasets", "tokenizers"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(file: Path, top_level: bool = False) -> Iterator[str]:
    """Names of the modules that a file imports; `top_level` leaves out those inside functions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def layer(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "grpo_assets" or len(parts) == 1:
        return None
    return parts[1] if parts[1] in ORDER else "top"


def layer_of(file: Path) -> str:
    first = file.relative_to(PACKAGE).parts[0]
    return first if first in ORDER else "top"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_arrow_points_up(file: Path) -> None:
    """A module imports its own layer or a lower one."""
    allowed = ORDER[: ORDER.index(layer_of(file)) + 1]

    assert {layer(name) for name in imports(file)} - {None} <= set(allowed)


@pytest.mark.parametrize("file", sorted((PACKAGE / "domain").glob("*.py")), ids=lambda file: file.name)
def test_the_domain_is_pure(file: Path) -> None:
    """No file, clock, process or global random number, no Dagster and no model library."""
    roots = {name.split(".")[0] for name in imports(file)}

    assert not roots & (PURE | HEAVY | {"dagster"})
    text = file.read_text(encoding="utf-8")
    assert "np.random.seed" not in text
    assert "open(" not in text


def test_the_runtime_knows_no_dagster() -> None:
    """Effects can be used without the orchestrator."""
    for file in (PACKAGE / "runtime").rglob("*.py"):
        assert "dagster" not in {name.split(".")[0] for name in imports(file)}, file


def test_stages_do_not_import_each_other() -> None:
    """A stage module of the assets knows the shared parts and no other stage."""
    shared = {f"grpo_assets.assets.{name}" for name in ("automation", "partitions", "resources", "training_process")}
    for file in (PACKAGE / "assets").glob("*.py"):
        others = {name for name in imports(file) if name.startswith("grpo_assets.assets.")}
        assert all(any(name.startswith(module) for module in shared) for name in others), file


def test_loading_the_definitions_loads_no_model_library() -> None:
    """The code location starts fast: torch and its like come with the steps that need them."""
    code = f"import sys, grpo_assets.definitions; print(sorted({HEAVY!r} & set(sys.modules)))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip().endswith("[]")


def test_no_module_postpones_annotations() -> None:
    """Dagster reads the annotation of a context at definition time."""
    for file in MODULES:
        assert "from __future__ import annotations" not in file.read_text(encoding="utf-8"), file


def test_packages_are_empty() -> None:
    """There is one import path for each name."""
    for file in PACKAGE.rglob("__init__.py"):
        assert not file.read_text(encoding="utf-8").strip(), file
