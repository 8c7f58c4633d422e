"""Runs an experiment through Dagster: what is missing or stale, in dependency order, each partition in a run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter

import dagster as dg

from grpo_assets.definitions import defs
from grpo_assets.domain.lineage import GRAIN, Node, Ref, ancestors
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.survey import State, lacking, survey

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The command line says itself what went wrong; the whole log is on the page of the run."""

INTERRUPTIONS = ("DagsterExecutionInterruptedError", "KeyboardInterrupt")

Batch = tuple[Ref, ...]
"""Partitions with one key that one Dagster run makes, each after its inputs."""


@dataclass(frozen=True)
class Ran:
    """What became of a batch.

    Attributes:
        states: how its artifacts stand now.
        seconds: wall time of the Dagster run, 0 where none was needed or possible; `overhead` of it was spent
            outside the steps.
    """

    batch: Batch
    states: Mapping[Ref, State]
    seconds: float = 0.0
    overhead: float = 0.0

    @property
    def failures(self) -> dict[Ref, State]:
        """The artifacts that are not there though they were asked for."""
        return {ref: state for ref, state in self.states.items() if state.condition != "fresh"}


def targets(experiment: str) -> list[Ref]:
    """What a run of an experiment is for: its plan and its decision."""
    return [Ref("experiment_plan", experiment), Ref("selected_checkpoint", experiment)]


def needed(project: Project, experiment: str) -> list[Node]:
    """All artifacts that a run of an experiment needs, each after its inputs."""
    return ancestors(project.graph, targets(experiment))


def batches(nodes: Iterable[Node]) -> list[Batch]:
    """Nodes in dependency order as batches: those of one grain and key together, as soon as their inputs allow."""
    found: list[list[Ref]] = []
    last: dict[tuple[str, str], int] = {}
    made_in: dict[Ref, int] = {}
    for node in nodes:
        place = (GRAIN[node.ref.asset], node.ref.key)
        ready = max((made_in[ref] for ref in node.inputs), default=0)
        if place not in last or ready > last[place]:
            last[place] = len(found)
            found.append([])
        made_in[node.ref] = last[place]
        found[last[place]].append(node.ref)
    return [tuple(batch) for batch in found]


def run(project: Project, experiment: str, instance: dg.DagsterInstance) -> Iterator[Ran]:
    """Make what is missing or no longer current, up to the decision; yields each batch when it is done.

    A batch that fails does not stop the others; those that cannot do without it are yielded as they stand.

    Raises:
        KeyboardInterrupt: when a run was interrupted or terminated, which Dagster counts as a failure of it.
        FailedWork: when a run failed for a reason that lies in no artifact, such as a full disk.
    """
    damaged = {
        ref for ref, state in survey(project, targets(experiment), hashes=True).items() if state.condition == "damaged"
    }
    job = defs.resolve_implicit_global_asset_job_def()
    for batch in batches(needed(project, experiment)):
        states = survey(project, batch)
        makeable: list[Ref] = []
        for ref in batch:
            wanted = states[ref].condition != "fresh" or ref in damaged
            if wanted and set(lacking(project.graph[ref], states)) <= set(makeable):
                makeable.append(ref)
        if not makeable:
            yield Ran(batch, {ref: states[ref] for ref in batch})
            continue
        started = perf_counter()
        result = job.execute_in_process(
            partition_key=batch[0].key,
            asset_selection=[dg.AssetKey(ref.asset) for ref in makeable],
            instance=instance,
            run_config=QUIET,
            raise_on_error=False,
            tags={"grpo_assets/experiment": experiment},
        )
        seconds = perf_counter() - started
        worked = sum(event.step_success_data.duration_ms / 1000 for event in result.all_events if event.is_step_success)
        states = survey(project, batch)
        if not result.success:
            _raise_what_lies_elsewhere(
                instance, result, recorded=any(states[ref].condition == "failed" for ref in batch)
            )
        yield Ran(batch, {ref: states[ref] for ref in batch}, seconds, seconds - worked)


def _raise_what_lies_elsewhere(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult, recorded: bool) -> None:
    """Raise what ended a run, unless it was the failure of an artifact, which is recorded with it."""
    data = [event.event_specific_data for event in result.all_events if event.is_failure]
    errors = [error for found in data if (error := getattr(found, "error", None))]
    run = instance.get_run_by_id(result.run_id)
    canceled = run is not None and run.status is dg.DagsterRunStatus.CANCELED
    if canceled or any(error.cls_name in INTERRUPTIONS for error in errors):
        raise KeyboardInterrupt
    if not recorded:
        causes = [error.cause or error for error in errors]
        reason = causes[0].message.strip() if causes else "Dagster gave no reason"
        raise FailedWork(f"Dagster run {result.run_id} failed: {reason}")
