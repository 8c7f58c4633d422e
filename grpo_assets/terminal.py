"""What the command line prints of experiments: what is pending, progress, table, decision, held-out tests."""

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from grpo_assets.domain.lineage import Ref
from grpo_assets.runtime.heldout_page import heldout_lines
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import arm_lines, decision_lines, effect_lines, gain_lines, read_json, with_interval
from grpo_assets.runtime.survey import survey

AXES = {"reward": "reward", "curriculum": "curriculum", "seed": "seed", "group_size": "G", "kl_beta": "beta"}
"""The axes of the matrix, each with its heading in the terminal."""

console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 130)
errors = Console(highlight=False, markup=False, stderr=True, soft_wrap=True)


def print_pending(project: Project, experiment: str, heading: str) -> None:
    """Each partition up to the decision that is not current, with the reason."""
    states = survey(project, [Ref("selected_checkpoint", experiment)], hashes=True)
    pending = {ref: state for ref, state in states.items() if state.condition != "fresh"}
    console.print(f"{experiment}: {len(pending)} of {len(states)} partitions {heading}")
    for ref, state in pending.items():
        console.print(f"  {state.condition:<8} {ref}: {' '.join(state.reason.split())}", soft_wrap=True)


def line_of(ran: Any) -> str:
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


def print_decision(folder: Path) -> None:
    """The table and the decision, as they stand in the experiment's folder."""
    summary, decided = folder / "summary.json", folder / "selected_checkpoint.json"
    if not summary.exists() or not decided.exists():
        return
    table, decision = read_json(summary), read_json(decided)
    console.print()
    console.print(_rich_table(table, decision))
    for line in [*gain_lines(table), *arm_lines(table), *effect_lines(table)]:
        console.print(line, soft_wrap=True)
    console.print()
    for line in [*decision_lines(decision), f"  {_shown(folder)}"]:
        console.print(line, soft_wrap=True)


def print_heldout(folder: Path) -> None:
    """The held-out evaluation, as it stands in the experiment's folder."""
    found = read_json(folder / "heldout.json")
    console.print()
    console.print(f"held-out evaluation of {found['selected']}", soft_wrap=True)
    for line in [*heldout_lines(found), f"  {_shown(folder)}"]:
        console.print(line, soft_wrap=True)


def print_comparison(found: dict) -> None:
    """Champion and challenger, the checkpoints and their configurations."""
    single, whole = found["checkpoints"], found["configurations"]
    for role in ("champion", "challenger"):
        corrected = found[role]["bias_corrected"]["checkpoint"]
        score = corrected["reason"] if corrected["value"] is None else f"{corrected['value']:.3f}"
        console.print(f"{role:<10} {found[role]['experiment']}: {found[role]['selected']}", soft_wrap=True)
        console.print(f"{'':<10} bias-corrected dev pass rate: {score}", soft_wrap=True)
    change = with_interval(single["difference"], single["interval"], sign=True)
    console.print(
        f"checkpoints: {single['theirs']:.3f} and {single['ours']:.3f}, {change}, p {single['p']:.2g} "
        f"({single['tasks']} dev tasks, paired)",
        soft_wrap=True,
    )
    console.print(
        f"configurations, over {' and '.join(map(str, whole['seeds']))} seeds: {whole['difference']:+.3f}, "
        f"standard error {whole['error']:.3f}",
        soft_wrap=True,
    )
    stays = "; the champion stays" if found["outcome"] == "tie" else ""
    console.print(f"{found['outcome']}{stays}; both were chosen on these tasks, so neither score is a fresh one")


def print_reward_diff(old: str, new: str, found: dict) -> None:
    """What another reward changes on one pilot, and what training again would cost."""
    changed, retrained = found["changed"], found["retrained"]
    console.print(f"{found['pilot']}: {old} and {new}, {changed['prompts']} prompts", soft_wrap=True)
    console.print(f"  scores of {len(changed['scores'])} prompts moved{_shown_ids(changed['scores'])}", soft_wrap=True)
    informative = changed["informative"]
    console.print(f"  {len(informative)} became or ceased to be informative{_shown_ids(informative)}", soft_wrap=True)
    for size, moves in changed["ranks"].items():
        shown = [f"{task} {before} to {after}" for task, before, after in moves]
        console.print(
            f"  G {size}: {len(moves)} places of the informative order moved{_shown_ids(shown)}", soft_wrap=True
        )
    if not changed["scores"]:
        console.print("  no stored score moved")
    if not retrained:
        console.print("  no checkpoint would train again")
        return
    rollouts = [row["rollouts"] for row in retrained]
    hours = [row["hours"] for row in retrained]
    cost = "cost not planned" if None in rollouts else f"{sum(rollouts):,} rollouts"
    if None not in hours:
        low, high = (sum(pair[side] for pair in hours) for side in (0, 1))
        cost += f", {low:.2g} to {high:.2g} hours by the plan"
    console.print(f"  {len(retrained)} variants would train again, since training calls the reward: {cost}")
    for row in retrained:
        console.print(f"    {row['experiment']}/{row['variant']}", soft_wrap=True)


SHOWN = 10
"""How many prompts a line names."""


def _shown_ids(ids: list[str]) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ": " + ", ".join(ids[:SHOWN]) + more


def _shown(folder: Path) -> Path:
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _rich_table(table: dict, decision: dict) -> Table:
    """The experiment table for a terminal: only the axes that vary; * the selected variant, = its ties."""
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
        tied = "=" if row["configuration"] in decision["tie_set"] else ""
        cells = ["*" if row["variant"] == decision["selected"] else tied, *(str(row[axis]) for axis in axes)]
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
