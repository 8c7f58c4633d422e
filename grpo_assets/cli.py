"""The command line: thin, over the same definitions that the web UI shows."""

import json
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sqlalchemy.exc import SQLAlchemyError

from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import FailedWork, UserMistake, listed, refuse
from grpo_assets.runtime.plan_page import budget_lines, plan_markdown
from grpo_assets.runtime.plans import plan_now
from grpo_assets.runtime.policies import check_sources
from grpo_assets.runtime.project import Project, open_project, require_writable
from grpo_assets.runtime.reports import arm_lines, gain_lines, with_interval
from grpo_assets.runtime.survey import State, survey
from grpo_assets.runtime.verifier.verifying import ACCEPT_UNSAFE

INTERRUPTED = 130
AXES = {"reward": "reward", "curriculum": "curriculum", "seed": "seed", "group_size": "G", "kl_beta": "beta"}
"""The axes of the matrix, each with its heading in the terminal."""

console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 130)
errors = Console(highlight=False, markup=False, stderr=True, soft_wrap=True)


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
@click.option("--i-accept-unsafe", is_flag=True, help="Run a model's programs even where no sandbox can be had.")
@_plain_errors
def run(experiment: str, dry_run: bool, over_budget: bool, i_accept_unsafe: bool) -> None:
    """Make what is missing or stale of EXPERIMENT, up to the selected checkpoint."""
    if i_accept_unsafe:
        os.environ[ACCEPT_UNSAFE] = "1"  # for the training process too
    project = _project(experiment)
    if dry_run:
        _print_pending(project, experiment, "to make")
        return
    require_writable(project)
    check_sources(project, experiment)
    if project.catalog.experiments[experiment].budget and not over_budget:
        _make_plan(project, experiment)
        _refuse_over_budget(project, experiment)
    failures = _run(project, experiment)
    folder = project.folder / "store" / "experiments" / experiment
    _print_outcome(folder)
    if failures:
        raise FailedWork("\n  ".join(["what could not be made:", *failures]))


@main.command()
@click.argument("experiment")
@click.option("--probe", is_flag=True, help="Train two steps, aside, to know how long one takes here.")
@click.option("--i-accept-unsafe", is_flag=True, help="Run a model's programs even where no sandbox can be had.")
@_plain_errors
def plan(experiment: str, probe: bool, i_accept_unsafe: bool) -> None:
    """Pilot EXPERIMENT and print its plan: what each variant can learn and costs, and what the matrix can see."""
    if i_accept_unsafe:
        os.environ[ACCEPT_UNSAFE] = "1"
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
    _print_pending(project, experiment, "not current")


@main.command()
@_plain_errors
def doctor() -> None:
    """Look this machine over: what holds a model's programs, how fast, and what would make it better."""
    from grpo_assets.runtime.verifier.doctor import examine

    for finding in examine():
        console.print(f"{finding.what:<18} {finding.found}", soft_wrap=True)
        if finding.advice:
            console.print(f"{'':<18} -> {finding.advice}", soft_wrap=True)


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


def _print_pending(project: Project, experiment: str, heading: str) -> None:
    from grpo_assets.runs import targets

    states = survey(project, targets(experiment), hashes=True)
    pending = {ref: state for ref, state in states.items() if state.condition != "fresh"}
    console.print(f"{experiment}: {len(pending)} of {len(states)} partitions {heading}")
    for ref, state in pending.items():
        console.print(f"  {state.condition:<8} {ref}: {state.reason}", soft_wrap=True)


def _make_plan(project: Project, experiment: str) -> None:
    if failures := _run(project, experiment, plan_only=True):
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


