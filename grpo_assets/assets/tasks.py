"""Tasks of a suite, and the three splits; nothing else reads the undivided tasks."""

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.schemas import TASKS
from grpo_assets.domain.tasks import SPLITS, isolation_of
from grpo_assets.runtime.artifacts import Check, Draft, FailedCheck, Inputs
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import write_table
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.verifier.admission import REJECTED_SHARE, admit, refusal

CHECKS = {
    "admission": "the right answer passes and empty, constant and garbled ones do not; other tasks are left out",
    "leaks": "no task of an official split has a near-duplicate in another one",
}


@artifact(group="tasks", kinds={"python", "parquet"}, checks=CHECKS, blocking={"admission"})
def tasks(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row an admitted task of the suite, with its content key, its near-duplicate cluster and its split."""
    name = context.partition_key
    suite = read_tasks(name, project.catalog.suites[name], project.folder)
    rows, rejected = admit(suite.rows)
    seen = {"read": len(suite.rows), "admitted": len(rows), "rejected": rejected}
    if len(rejected) > REJECTED_SHARE * len(suite.rows):
        raise FailedCheck("admission", seen, refusal(name, rejected, len(suite.rows)))
    write_table(draft.folder / "tasks.parquet", rows, TASKS)
    sizes: dict[str, int] = {split: sum(row["split"] == split for row in rows) for split in SPLITS}
    draft.facts = {"rows": len(rows), **sizes, "rejected": rejected, "isolation": isolation_of(rows, suite.leaks)}
    draft.checks = {
        "admission": Check(True, seen),
        "leaks": Check(not suite.leaks, {"near_duplicates_across_splits": len(suite.leaks or [])}),
    }


@artifact(group="tasks", reads=["tasks"], kinds={"python", "parquet"})
def train_tasks(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a task that pilots and training may see."""
    _split("train", inputs, draft)
    draft.facts["sizes"] = {split: inputs.manifest("tasks")["facts"][split] for split in SPLITS}


@artifact(group="tasks", reads=["tasks"], kinds={"python", "parquet"})
def dev_tasks(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a task that checkpoints are compared on; the manifest says that no other split shares any of it."""
    _split("dev", inputs, draft)
    draft.facts["isolation"] = inputs.manifest("tasks")["facts"]["isolation"]


@artifact(group="tasks", reads=["tasks"], kinds={"python", "parquet"})
def heldout_tasks(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a task that is opened once, after the decision."""
    _split("heldout", inputs, draft)


def _split(split: str, inputs: Inputs, draft: Draft) -> None:
    """Write the rows of a split; its identity is that of its own tasks and their order, whatever the others hold."""
    rows = [row for row in inputs.rows("tasks") if row["split"] == split]
    if not rows:
        raise ValueError(f"no task of the suite falls into the split {split}: it needs more tasks or a larger share")
    write_table(draft.folder / f"{split}_tasks.parquet", rows, TASKS)
    draft.content = fingerprint([[row["task_key"], row["cluster"], row["seconds"]] for row in rows])
    draft.facts = {"rows": len(rows)}
