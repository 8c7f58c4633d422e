"""Reads the specs of a data folder."""

import os
import sys
from collections.abc import Hashable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from grpo_assets.domain.experiments import check_experiment, parse
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.specs import Automation, Catalog, Experiment, Policy, S, Suite
from grpo_assets.runtime.rewards import rewards_of
from grpo_assets.runtime.sources import ContentHashes, locate_model, locate_tasks

LIBRARIES = ("numpy", "scipy", "statsmodels", "torch", "transformers", "trl", "peft", "math-verify")
OPTIONAL_LIBRARIES = ("reasoning-gym",)


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
    hashes = ContentHashes(folder / "store" / ".scratch" / "hashes.json")
    experiments = _read_all(folder, "experiments", Experiment)
    catalog = Catalog(
        suites=suites,
        policies=policies,
        experiments=experiments,
        suite_sources=_suite_sources(folder, suites, hashes),
        policy_sources=_policy_sources(folder, policies, hashes),
        libraries=_libraries(),
        rewards=rewards_of(experiments, folder),
        automation=_automation(folder),
    )
    hashes.remember()
    for name, policy in policies.items():
        generated = [name for name, suite in suites.items() if suite.source == "digits"]
        if policy.kind == "built" and policy.suite not in generated:
            raise refuse(f"policies/{name}.yaml", "suite", policy.suite, f"one of {listed(generated)}")
    for name, experiment in catalog.experiments.items():
        check_experiment(name, experiment, catalog)
    return catalog


def _automation(folder: Path) -> Automation:
    """What `automation.yaml` says, where there is one."""
    file = folder / "automation.yaml"
    return parse(Automation, _read_yaml(file, file.name), file.name) if file.exists() else Automation()


def _libraries() -> dict[str, str]:
    """Versions of what decides numbers; Python's minor one is among them, since a model's programs run in it."""
    installed = [name for name in OPTIONAL_LIBRARIES if find_spec(name.replace("-", "_"))]
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {**{name: version(name) for name in (*LIBRARIES, *installed)}, "python": python}


def _read_all(folder: Path, kind: str, spec: type[S]) -> Mapping[str, S]:
    for file in (folder / kind).glob("*.yml"):
        raise refuse(f"{kind}/{file.name}", "file name", file.name, f"{file.stem}.yaml; other endings are not read")
    files = sorted((folder / kind).glob("*.yaml"))
    return {file.stem: parse(spec, _read_yaml(file, f"{kind}/{file.name}"), f"{kind}/{file.name}") for file in files}


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error; plain YAML keeps the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                mark = node.value[index][0].start_mark
                raise yaml.constructor.ConstructorError(problem=f"the key {key!r} stands twice", problem_mark=mark)
        return super().construct_mapping(node, deep)


def _read_yaml(file: Path, where: str) -> object:
    try:
        return yaml.load(file.read_text(encoding="utf-8"), _UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserMistake(f"{where}: {line}{error.problem}\n  allowed: YAML, each key once") from None
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        raise UserMistake(f"{where}: {error}\n  allowed: a file of YAML in UTF-8 that can be read") from None


def _suite_sources(folder: Path, suites: Mapping[str, Suite], hashes: ContentHashes) -> dict[str, str]:
    """What the suites' files hold; a suite whose files are not there stops its own experiments only."""
    found = {}
    for name, suite in suites.items():
        if suite.path:
            try:
                found[name] = fingerprint([hashes.of(file) for file in locate_tasks(name, suite, folder)])
            except UserMistake:
                continue
    return found


def _policy_sources(folder: Path, policies: Mapping[str, Policy], hashes: ContentHashes) -> dict[str, str]:
    """What the policies' files hold; a policy whose files are not there stops its own experiments only."""
    found = {}
    for name, policy in policies.items():
        if policy.kind in ("folder", "gguf"):
            try:
                found[name] = hashes.of(locate_model(name, policy, folder))
            except UserMistake:
                continue
    return found
