"""Base policies by kind: how one is built, and how one is loaded with or without what training added to it."""

from pathlib import Path

from grpo_assets.domain.specs import Catalog, Policy, Pretraining
from grpo_assets.runtime import rollouts, tabular
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.suites import read_tasks


def build_policy(name: str, catalog: Catalog, folder: Path) -> dict:
    """Write the base policy of a spec into an empty folder; returns facts about it."""
    policy = catalog.policies[name]
    if policy.kind == "tabular":
        tabular.build(folder)
        return {}
    from grpo_assets.runtime import tiny_digits  # loads torch

    assert policy.suite is not None
    return tiny_digits.build(policy.pretraining or Pretraining(), catalog.suites[policy.suite].splits, folder)


def load_policy(spec: Policy, base: Path, checkpoint: Path | None = None) -> rollouts.Policy:
    """Load a base policy, or what a checkpoint made of it.

    Args:
        base: the folder of the base policy.
        checkpoint: the folder of a checkpoint that was trained from it.
    """
    if spec.kind == "tabular":
        return tabular.load(checkpoint or base, spec.sampling)
    from grpo_assets.runtime import language_model  # loads torch

    return language_model.load(base, spec.sampling, checkpoint / "adapter" if checkpoint else None)


def check_suite(project: Project, experiment: str) -> None:
    """Find out before any work whether the tasks of an experiment can be read and its policy can complete them.

    Raises:
        UserMistake: for a bad row, with file, line number and reason.
    """
    spec = project.catalog.experiments[experiment]
    rows = read_tasks(project.catalog.suites[spec.suite], project.folder)
    if project.catalog.policies[spec.policy].kind == "tabular":
        for row in rows:
            tabular.texts_of(row)
