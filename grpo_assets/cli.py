"""The command line: thin, over the same definitions that the web UI shows."""

import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.exc import SQLAlchemyError

from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import FailedWork, UserMistake, listed, refuse
from grpo_assets.runtime.decisions import compare as compare_decisions
from grpo_assets.runtime.decisions import current_decision
from grpo_assets.runtime.ledger import missing_in_store
from grpo_assets.runtime.plan_page import budget_lines, plan_markdown
from grpo_assets.runtime.plans import plan_now
from grpo_assets.runtime.policies import check_sources
from grpo_assets.runtime.project import Project, open_project, require_writable
from grpo_assets.runtime.reward_diffs import rewards_diff
from grpo_assets.runtime.survey import State
from grpo_assets.runtime.verifier.verifying import ACCEPT_UNSAFE
from grpo_assets.terminal import (
    console,
    errors,
    line_of,
    print_comparison,
    print_decision,
    print_heldout,
    print_pending,
    print_reward_diff,
)

if TYPE_CHECKING:
    from grpo_assets.runs import Goal

INTERRUPTED = 130


def _plain_errors(command: Callable[..., None]) -> Callable[..., None]:
    """What can be foreseen ends in a message: 2 for the user's mistake, 1 for work that failed."""

    @wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except UserMistake as mistake:
            errors.print(f"error: {mistake}")
            sys.exit(2)
        except FailedWork as failure:
            errors.print(f"failed: {failure}")
            sys.exit(1)
        except (OSError, SQLAlchemyError) as failure:  # a full disk under the store, or under the instance
            errors.print(f"failed: {str(failure).splitlines()[0]}")
            sys.exit(1)
        except KeyboardInterrupt:
            errors.print("interrupted: what is finished is kept; the same command goes on from there")
            sys.exit(INTERRUPTED)

    return wrapped


def _unsafe_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option that lets programs run unsealed, here and in the training process."""

    def accept(context: click.Context, parameter: click.Parameter, accepted: bool) -> None:
        if accepted:
            os.environ[ACCEPT_UNSAFE] = "1"

    what = "Run a model's programs even where no sandbox can be had."
    return click.option("--i-accept-unsafe", is_flag=True, expose_value=False, callback=accept, help=what)(command)


def _reopen_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option that goes on after an opening of held-out tasks, with a reason that stays."""

    def checked(context: click.Context, parameter: click.Parameter, reason: str | None) -> str | None:
        if reason is not None and not (reason.strip() and reason.isprintable()):
            raise click.BadParameter("a reason in words: it stands in every later summary")
        return reason

    what = "Select or open again after the held-out tasks were opened; the reason stands in every later summary."
    return click.option("--reopen", metavar="REASON", callback=checked, help=what)(command)


@click.group()
@click.version_option(package_name="grpo-assets")
def main() -> None:
    """Plan, run and decide GRPO experiments.

    The data folder is ./data, or the one that GRPO_DATA_DIR names.
    """
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars of libraries would break the one of a run


@main.command()
@click.argument("experiment")
@click.option("--dry-run", is_flag=True, help="List what would be made, and why; make nothing.")
@click.option("--over-budget", is_flag=True, help="Run also where the plan is over the experiment's budget.")
@_unsafe_option
@_reopen_option
@_plain_errors
def run(experiment: str, dry_run: bool, over_budget: bool, reopen: str | None) -> None:
    """Make what is missing or stale of EXPERIMENT, up to the selected checkpoint."""
    project = _project(experiment)
    if dry_run:
        print_pending(project, experiment, "to make")
        return
    require_writable(project)
    check_sources(project, experiment)
    if project.catalog.experiments[experiment].budget and not over_budget:
        _make_plan(project, experiment)
        _refuse_over_budget(project, experiment)
    failures = _run(project, experiment, reopen=reopen)
    print_decision(_folder(project, experiment))
    if failures:
        raise FailedWork("\n  ".join(["what could not be made:", *failures]))


@main.command()
@click.argument("experiment")
@_unsafe_option
@_reopen_option
@_plain_errors
def evaluate(experiment: str, reopen: str | None) -> None:
    """Open the held-out tasks for the selected checkpoint of EXPERIMENT: once, on the record."""
    project = _project(experiment)
    require_writable(project)
    decision = current_decision(project, experiment)
    if decision["selected"] is None:
        raise UserMistake(
            f"{experiment}: {decision['outcome']}: {decision['reason']}\n"
            "  nothing was selected, so the held-out tasks stay closed"
        )
    if failures := _run(project, experiment, "heldout_evaluation", reopen):
        raise FailedWork("\n  ".join(["the held-out evaluation could not be made:", *failures]))
    print_heldout(_folder(project, experiment))


@main.command()
@click.argument("champion")
@click.argument("challenger")
@_plain_errors
def compare(champion: str, challenger: str) -> None:
    """Compare the selected checkpoints of two experiments on the dev tasks that both were chosen on."""
    project = _project(champion)
    _project(challenger)
    print_comparison(compare_decisions(project, champion, challenger))


@main.command()
@click.argument("experiment")
@click.option("--probe", is_flag=True, help="Train two steps, aside, to know how long one takes here.")
@_unsafe_option
@_plain_errors
def plan(experiment: str, probe: bool) -> None:
    """Pilot EXPERIMENT and print its plan: what each variant can learn and costs, and what the matrix can see."""
    project = _project(experiment)
    require_writable(project)
    check_sources(project, experiment)
    _make_plan(project, experiment)
    console.print()
    console.print(plan_markdown(plan_now(project, experiment, with_probe=probe)), soft_wrap=True)


