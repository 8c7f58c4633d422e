"""The held-out evaluation as a page, and its lines for the terminal."""

from grpo_assets.runtime.reports import markdown_table, opening_lines, with_interval


def heldout_markdown(found: dict) -> str:
    """The held-out evaluation of an experiment as a page of Markdown."""
    policies = [
        [name, f"{row['pass_rate']:.3f}", f"{row['greedy_pass_rate']:.3f}", *map(_pass_at, row["pass_at"])]
        for name, row in found["policies"].items()
    ]
    ks = [f"pass@{row['k']}" for row in found["policies"]["untrained"]["pass_at"]]
    shown = [f"# Held-out evaluation of {found['experiment']}", "", f"Selected: {found['selected']}", ""]
    for line in heldout_lines(found):
        shown += [line.strip(), ""]
    return "\n".join([*shown, *markdown_table(["policy", "pass rate", "greedy", *ks], policies), ""])


def _pass_at(row: dict) -> str:
    return with_interval(row["value"], row["interval"])


def heldout_lines(found: dict) -> list[str]:
    """Each contrast, what of the gain sampling alone would give, and how often these tasks have been opened."""
    lines = []
    for name, contrast in found["contrasts"].items():
        change = with_interval(contrast["difference"], contrast["interval"], sign=True)
        least = "" if contrast["detectable"] is None else f", least difference found {contrast['detectable']:.3f}"
        lines.append(
            f"against {name}: {contrast['ours']:.3f} and {contrast['theirs']:.3f}, {change}, p {contrast['p']:.2g}, "
            f"Holm {contrast['p_holm']:.2g} ({contrast['tasks']} tasks in {contrast['clusters']} clusters{least})"
        )
        if "mcnemar" in contrast:
            one = contrast["mcnemar"]
            lines.append(
                f"  McNemar: {one['wins']} won, {one['losses']} lost, p {one['p']:.2g} (mid-p {one['mid_p']:.2g})"
            )
        if "over_seeds" in contrast:
            seeds = contrast["over_seeds"]
            said = seeds["reason"] or f"p {seeds['p']:.2g}"
            lines.append(f"  over {seeds['seeds']} seeds: {seeds['difference']:+.3f}, {said}")
    lines += [f"against {name}: void, the selected configuration is this control" for name in found["void_contrasts"]]
    for name, contrast in found["sharpening"].items():
        if isinstance(contrast, dict):
            change = with_interval(contrast["difference"], contrast["interval"], sign=True)
            lines.append(f"{name}: {contrast['ours']:.3f} and {contrast['theirs']:.3f}, {change}")
    if found["sharpening"]["majority_reason"]:
        lines.append(f"no majority vote: {found['sharpening']['majority_reason']}")
    return [*lines, *opening_lines(found["ledger"])]
