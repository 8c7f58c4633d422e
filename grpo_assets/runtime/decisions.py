"""Decisions that are in the store, and what compares them."""

from typing import Any

from grpo_assets.domain.champion import compared
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import UserMistake, refuse
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import read_json
from grpo_assets.runtime.scored import read_scores
from grpo_assets.runtime.survey import survey


def current_decision(project: Project, experiment: str) -> dict[str, Any]:
    """The decision of an experiment.

    Raises:
        UserMistake: when there is none that is current.
    """
    ref = Ref("selected_checkpoint", experiment)
    state = survey(project, [ref])[ref]
    if state.manifest is None:
        raise UserMistake(
            f"{experiment}: its decision is {state.condition}: {state.reason}\n"
            f"  make it first: grpo-assets run {experiment}"
        )
    return read_json(project.store.local_folder(ref, state.manifest) / "selected_checkpoint.json")


def compare(project: Project, champion: str, challenger: str) -> dict[str, Any]:
    """The selected checkpoints of two experiments on their dev tasks, see `domain.champion.compared`.

    Raises:
        UserMistake: when one selected nothing, or they were not evaluated alike.
    """
    first, second = (project.catalog.experiments[name] for name in (champion, challenger))
    policies = [project.catalog.policies[experiment.policy].sampling for experiment in (first, second)]
    for field, values in {
        "suite": (first.suite, second.suite),
        "sampling": policies,
        "evaluation.samples_per_task": (first.evaluation.samples_per_task, second.evaluation.samples_per_task),
    }.items():
        if values[0] != values[1]:
            allowed = f"the {values[0]} of {champion}: pass rates that were not measured alike are not compared"
            raise refuse(f"experiments/{challenger}.yaml", field, str(values[1]), allowed)
    found = []
    for name in (champion, challenger):
        decision = current_decision(project, name)
        if decision["selected"] is None:
            raise UserMistake(f"{name}: {decision['outcome']}: {decision['reason']}\n  allowed: one that selected")
        table = Ref("experiment_table", name)
        manifest = project.store.manifest(table)
        assert manifest is not None  # a current decision has a current table
        found.append((decision, read_scores(project.store.local_folder(table, manifest))))
    return compared(*found[0], *found[1])