def _run(project: Project, experiment: str, plan_only: bool = False) -> list[str]:
    """Run with a progress bar and a line a batch; returns a line for each artifact that could not be made."""
    from grpo_assets.instance import free_slots_of_killed_runs, open_instance
    from grpo_assets.runs import batches, needed, run

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    made, overhead = 0, 0.0
    lacking: dict[Ref, State] = {}
    with open_instance(project.folder) as instance, Progress(*columns, console=console) as progress:
        for run_id in free_slots_of_killed_runs(instance):
            progress.print(f"freed the pool slot of run {run_id}, whose process is gone")
        bar = progress.add_task(experiment, total=len(batches(needed(project, experiment, plan_only))))
        for ran in run(project, experiment, instance, plan_only):
            progress.advance(bar)
            lacking |= ran.failures
            if ran.seconds:
                made, overhead = made + 1, overhead + ran.overhead
                progress.print(_line(ran), soft_wrap=True)
    if made:
        console.print(f"Dagster runs: {made}, {overhead / made:.2f} s each beside their steps")
    else:
        console.print("everything is current; nothing was made")
    if not lacking:
        return []
    failed = [f"{ref}: {state.reason}" for ref, state in lacking.items() if state.condition == "failed"]
    waiting = len(lacking) - len(failed)
    return [*failed, f"{waiting} more partitions wait for these"] if waiting else failed


def _line(ran: Any) -> str:
    """What a batch gave: a variant's pass rate, else just its name; or why it failed."""
    ref = ran.batch[-1]
    name = ref.key if ref.asset == "dev_evaluation" else ", ".join(map(str, ran.batch))
    if ran.failures:
        ref, state = next(iter(ran.failures.items()))
        return f"FAILED {ref}: {state.reason}"
    outcome = ""
    if ref.asset == "dev_evaluation":
        facts = ran.states[ref].manifest["facts"]
        outcome = f"  dev pass rate {with_interval(facts['pass_rate'], facts['pass_rate_interval'])}"
    return f"{name}{outcome}  {ran.seconds:.1f} s"


def _print_outcome(folder: Path) -> None:
    """The table and the decision, as they stand in the experiment's folder."""
    summary, decided = folder / "summary.json", folder / "selected_checkpoint.json"
    if not summary.exists() or not decided.exists():
        return
    table = json.loads(summary.read_text(encoding="utf-8"))
    decision = json.loads(decided.read_text(encoding="utf-8"))
    console.print()
    console.print(_rich_table(table, decision["selected"]))
    for line in [*gain_lines(table), *arm_lines(table)]:
        console.print(line, soft_wrap=True)
    console.print()
    chosen = decision["selected"] or "nothing"
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    console.print(f"selected: {chosen}\n  {decision['reason']}\n  {shown}", soft_wrap=True)


def _rich_table(table: dict, selected: str | None) -> Table:
    """The experiment table for a terminal: only the axes that vary, an asterisk at the selected variant."""
    rows = table["variants"]
    axes = [axis for axis in AXES if len({row[axis] for row in rows}) > 1] or ["curriculum"]
    printed = Table(box=None, pad_edge=False)
    headings = [AXES[axis] for axis in axes]
    for heading in ("", *headings, "dev pass rate", "greedy", "KL", "last reward", "informative (last)"):
        printed.add_column(heading)
    base = table["baseline"]
    rates = [with_interval(base[name], base[f"{name}_interval"]) for name in ("pass_rate", "greedy_pass_rate")]
    printed.add_row("", "untrained", *[""] * (len(axes) - 1), *rates)
    for row in rows:
        cells = ["*" if row["variant"] == selected else "", *(str(row[axis]) for axis in axes)]
        if row["status"] == "complete":
            rates = [
                with_interval(row[name], row[f"{name}_interval"]) for name in ("dev_pass_rate", "dev_greedy_pass_rate")
            ]
            informative = f"{row['informative_prompts_training']} ({row['informative_prompts_final_step']})"
            numbers = [f"{row['kl_to_base']:.3f}", f"{row['last_reward_mean']:.3f}"]
            printed.add_row(*cells, *rates, *numbers, informative)
        else:
            printed.add_row(*cells, f"{row['status']}: {row['reason']}")
    return printed


if __name__ == "__main__":
    main()
