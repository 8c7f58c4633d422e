"""A training in a process of its own: a crash, a leak or a full GPU ends with it, and it can be stopped."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.errors import DagsterPipesExecutionError  # no public name

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.training import TRAINING, Training

OBSERVATIONS = 10
"""How many points of a training are kept on its asset's page; every step is in the log."""


def train_apart(
    context: dg.AssetExecutionContext,
    project: Project,
    trainer: str,
    training: Training,
    base: Path,
    folder: Path,
    state: Path,
) -> dict:
    """Train as `runtime.training.train` does, in a child process that ends when this one does.

    The metrics of each step appear in the log of the run while it goes on, and some as observations of the asset.
    A run that is terminated stops the child, which saves its state first.

    Raises:
        FailedWork: with the child's reason, or with the way in which it ended.
    """
    job = state / "job.json"
    paths = {"base": str(base), "folder": str(folder), "state": str(state)}
    spec = {
        "trainer": trainer,
        "training": TRAINING.dump_python(training, mode="json"),
        "data_folder": str(project.folder),
        "reward_version": project.catalog.rewards[training.variant.reward].version,
        **paths,
    }
    job.write_text(json.dumps(spec), encoding="utf-8")
    outcome_file = state / "outcome.json"
    outcome_file.unlink(missing_ok=True)
    try:
        warnings.filterwarnings("ignore", category=dg.PreviewWarning, message=".*expected_writer_count")
        dg.PipesSubprocessClient(message_reader=_ObservingReader(context)).run(
            context=context,
            command=[sys.executable, "-m", "grpo_assets.assets.training_child"],
            extras={"job": str(job), "every": max(1, training.variant.recipe.steps // OBSERVATIONS)},
        )
    except DagsterPipesExecutionError as error:
        raise FailedWork(f"the training process ended by itself: {error}; what it had saved is kept") from error
    outcome = json.loads(outcome_file.read_text(encoding="utf-8"))
    if "failed" in outcome:
        raise FailedWork(outcome["failed"])
    return outcome["facts"]


class _ObservingReader(dg.PipesTempFileMessageReader):
    """Makes an observation of each custom message as soon as it comes; Dagster keeps them until the end."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        super().__init__()
        self._context = context

    @contextmanager
    def read_messages(self, handler: Any) -> Iterator[Any]:
        observer: Any = _Observer(self._context, handler)
        with super().read_messages(observer) as parameters:
            yield parameters


class _Observer:
    """A message handler that turns custom messages into observations and leaves the others to Dagster's."""

    def __init__(self, context: dg.AssetExecutionContext, handler: Any) -> None:
        self._context, self._handler = context, handler

    def handle_message(self, message: dict) -> None:
        if message["method"] == "report_custom_message":
            metrics = message["params"]["payload"]
            numbers = {name: float(value) for name, value in metrics.items() if value is not None}
            key, partition = self._context.asset_key, self._context.partition_key
            self._context.log_event(dg.AssetObservation(key, partition=partition, metadata=numbers))
        else:
            self._handler.handle_message(message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)
