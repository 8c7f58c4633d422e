"""Reads the specs of a data folder."""

import hashlib
import os
from collections.abc import Hashable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from grpo_assets.domain.experiments import check_experiment, parse
from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.specs import Catalog, Experiment, Policy, S, Suite

LIBRARIES = ("numpy", "torch", "transformers", "trl", "peft")


def data_folder() -> Path:
    """The data folder: `GRPO_DATA_DIR`, else `data` in the current folder.

    Raises:
        UserMistake: when it does not exist.
    """
    folder = Path(os.environ.get("GRPO_DATA_DIR", "data")).absolute()
    if not (folder / "experiments").is_dir():
        raise UserMistake(
            f"{folder}: no data folder with experiments/ in it\n"
            "  go to the folder that holds data/, or set GRPO_DATA_DIR to the data folder itself"
        )
    return folder


def load_catalog(folder: Path) -> Catalog:
    """All specs of a data folder, checked against each other.

    Raises:
        UserMistake: for the first file that is wrong.
    """
    suites = _read_all(folder, "suites", Suite)
    policies = _read_all(folder, "policies", Policy)
    catalog = Catalog(
        suites=suites,
        policies=policies,
        experiments=_read_all(folder, "experiments", Experiment),
        suite_sources={name: _sha256(folder, name, suite) for name, suite in suites.items() if suite.path},
        libraries={name: version(name) for name in LIBRARIES},
    )
    for name, policy in policies.items():
        generated = [name for name, suite in suites.items() if suite.generator]
        if policy.kind == "built" and policy.suite not in generated:
            raise refuse(f"policies/{name}.yaml", "suite", policy.suite, f"one of {listed(generated)}")
    for name, experiment in catalog.experiments.items():
        check_experiment(name, experiment, catalog)
    return catalog


def _read_all(folder: Path, kind: str, spec: type[S]) -> Mapping[str, S]:
    files = sorted((folder / kind).glob("*.yaml"))
    return {file.stem: parse(spec, _read_yaml(file), f"{kind}/{file.name}") for file in files}


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error; plain YAML keeps the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                mark = node.value[index][0].start_mark
                raise yaml.constructor.ConstructorError(problem=f"the key {key!r} stands twice", problem_mark=mark)
        return super().construct_mapping(node, deep)


def _read_yaml(file: Path) -> object:
    where = f"{file.parent.name}/{file.name}"
    try:
        return yaml.load(file.read_text(encoding="utf-8"), _UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserMistake(f"{where}: {line}{error.problem}\n  allowed: YAML with each key once") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserMistake(f"{where}: {error}\n  allowed: YAML in UTF-8") from None


def _sha256(folder: Path, name: str, suite: Suite) -> str:
    file = folder / str(suite.path)
    if not file.is_file():
        raise refuse(f"suites/{name}.yaml", "path", suite.path, "a file; a relative path starts at the data folder")
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
