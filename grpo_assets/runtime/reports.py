"""What people read: the experiment table as Markdown."""

import json
from collections.abc import Sequence
from pathlib import Path


def write_json(file: Path, content: dict) -> None:
    """Write JSON that is the same for the same content.

    Raises:
        ValueError: for NaN or an infinity.
    """
    file.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_json(file: Path) -> dict:
    """What `write_json` wrote."""
    return json.loads(file.read_text(encoding="utf-8"))


def table_markdown(table: dict) -> str:
    """The experiment table as a page; it holds no time, so that two runs give the same bytes."""
    baseline = table["baseline"]
    rows = [
        [
            "untrained",
            "",
            with_interval(baseline["pass_rate"], baseline["pass_rate_interval"]),
            with_interval(baseline["greedy_pass_rate"], baseline["greedy_pass_rate_interval"]),
            *[""] * 8,
        ]
    ]
    for row in table["variants"]:
        if row["status"] == "complete":
            rows.append(
                [
                    f"{row['variant']} (control)" if row["control"] else row["variant"],
                    row["status"],
                    with_interval(row["dev_pass_rate"], row["dev_pass_rate_interval"]),
                    with_interval(row["dev_greedy_pass_rate"], row["dev_greedy_pass_rate_interval"]),
                    f"{row['kl_to_base']:.3f}",
                    f"{row['last_reward_mean']:.3f}",
                    f"{row['informative_groups']} of {row['groups']}",
                    f"{row['predicted_informative_groups']:.0f}{', pilot aged' if row['pilot_aged'] else ''}",
                    row["informative_prompts_training"],
                    row["informative_prompts_final_step"],
                    row["reward_version"],
                    "; ".join(row["warnings"]),
                ]
            )
        else:
            reason = row["reason"].replace("\n", " ").replace("|", "/")
            rows.append([row["variant"], f"{row['status']}: {reason}", *[""] * 10])
    headings = [
        "variant",
        "status",
        "dev pass rate",
        "dev greedy pass rate",
        "KL to base",
        "last mean reward",
        "informative groups",
        "predicted",
        "informative prompts, training",
        "informative prompts, last step",
        "reward version",
        "warnings",
    ]
    return "\n".join(
        [
            f"# {table['experiment']}",
            "",
            *markdown_table(headings, rows),
            "",
            *gain_lines(table),
            *arm_lines(table),
            "",
            *effect_lines(table),
            "",
        ]
    )


def effect_lines(table: dict) -> list[str]:
    """What each value of an axis does against the first one, over matched variants, a sentence each."""
    lines = []
    for row in table["effects"]:
        mean = with_interval(row["effect"], row["interval"], sign=True) if row["interval"] else f"{row['effect']:+.3f}"
        sure = row["reason"] or f"p {row['p']:.2g}, Holm {row['p_holm']:.2g}"
        what = f"{row['axis']} {row['value']} against {row['against']}"
        lines.append(f"Effect of {what} on the dev pass rate: {mean} over {row['pairs']} matched pairs; {sure}.")
    return lines


def decision_markdown(decision: dict) -> str:
    """The decision as a page: what was chosen and how sure that is, and each configuration that was compared."""
    chances = [
        [
            f"{'**' if row['configuration'] == decision['configuration'] else ''}{row['configuration']}",
            f"{row['dev_pass_rate']:.3f}",
            f"{row['shrunken']:.3f}",
            f"{row['behind']:.3f} (se {row['behind_error']:.3f})",
            "tied" if row["tied"] else "",
            f"{row['wins']:.0%}",
            f"{row['kl_to_base']:.3f}",
        ]
        for row in decision["configurations"]
    ]
    headings = ["configuration", "dev pass rate", "shrunken", "behind the best", "", "wins", "KL to base"]
    passed = [f"- {name}: {reason}" for name, reason in decision["passed_over"].items()]
    lines = [f"# Decision of {decision['experiment']}: {decision['outcome']}", "", *decision_lines(decision), ""]
    return "\n".join([*lines, *markdown_table(headings, chances), "", "Passed over:", "", *passed, ""])


def decision_lines(decision: dict) -> list[str]:
    """What was chosen, why, and how sure that is."""
    lines = [f"{decision['outcome']}: {decision['selected'] or 'nothing'}", f"  {decision['reason']}"]
    if decision["evidence"]:
        gain = decision["over_untrained"]
        lines.append(
            f"  over the untrained policy {gain['gain']:+.3f} (standard error {gain['error']:.3f}, p {gain['p']:.2g})"
        )
        for target, words in (("checkpoint", "of this checkpoint"), ("configuration", "of a new run of it")):
            found = decision["evidence"][target]
            score = found["reason"] if found["value"] is None else with_interval(found["value"], found["interval"])
            lines.append(f"  bias-corrected dev pass rate {words}: {score}")
    ledger = decision["isolation"]["ledger"]
    lines.append(f"  selections on these dev tasks so far: {ledger['selections_on_these_dev_tasks']}")
    return [*lines, *opening_lines(ledger["openings_before"], ledger["reopened"])]


def opening_lines(openings: Sequence[dict], reopened: str | None = None) -> list[str]:
    """The openings of the held-out tasks so far, and why there was more than one."""
    lines = [
        f"  held-out tasks opened for {entry['experiment']}: {entry['why']}"
        + (f"; reopened: {entry['reopened']}" if entry["reopened"] else "")
        for entry in openings
    ]
    return [*lines, f"  selected after that because: {reopened}"] if reopened else lines


def arm_lines(table: dict) -> list[str]:
    """What the informative order realised over its control, where the experiment has both."""
    found = table["informative_over_random"]
    if found is None:
        return []
    ratio, interval = found["ratio"], found["interval"]
    shown = f"x{ratio:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")
    return [
        f"Informative groups, informative over random order at the same rollouts: {shown} over {found['pairs']} pairs; "
        f"x{found['ratio_with_pilot']:.2f} where the rollouts of the pilot are counted."
    ]


def gain_lines(table: dict) -> list[str]:
    """What training gained, a sentence for each way of decoding."""
    if table["comparison"] is None:
        return ["No variant is complete, so there is nothing to compare with the untrained policy."]
    complete = sum(row["status"] == "complete" for row in table["variants"])
    return [
        f"Mean of {complete} trained variants, {decoding}: {with_interval(found['mean'], found['interval'])}; "
        f"gain over the untrained policy {with_interval(found['gain'], found['gain_interval'], sign=True)}."
        for decoding, found in table["comparison"].items()
    ]


def with_interval(value: float, interval: Sequence[float], sign: bool = False) -> str:
    """A number with its 95% interval."""
    number = "+.3f" if sign else ".3f"
    return f"{value:{number}} [{interval[0]:{number}}, {interval[1]:{number}}]"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The lines of a table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(str(cell) for cell in line)} |" for line in lines]
