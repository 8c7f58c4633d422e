"""The plan of an experiment as a page of Markdown."""

from collections.abc import Sequence

from grpo_assets.domain.power import LEAD
from grpo_assets.runtime.reports import markdown_table


def plan_markdown(plan: dict) -> str:
    """The plan of an experiment as a page."""
    totals = plan["totals"]
    hours = f"{_range(totals['hours'])} on {plan['hardware']}" if totals["hours"] else "time not known"
    return "\n".join(
        [
            f"# Plan of {plan['experiment']}",
            "",
            f"{totals['variants']} variants, {totals['controls']} of them controls: {totals['run']} to run, "
            f"{totals['risky']} risky, {totals['pointless']} pointless.",
            f"Training: {totals['training_rollouts']:,} rollouts, {totals['generated_tokens']:,} tokens, {hours}.",
            f"Pilot: {totals['pilot_rollouts']:,} rollouts, {totals['pilot_tokens']:,} tokens, over "
            f"{totals['training_prompts']:,} prompts.",
            *_resource_lines(totals),
            "Expected is before training moves the policy: the pilot's own policy sees such groups.",
            _pays_line(totals["pilot_pays_after"]),
            *budget_lines(plan["budget"]),
            "",
            *markdown_table(
                [
                    "variant",
                    "groups",
                    "prompts (coverage)",
                    "informative groups",
                    "rollouts for one",
                    "time",
                    "verdict",
                ],
                [_plan_row(row) for row in plan["variants"]],
            ),
            "",
            "## Arms",
            "",
            "All seeds share the fixed order of the static arm, so the variance between its seeds is a lower bound.",
            "",
            *markdown_table(
                [
                    "arm",
                    "variants",
                    "coverage",
                    "rollouts",
                    "with the pilot",
                    "tokens",
                    "with the pilot",
                    "informative",
                ],
                [_arm_row(arm) for arm in plan["arms"]],
            ),
            "",
            "## What it can see",
            "",
            *_power_lines(plan["power"]),
            "",
            *_actual_lines(plan.get("actual", [])),
        ]
    )


def _resource_lines(totals: dict) -> list[str]:
    """FLOPs, memory and money, where they are known."""
    parts = []
    if totals["flops"] is not None:
        parts += [f"{totals['flops']:.2g} FLOPs", f"{totals['peak_memory_bytes'] / 2**30:.2g} GiB at the most"]
    if totals["money"] is not None:
        parts.append("{:,.2f} to {:,.2f} of money".format(*totals["money"]))
    return ["Resources: " + ", ".join(parts) + "."] if parts else []


def _plan_row(row: dict) -> list[object]:
    low, high = row["expected_interval"]
    return [
        f"{row['variant']} (control)" if row["control"] else row["variant"],
        row["groups"],
        f"{row['distinct_prompts']} ({row['coverage']:.0%})",
        f"{row['expected_informative_groups']:.0f} [{low:.0f}, {high:.0f}]",
        row["rollouts_per_informative_group"] or "never",
        f"{_range(row['hours'])} ({row['hours_by']})" if row["hours"] else "not known",
        f"{row['verdict']}: {row['reason']}",
    ]


def _arm_row(arm: dict) -> list[object]:
    return [
        f"{arm['curriculum']} (control)" if arm["control"] else arm["curriculum"],
        arm["variants"],
        " to ".join(f"{share:.0%}" for share in sorted(set(arm["coverage"]))),
        f"{arm['rollouts']:,}",
        f"{arm['rollouts_with_pilot']:,}",
        f"{arm['generated_tokens']:,}",
        f"{arm['generated_tokens_with_pilot']:,}",
        f"{arm['expected_informative_groups']:,.0f}",
    ]


def _pays_line(variants: int | None) -> str:
    if variants is None:
        return "The pilot does not pay for itself by informative groups: no informative arm gains over one without it."
    return f"The pilot has paid for itself, in informative groups, after {variants} variants of the informative order."


def budget_lines(budget: dict | None) -> list[str]:
    """What an experiment spends of its budget and what to drop, a line each; none where it has no budget."""
    if budget is None:
        return []
    if not budget["over"]:
        return ["", "It is within its budget."]
    lines = ["", "It is over its budget: " + "; ".join(budget["over"]) + "."]
    lines += [
        f"{number}. drop {cut['value']} from {cut['axis']}: {cut['variants_left']} variants and "
        f"{cut['rollouts']:,} rollouts are left"
        for number, cut in enumerate(budget["cuts"], start=1)
    ]
    return (
        lines if budget["fits_after_cuts"] else [*lines, "Even one variant of each reward and curriculum is too much."]
    )


def _power_lines(power: dict) -> list[str]:
    sd = power["seed_deviation"]
    rows = []
    for axis, found in power["axes"].items():
        seen = [_points(effect) for effect in found["effects"]]
        if found["effects"][1] is None:
            seen = ["nothing: six matched pairs are the least"] * 3
        rows.append([f"{axis} ({found['matched_pairs']} matched pairs, {power['dev_tasks']} dev tasks)", *seen])
    rows.append(["selection: one configuration alone ahead", *map(_points, power["selection"])])
    chances = ["nothing" if chance is None else f"{chance:.0%}" for chance in power["selection_finds"]]
    rows.append([f"chance that a configuration {100 * LEAD:.0f} points better is found alone ahead", *chances])
    heldout = "no held-out tasks" if power["heldout"] is None else _points(power["heldout"])
    rows.append(["held-out test: one checkpoint over the untrained policy", *[heldout] * 3])
    headings = ["smallest effect found with 80% power at 5%", *(f"seed sd {sd * factor:.2g}" for factor in (0.5, 1, 2))]
    return [f"Standard deviation between seeds by {power['seed_deviation_by']}.", "", *markdown_table(headings, rows)]


def _actual_lines(actual: list[dict]) -> list[str]:
    """Planned against actual, where something has been trained."""
    if not actual:
        return []
    rows = [
        [
            row["variant"],
            *(f"{number:,}" for number in row["tokens"]),
            _range(row["hours"][0]) if row["hours"][0] else "not known",
            _duration(row["hours"][1]),
            "{:.0f} to {:.0f}".format(*row["informative_groups"][0]),
            f"{row['informative_groups'][1]}{' (pilot aged)' if row['pilot_aged'] else ''}",
            f"{row['brier_pilot']:.3f}",
            f"{row['brier_updated']:.3f}",
        ]
        for row in actual
    ]
    headings = [
        "variant",
        "tokens planned",
        "actual",
        "time planned",
        "actual",
        "informative groups planned",
        "actual",
        "Brier score of the pilot",
        "kept up to date",
    ]
    return ["## Planned against actual", "", *markdown_table(headings, rows), ""]


def _points(effect: float | None) -> str:
    return "nothing" if effect is None else f"{100 * effect:.1f} points"


def _range(pair: Sequence[float]) -> str:
    return " to ".join(map(_duration, pair))


def _duration(hours: float) -> str:
    """Hours in the unit that reads well."""
    if hours >= 1:
        return f"{hours:.3g} h"
    return f"{60 * hours:.3g} min" if hours >= 1 / 60 else f"{3600 * hours:.2g} s"
