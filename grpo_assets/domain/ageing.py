"""How a pilot ages: what it predicted of each tenth of a training against what came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from grpo_assets.domain.informativeness import Prior, chances, fit_prior, reward_values, value_counts
from grpo_assets.domain.rollouts import is_informative

PARTS = 10
Z_OF_ALL_PARTS = float(norm.ppf(1 - 0.05 / 2 / PARTS))
"""Standard deviations that hold all parts together with 95% (Bonferroni)."""
DISCOUNT = 0.9
"""What an older rollout still counts for at each visit (MoPPS, arXiv 2507.04632)."""


def ageing(predicted: Sequence[float], realised: Sequence[bool]) -> dict[str, Any]:
    """Predicted against realised informative share, by tenth of the visits in their order.

    Args:
        predicted: the pilot's chance of an informative group, for each visit.
        realised: whether it was one.

    Returns:
        `parts` with `groups`, `predicted`, `low`, `high` and `realised` shares; `aged` where one leaves its band, which
        all of them stay in with 95% while the policy is the pilot's.
    """
    parts = []
    for place in np.array_split(np.arange(len(predicted)), min(PARTS, len(predicted))):
        p = np.array([predicted[i] for i in place])
        reach = Z_OF_ALL_PARTS * float(np.sqrt((p * (1 - p)).sum())) / len(p)
        share, came = float(p.mean()), float(np.mean([realised[i] for i in place]))
        low, high = max(0.0, share - reach), min(1.0, share + reach)
        parts.append({"groups": len(p), "predicted": share, "low": low, "high": high, "realised": came})
    outside = [part for part in parts if not part["low"] - 1e-9 <= part["realised"] <= part["high"] + 1e-9]
    return {"parts": parts, "aged": bool(outside)}


@dataclass(frozen=True)
class Forecast:
    """What a pilot says of each prompt: counts of each reward value by task key, and the prior of its scoring."""

    counts: Mapping[str, np.ndarray]
    values: Sequence[float]
    prior: Prior


def forecast_of(statistics: Sequence[dict]) -> Forecast:
    """The forecast of a scoring, rows of `schemas.STATISTICS`."""
    counts = value_counts(statistics)
    by_key = {row["task_key"]: seen for row, seen in zip(statistics, counts, strict=True)}
    return Forecast(by_key, reward_values(statistics), fit_prior(counts))


def brier_scores(visits: Sequence[tuple[str, Sequence[float | None]]], forecast: Forecast) -> dict[str, float]:
    """The Brier score of the pilot's predictions, and of those that training's own rollouts keep up to date.

    Before each visit a prompt's counts are `DISCOUNT` times what they were, plus what its last visit showed.

    Args:
        visits: task key and rewards of each group, in the order of training.
    """
    place = {value: index for index, value in enumerate(forecast.values)}
    now = {key: counts.astype(float) for key, counts in forecast.counts.items()}
    before, came = [], []
    for key, rewards in visits:
        before.append(now[key])
        came.append(is_informative(rewards))
        seen = np.zeros(len(forecast.values))
        for reward in rewards:
            if reward in place:
                seen[place[reward]] += 1
        now[key] = DISCOUNT * now[key] + seen
    group_size = len(visits[0][1])
    predictions = {"pilot": np.array([forecast.counts[key] for key, _ in visits]), "updated": np.array(before)}
    return {
        f"brier_{name}": float(np.mean((chances(counts, group_size, forecast.prior)[0] - np.array(came)) ** 2))
        for name, counts in predictions.items()
    }
