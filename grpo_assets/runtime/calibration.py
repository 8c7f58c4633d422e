"""What trainings of this store took, for the plans of others, and planned against actual."""

import json
from collections import defaultdict
from typing import Any

import numpy as np

from grpo_assets.domain.costs import Measured, Shape, shape_of
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.planning import Circumstances
from grpo_assets.runtime.hardware import kind_of_hardware
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import DamagedArtifact

LEAST_SEEDS = 8
"""Degrees of freedom from which the spread between seeds is taken from history."""


def measured_trainings(project: Project) -> list[Measured]:
    """All trainings that the store has, of whatever experiment."""
    found = []
    for ref in project.graph:
        if ref.asset == "checkpoint" and (manifest := _manifest(project, ref)):
            facts, settings = manifest["facts"], manifest["settings"]
            base = next(value for name, value in manifest["inputs"].items() if name.startswith("base_policy "))
            found.append(
                Measured(
                    hardware=manifest["hardware"],
                    base=base,
                    trainer=settings["trainer"],
                    kl=settings["variant"]["kl_beta"] > 0,
                    steps=facts["steps"],
                    tokens=facts["tokens"],
                    seconds=seconds_of(project, ref),
                )
            )
    return found


def seconds_of(project: Project, ref: Ref) -> float:
    """What the steps of a checkpoint took; measured time stands in its metrics alone."""
    return sum(line["seconds"] for line in project.store.json_lines(ref, "metrics.jsonl"))


def _manifest(project: Project, ref: Ref) -> dict[str, Any] | None:
    """The manifest of an artifact that is intact, as far as its files are there."""
    try:
        manifest = project.store.manifest(ref)
        if manifest is not None:
            project.store.check(ref, manifest, hashes=False)
    except DamagedArtifact:
        return None  # it is made anew by the next run, and says nothing until then
    return manifest


def circumstances(project: Project, experiment: str, base: dict[str, Any], sizes: dict[str, int]) -> Circumstances:
    """What a plan knows beside the experiment and its pilots.

    Args:
        base: the manifest of the base policy.
        sizes: tasks by split.
    """
    spec = project.catalog.experiments[experiment]
    sampling = project.catalog.policies[spec.policy].sampling
    return Circumstances(
        sizes=sizes,
        max_completion=sampling.max_completion_tokens,
        shape=_shape(project, Ref("base_policy", spec.policy), base),
        hardware=kind_of_hardware(),
        base=base["fingerprint"],
        measured=measured_trainings(project),
        seed_deviation=seed_deviation(project, spec.policy, spec.suite),
    )


def seed_deviation(project: Project, policy: str, suite: str) -> float | None:
    """The pooled standard deviation between seeds of dev pass rates in all experiments on a policy and a suite.

    None with fewer than `LEAST_SEEDS` degrees of freedom. The noise of sampling is in it, so it is an upper bound.
    """
    rates: dict[str, list[float]] = defaultdict(list)
    for name, experiment in project.catalog.experiments.items():
        if (experiment.policy, experiment.suite) == (policy, suite):
            for slug, variant in variants(experiment).items():
                if manifest := _manifest(project, Ref("dev_evaluation", f"{name}/{slug}")):
                    cell = fingerprint([name, variant.model_dump(exclude={"seed"})])
                    rates[cell].append(manifest["facts"]["pass_rate"])
    freedom = sum(len(found) - 1 for found in rates.values())
    if freedom < LEAST_SEEDS:
        return None
    return float(
        np.sqrt(sum((len(found) - 1) * np.var(found, ddof=1) for found in rates.values() if len(found) > 1) / freedom)
    )


def _shape(project: Project, ref: Ref, base: dict[str, Any]) -> Shape | None:
    file = project.store.local_folder(ref, base) / "config.json"
    if not file.exists():
        return None
    return shape_of(json.loads(file.read_text(encoding="utf-8")), base["facts"]["parameters"])
