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


def table_markdown(table: dict) -> str:
    """The experiment table as a page; it holds no time, so that two runs give the same bytes."""
    baseline = table["baseline"]
    rows = [
        [
            "untrained",
            "",
            with_interval(baseline["pass_rate"], baseline["pass_rate_interval"]),
            with_interval(baseline["greedy_pass_rate"], baseline["greedy_pass_rate_interval"]),
            *[""] * 7,
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
                    "; ".join(row["warnings"]),
                ]
            )
        else:
            reason = row["reason"].replace("\n", " ").replace("|", "/")
            rows.append([row["variant"], f"{row['status']}: {reason}", *[""] * 9])
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
        "warnings",
    ]
    return "\n".join(
        [f"# {table['experiment']}", "", *markdown_table(headings, rows), "", *gain_lines(table), *arm_lines(table), ""]
    )


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