@main.command()
@click.argument("experiment")
@_plain_errors
def status(experiment: str) -> None:
    """Say of each artifact of EXPERIMENT that is missing, stale or failed why it is."""
    project = _project(experiment)
    print_pending(project, experiment, "not current")


@main.group()
def rewards() -> None:
    """Compare rewards and their versions on stored rollouts."""


@rewards.command()
@click.argument("old")
@click.argument("new")
@_plain_errors
def diff(old: str, new: str) -> None:
    """Say which prompts NEW scores otherwise than OLD, and which variants would train again at what cost.

    Each is the name of a reward as its code is now, or NAME@stored for what the store has recorded.
    """
    for found in rewards_diff(open_project(), old, new):
        print_reward_diff(old, new, found)


@main.command()
@click.option("--dry-run", is_flag=True, help="List what would be removed; remove nothing.")
@_plain_errors
def gc(dry_run: bool) -> None:
    """Remove the artifacts that newer ones took the place of, such as checkpoints of a former reward version."""
    store = open_project().store
    found = store.superseded()
    for fingerprint, (what, size) in found.items():
        if not dry_run:
            store.drop_superseded(fingerprint)
        console.print(f"{size / 1e6:>8.1f} MB  {what} ({fingerprint[:12]})", soft_wrap=True)
    done = "would be removed" if dry_run else "removed"
    console.print(f"{len(found)} superseded artifacts {done}, {sum(size for _, size in found.values()) / 1e6:.1f} MB")


@main.command()
@_plain_errors
def doctor() -> None:
    """Look this machine over, what holds a model's programs and how fast; and the ledgers of the data folder."""
    from grpo_assets.runtime.verifier.doctor import examine

    for finding in examine():
        console.print(f"{finding.what:<18} {finding.found}", soft_wrap=True)
        if finding.advice:
            console.print(f"{'':<18} -> {finding.advice}", soft_wrap=True)
    project = open_project()
    troubles = {suite: missing_in_store(project, suite) for suite in project.catalog.suites}
    for suite, (count, openings, trouble) in troubles.items():
        found = f"{trouble}" if trouble else f"whole: {count} entries, {openings} openings"
        if count or trouble:
            console.print(f"{'ledger ' + suite:<18} {found}", soft_wrap=True)
    if broken := [suite for suite, (*_, trouble) in troubles.items() if trouble]:
        raise FailedWork(f"the ledger of {listed(broken)} was tampered with or cut off")


@main.command()
@click.option("--port", default=3000, show_default=True, help="Port of the web UI.")
@_plain_errors
def ui(port: int) -> None:
    """Start the web UI, schedules and sensors on the same instance."""
    project = open_project()
    require_writable(project)
    from grpo_assets.instance import open_instance

    open_instance(project.folder).dispose()
    # a .env of the current folder would win over the environment, so Dagster starts in a folder without one
    os.environ["GRPO_DATA_DIR"] = str(project.folder)
    os.chdir(os.environ["DAGSTER_HOME"])
    workspace = Path(__file__).parent / "workspace.yaml"
    command = ["-m", "dagster", "dev", "--workspace", str(workspace), "--port", str(port)]
    os.execv(sys.executable, [sys.executable, *command])


def _project(experiment: str) -> Project:
    project = open_project()
    if experiment not in project.catalog.experiments:
        allowed = f"one of {listed(project.catalog.experiments)}"
        raise refuse("grpo-assets", "EXPERIMENT", experiment, allowed)
    return project


def _folder(project: Project, experiment: str) -> Path:
    return project.folder / "store" / "experiments" / experiment


def _make_plan(project: Project, experiment: str) -> None:
    if failures := _run(project, experiment, "experiment_plan"):
        raise FailedWork("\n  ".join(["the plan could not be made:", *failures]))


def _refuse_over_budget(project: Project, experiment: str) -> None:
    """Stop before anything is trained where the plan spends more than the experiment allows."""
    budget = plan_now(project, experiment)["budget"]
    if budget["over"]:
        lines = "\n".join(f"  {line}" for line in budget_lines(budget) if line)
        raise UserMistake(
            f"experiments/{experiment}.yaml: budget: nothing was trained\n{lines}\n"
            "  allowed: a smaller matrix, a larger budget, or --over-budget"
        )


def _run(
    project: Project, experiment: str, goal: "Goal" = "selected_checkpoint", reopen: str | None = None
) -> list[str]:
    """Run with a progress bar and a line a batch; returns a line for each artifact that could not be made."""
    from grpo_assets.instance import free_slots_of_killed_runs, open_instance
    from grpo_assets.runs import batches, needed, run

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    made, overhead = 0, 0.0
    lacking: dict[Ref, State] = {}
    with open_instance(project.folder) as instance, Progress(*columns, console=console) as progress:
        for run_id in free_slots_of_killed_runs(instance):
            progress.print(f"freed the pool slot of run {run_id}, whose process is gone")
        bar = progress.add_task(experiment, total=len(batches(needed(project, experiment, goal))))
        for ran in run(project, experiment, instance, goal, reopen):
            progress.advance(bar)
            lacking |= ran.failures
            if ran.seconds:
                made, overhead = made + 1, overhead + ran.overhead
                progress.print(line_of(ran), soft_wrap=True)
    if made:
        console.print(f"Dagster runs: {made}, {overhead / made:.2f} s each beside their steps")
    else:
        console.print("everything is current; nothing was made")
    if not lacking:
        return []
    failed = [f"{ref}: {state.reason}" for ref, state in lacking.items() if state.condition == "failed"]
    waiting = len(lacking) - len(failed)
    return [*failed, f"{waiting} more partitions wait for these"] if waiting else failed


if __name__ == "__main__":
    main()
