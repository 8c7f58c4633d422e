"""Pictures for the pages of plans and statistics, as Markdown that carries its image."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import betabinom

from grpo_assets.domain.informativeness import Prior, chances, fit_prior, value_counts

GROUP_SIZES = (2, 4, 8, 16, 32, 64)


def statistics_pictures(rows: Sequence[dict]) -> str:
    """The histogram of pass rates with what the prior expects, and the share of informative groups by group size."""
    counts = value_counts(rows)
    prior = fit_prior(counts)
    correct = np.array([[row["scored"] - row["passes"], row["passes"]] for row in rows], dtype=np.int64)
    figure, (left, right) = _figure(2)
    rates = [row["pass_rate"] for row in rows if row["pass_rate"] is not None]
    most = max(1, *(row["scored"] for row in rows))
    left.hist(rates, bins=(np.arange(most + 2) - 0.5) / most, color="0.75", label=f"{len(rates)} prompts")
    expected = len(rates) * _expected_histogram(most, fit_prior(correct))
    left.plot(np.arange(most + 1) / most, expected, "k.-", label="expected by the prior")
    left.set(xlabel="pass rate in the pilot", ylabel="prompts")
    left.legend()
    shares = [float(chances(counts, size, prior)[0].mean()) for size in GROUP_SIZES]
    right.plot(GROUP_SIZES, shares, "ko-")
    right.set(xlabel="group size", ylabel="expected share of informative groups", xscale="log", ylim=(0, 1))
    right.set_xticks(GROUP_SIZES, [str(size) for size in GROUP_SIZES])
    return _markdown(figure, "pass rates, and informative groups by group size")


def _expected_histogram(rollouts: int, prior: Prior) -> np.ndarray:
    """Share of prompts with 0 to `rollouts` passes that a prior of pass rates expects."""
    passes = np.arange(rollouts + 1)
    expected = np.zeros(rollouts + 1)
    for share, form in prior.components:
        fails, passing = form.weights
        expected += share * (1 - sum(form.fixed)) * betabinom.pmf(passes, rollouts, passing, fails)
        expected[0] += share * form.fixed[0]
        expected[-1] += share * form.fixed[1]
    return expected


def plan_picture(plan: dict[str, Any]) -> str:
    """Expected informative groups of each variant with their intervals, and what one of them costs in rollouts."""
    figure, (left, right) = _figure(2)
    rows = plan["variants"]
    places = np.arange(len(rows))
    middle = np.array([row["expected_informative_groups"] for row in rows])
    reach = np.abs(np.array([row["expected_interval"] for row in rows]).T - middle)
    left.errorbar(places, middle, yerr=reach, fmt="ko", markersize=3)
    left.set(xlabel="variant, in the order of the matrix", ylabel="expected informative groups")
    cost = [row["rollouts_per_informative_group"] or np.nan for row in rows]
    right.bar(places, cost, color=["0.75" if row["control"] else "0.4" for row in rows])
    right.set(xlabel="variant, in the order of the matrix", ylabel="rollouts for one informative group")
    return _markdown(figure, "expected informative groups and their cost by variant")


def interaction_picture(found: Sequence[dict[str, Any]]) -> str:
    """Mean dev pass rates over two axes at a time, a line for each value of the second: parallel lines add up."""
    if not found:
        return "No two axes have several values.\n"
    figure, panels = _figure(len(found))
    for panel, pair in zip(np.atleast_1d(panels), found, strict=True):
        places = np.arange(len(pair["values"][0]))
        means = np.array([[np.nan if mean is None else mean for mean in row] for row in pair["means"]])
        for column, value in enumerate(pair["values"][1]):
            panel.plot(places, means[:, column], "o-", color=str(0.6 * column / len(pair["values"][1])), label=value)
        panel.set_xticks(places, [str(value) for value in pair["values"][0]], rotation=20)
        panel.set(xlabel=pair["axes"][0], ylabel="mean dev pass rate")
        panel.legend(title=pair["axes"][1])
    return _markdown(figure, "mean dev pass rates over two axes at a time")


def _figure(columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # takes half a second

    figure = Figure(figsize=(4.5 * columns, 3.2), layout="constrained")
    return figure, figure.subplots(1, columns)


def _markdown(figure: Any, title: str) -> str:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=90, metadata={"Software": None})
    return f"![{title}](data:image/png;base64,{base64.b64encode(written.getvalue()).decode()})\n"
