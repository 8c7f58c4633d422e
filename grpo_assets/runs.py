"""Runs an experiment through Dagster: what is missing or stale, in dependency order, each partition in a run."""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from socket import socketpair
from time import perf_counter
from typing import Literal

import dagster as dg

from grpo_assets.assets.resources import REOPEN
from grpo_assets.definitions import defs
from grpo_assets.domain.lineage import GRAIN, Node, Ref, ancestors
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.survey import State, lacking, survey

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The command line says itself what went wrong; the whole log is on the page of the run."""

Batch = tuple[Ref, ...]
"""Partitions with one key that one Dagster run makes, each after its inputs."""


@dataclass(frozen=True)
class Ran:
    """What became of a batch.

    Attributes:
        states: how its artifacts stand now.
        seconds: wall time of the Dagster run, 0 where none was needed or possible; `overhead` of it was spent
            outside the steps.
        trouble: why the run failed, where that lies in none of its artifacts.
    """

    batch: Batch
    states: Mapping[Ref, State]
    seconds: float = 0.0
    overhead: float = 0.0
    trouble: str | None = None

    @property
    def failures(self) -> dict[Ref, State]:
        """The artifacts that are not there though they were asked for."""
        return {ref: state for ref, state in self.states.items() if state.condition != "fresh"}


Goal = Literal["experiment_plan", "selected_checkpoint", "heldout_evaluation"]
"""What a run of an experiment is for."""


def needed(project: Project, experiment: str, goal: Goal = "selected_checkpoint") -> list[Node]:
    """All artifacts that a run of an experiment needs, each after its inputs."""
    return ancestors(project.graph, [Ref(goal, experiment)])


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


def run(
    project: Project,
    experiment: str,
    instance: dg.DagsterInstance,
    goal: Goal = "selected_checkpoint",
    reopen: str | None = None,
) -> Iterator[Ran]:
    """Make what is missing or no longer current, up to the goal; yields each batch when it is done.

    A batch that fails does not stop the others; those that cannot do without it are yielded as they stand.

    Args:
        reopen: why it may select or open held-out tasks though they have been opened before.

    Raises:
        KeyboardInterrupt: when it was told to stop, which Dagster counts as a failure of the run.
        FailedWork: when a run failed for a reason that lies in no artifact, such as a full disk.
    """
    states = survey(project, [Ref(goal, experiment)], hashes=True)
    tags = {"grpo_assets/experiment": experiment, **({REOPEN: reopen} if reopen else {})}
    damaged = {ref for ref, state in states.items() if state.condition == "damaged"}
    with _told_to_stop() as told:
        for batch in batches(needed(project, experiment, goal)):
            ran = _run_batch(project, batch, damaged, instance, tags)
            if told():
                raise KeyboardInterrupt
            if ran.trouble:
                raise FailedWork(ran.trouble)
            yield ran


def _run_batch(
    project: Project, batch: Batch, damaged: set[Ref], instance: dg.DagsterInstance, tags: Mapping[str, str]
) -> Ran:
    states = survey(project, batch)
    makeable: list[Ref] = []
    for ref in batch:
        wanted = states[ref].condition != "fresh" or ref in damaged
        if wanted and set(lacking(project.graph[ref], states)) <= set(makeable):
            makeable.append(ref)
    if not makeable:
        return Ran(batch, {ref: states[ref] for ref in batch})
    started = perf_counter()
    result = defs.resolve_implicit_global_asset_job_def().execute_in_process(
        partition_key=batch[0].key,
        asset_selection=[dg.AssetKey(ref.asset) for ref in makeable],
        instance=instance,
        run_config=QUIET,
        raise_on_error=False,
        tags=dict(tags),
    )
    seconds = perf_counter() - started
    worked = sum(event.step_success_data.duration_ms / 1000 for event in result.all_events if event.is_step_success)
    states = survey(project, batch)
    return Ran(batch, {ref: states[ref] for ref in batch}, seconds, seconds - worked, _elsewhere(result, states))


def _elsewhere(result: dg.ExecuteInProcessResult, states: Mapping[Ref, State]) -> str | None:
    """Why a run failed, where that lies in no artifact, such as a full disk under the instance."""
    if result.success or any(state.condition == "failed" for state in states.values()):
        return None
    data = [event.event_specific_data for event in result.all_events if event.is_failure]
    errors = [error for found in data if (error := getattr(found, "error", None))]
    causes = [error.cause or error for error in errors]
    return f"Dagster run {result.run_id}: " + (causes[0].message.strip() if causes else "failed without a reason")


@contextmanager
def _told_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM has arrived; Dagster takes them over during a run and can lose them between steps."""
    reader, writer = socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    def told() -> bool:
        try:
            return not {signal.SIGINT, signal.SIGTERM}.isdisjoint(reader.recv(4096))
        except BlockingIOError:
            return False

    try:
        yield told
    finally:
        signal.set_wakeup_fd(before)
        reader.close()
        writer.close()
