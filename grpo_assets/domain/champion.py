"""A champion and its challenger: the selected checkpoints of two experiments on the same dev tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grpo_assets.domain.contest import ROUNDING
from grpo_assets.domain.final_test import paired_comparison
from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.scores import Floats, Scores, clustered_variance


def compared(
    champion: Mapping[str, Any], ours: Scores, challenger: Mapping[str, Any], theirs: Scores
) -> dict[str, Any]:
    """The challenger against the champion, paired by task.

    Args:
        champion, challenger: decisions that selected a checkpoint.
        ours, theirs: the dev scores of the champion's experiment and of the challenger's.

    Returns:
        `checkpoints`, the two runs that were selected; `configurations`, the mean over all seeds of each, with the
        error of the rule of selection; `outcome`: `challenger ahead` or `champion ahead` by more than that error,
        else `tie`, and the champion stays.

    Raises:
        FailedWork: when the dev tasks are not the same.
    """
    if ours.keys_sha256 != theirs.keys_sha256:
        raise FailedWork(
            f"the dev tasks of {champion['experiment']} and of {challenger['experiment']} differ "
            f"({len(ours.tasks)} and {len(theirs.tasks)}): scores on different tasks cannot be paired"
        )
    order = [theirs.tasks.index(task) for task in ours.tasks]
    ours_by_seed, theirs_by_seed = _runs(champion, ours), _runs(challenger, theirs)[:, order]
    difference = theirs_by_seed.mean(axis=0) - ours_by_seed.mean(axis=0)
    between = sum(runs.mean(axis=1).var(ddof=1) / len(runs) for runs in (ours_by_seed, theirs_by_seed))
    error = float(np.sqrt(clustered_variance(ours.sums(difference), ours.sizes) + between))
    lead = float(difference.mean())
    single = paired_comparison(
        theirs.variants[challenger["selected"]][order],
        ours.variants[champion["selected"]],
        ours.clusters,
        seed_of("compare", sorted(ours.tasks)),
    )
    ahead = "tie" if abs(lead) <= error + ROUNDING else "challenger ahead" if lead > 0 else "champion ahead"
    return {
        "champion": _named(champion),
        "challenger": _named(challenger),
        "checkpoints": single,
        "configurations": {
            "champion": float(ours_by_seed.mean()),
            "challenger": float(theirs_by_seed.mean()),
            "difference": lead,
            "error": error,
            "seeds": [len(ours_by_seed), len(theirs_by_seed)],
        },
        "outcome": ahead,
    }


def _runs(decision: Mapping[str, Any], scores: Scores) -> Floats:
    """Scores of all runs of the selected configuration, shape (seeds, tasks)."""
    slugs: Sequence[str] = decision["runs"]
    return np.array([scores.variants[slug] for slug in slugs])


def _named(decision: Mapping[str, Any]) -> dict[str, Any]:
    corrected = {target: decision["evidence"][target] for target in ("checkpoint", "configuration")}
    return {"experiment": decision["experiment"], "selected": decision["selected"], "bias_corrected": corrected}
