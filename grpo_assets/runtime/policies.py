"""Base policies by kind: how one is built, and how one is loaded with or without what training added to it."""

from pathlib import Path

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Policy, Pretraining
from grpo_assets.runtime import rollouts, tabular
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.sources import locate_model
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.verifier.verifying import verifier


def build_policy(project: Project, name: str, folder: Path) -> dict:
    """Write the base policy of a spec into an empty folder; returns facts about it.

    Raises:
        UserMistake: when what it is made from is not there.
    """
    policy = project.catalog.policies[name]
    if policy.kind == "tabular":
        tabular.build(folder)
        return {}
    if policy.kind == "built":
        from grpo_assets.runtime import tiny_digits  # loads torch

        assert policy.suite is not None
        shares = project.catalog.suites[policy.suite].splits
        return tiny_digits.build(policy.pretraining or Pretraining(), shares, folder)
    from grpo_assets.runtime import conversion  # loads torch

    source = None if policy.kind == "hub" else locate_model(name, policy, project.folder)
    return conversion.convert(policy, source, folder)


def load_policy(policy: Policy, base: Path, fingerprint: str, checkpoint: Path | None = None) -> rollouts.Policy:
    """Load a base policy, or what a checkpoint made of it.

    Args:
        base: the folder of the base policy.
        fingerprint: the base policy's.
        checkpoint: the folder of a checkpoint that was trained from it.
    """
    if policy.kind == "tabular":
        return tabular.load(checkpoint or base, policy.sampling)
    from grpo_assets.runtime import language_model  # loads torch

    return language_model.load(base, fingerprint, policy.sampling, checkpoint / "adapter" if checkpoint else None)


def check_sources(project: Project, experiment: str) -> None:
    """Find out before any work whether an experiment's tasks and policy can be read and go together.

    Raises:
        UserMistake: for a bad row, with file, line number and reason; for a model that is not there.
    """
    spec = project.catalog.experiments[experiment]
    policy = project.catalog.policies[spec.policy]
    suite = project.catalog.suites[spec.suite]
    rows = read_tasks(spec.suite, suite, project.folder).rows
    if any(row["verification"] != "exact" for row in rows):
        verifier()  # there is no point in a run whose programs cannot be judged
    for split, least in (("train", 1), ("dev", 2)):
        size = sum(row["split"] == split for row in rows)
        if size < least:
            raise UserMistake(
                f"suites/{spec.suite}.yaml: {size} of its {len(rows)} tasks fall into the split {split}\n"
                f"  allowed: at least {least}; it needs more tasks, or a larger share in `splits`"
            )
    if policy.kind == "tabular":
        for row in rows:
            tabular.texts_of(row)
    if policy.kind in ("folder", "gguf"):
        locate_model(spec.policy, policy, project.folder)
