"""The decision: which checkpoint of an experiment to keep, from its table alone."""

from collections.abc import Sequence

from grpo_assets.domain.specs import Selection

SELECTION_POLICY = "dev_or_smoke_metrics_only_no_heldout_test"


def decide(rows: Sequence[dict], rule: Selection) -> dict:
    """The selected variant with the evidence, and for every other one the reason why it was passed over.

    Eligible is a variant that was trained and evaluated and had enough distinct informative prompts.
    Among them the highest metric wins; ties go to the lower KL to the base policy, then to the slug.

    Args:
        rows: the variants of the experiment table.

    Returns:
        `selected`, a slug or None with a `reason`, `evidence` and `passed_over`.
    """
    barred = {row["variant"]: reason for row in rows if (reason := _bar(row, rule))}
    eligible = [row for row in rows if row["variant"] not in barred]
    ranked = sorted(eligible, key=lambda row: (-row[rule.metric], row["kl_to_base"], row["variant"]))
    if not ranked:
        return _decision(rule, None, f"none of the {len(rows)} variants is eligible", barred)

    winner, *others = ranked
    for row in others:
        barred[row["variant"]] = _beaten(row, winner, rule.metric)
    reason = f"highest {rule.metric} of {len(ranked)} eligible variants"
    if others and others[0][rule.metric] == winner[rule.metric]:
        reason += ", decided by tie-break: lower kl_to_base, then slug"
    return _decision(rule, winner, reason, barred)


def _bar(row: dict, rule: Selection) -> str | None:
    """Why a variant may not be selected, None where it may."""
    if row["status"] != "complete":
        return f"{row['status']}: {row['reason']}"
    informative = row[f"informative_prompts_{rule.informative_scope}"]
    if informative < rule.min_informative_prompts:
        return (
            f"{informative} distinct informative prompts (scope {rule.informative_scope}), "
            f"fewer than {rule.min_informative_prompts}"
        )
    return None


def _beaten(row: dict, winner: dict, metric: str) -> str:
    if row[metric] < winner[metric]:
        return f"{metric} {row[metric]:.6g} is below {winner[metric]:.6g}"
    return f"same {metric}; lost the tie-break on kl_to_base, then slug"


def _decision(rule: Selection, winner: dict | None, reason: str, passed_over: dict[str, str]) -> dict:
    return {
        "selection_policy": SELECTION_POLICY,
        "rule": rule.model_dump(),
        "selected": winner["variant"] if winner else None,
        "checkpoint": winner["checkpoint"] if winner else None,
        "folder": f"variants/{winner['variant']}" if winner else None,
        "reason": reason,
        "evidence": winner,
        "passed_over": dict(sorted(passed_over.items())),
    }
