"""Pass rates count what has a verdict, intervals respect tasks, and a gain is paired by task."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from grpo_assets.domain.evaluation import gain, measure, pass_rate_interval, pass_rates
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets_tests.builders import LAW, evaluation_rows, group_rows

RATES = st.integers(1, 10).flatmap(
    lambda samples: st.lists(st.integers(0, samples).map(lambda c: c / samples), min_size=1, max_size=40)
)


def test_pass_rates_by_task() -> None:
    """The pass rate of a task is over its rollouts of one way of decoding that have a verdict."""
    rows = evaluation_rows("a", "ppfn", greedy="f") + evaluation_rows("b", "ff", greedy="p")

    assert pass_rates(rows, "sampled") == {fingerprint("a"): pytest.approx(2 / 3), fingerprint("b"): 0.0}
    assert pass_rates(rows, "greedy") == {fingerprint("a"): 0.0, fingerprint("b"): 1.0}


def test_tasks_without_verdict_have_no_pass_rate() -> None:
    """A task of which nothing is known is absent, not failed."""
    assert pass_rates(evaluation_rows("a", "nn"), "sampled") == {}


@LAW
@given(passes=st.integers(0, 100), tasks=st.integers(100, 200))
def test_one_sample_a_task_has_about_agresti_and_coulls_interval(passes: int, tasks: int) -> None:
    """Rates of 0 and 1 have the interval that statsmodels gives for as many yes-or-no trials."""
    rates = [1.0] * passes + [0.0] * (tasks - passes)

    expected = proportion_confint(passes, tasks, method="agresti_coull")

    assert pass_rate_interval(rates) == pytest.approx(expected, abs=0.002)


def test_18_of_20_trials() -> None:
    """The interval is near Wilson's of statistics.md, section 4, on the side of caution."""
    low, high = pass_rate_interval([1.0] * 18 + [0.0] * 2)

    assert 0.66 < low < 0.698966
    assert 0.972134 < high <= 1.0


@pytest.mark.parametrize("tasks", [1, 2, 30, 174])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.7, 1.0])
def test_intervals_have_a_width_where_all_tasks_agree(rate: float, tasks: int) -> None:
    """Tasks that agree leave room of the order of one task's weight, so that a handful of them proves nothing."""
    low, high = pass_rate_interval([rate] * tasks)

    assert low <= rate + 1e-9
    assert rate - 1e-9 <= high
    assert high - low > 1 / (tasks + 4)


def test_one_task_that_differs_does_not_narrow_the_interval() -> None:
    """Tasks that nearly agree are about as uncertain as tasks that agree."""
    agree = pass_rate_interval([0.5] * 8)
    nearly = pass_rate_interval([0.5] * 7 + [0.75])

    assert nearly[1] - nearly[0] == pytest.approx(agree[1] - agree[0], abs=0.01)


@LAW
@given(rates=RATES)
def test_intervals_lie_between_0_and_1_around_the_mean(rates: list[float]) -> None:
    """An interval stays in [0, 1] and holds the mean."""
    low, high = pass_rate_interval(rates)

    mean = math.fsum(rates) / len(rates)
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1


@LAW
@given(passes=st.integers(1, 9))
def test_more_samples_of_a_task_are_not_more_tasks(passes: int) -> None:
    """Tasks that always pass or always fail are as uncertain with many samples each as with one."""
    once = [row for task in range(10) for row in group_rows(f"t{task}", "p" if task < passes else "f")]
    often = [row for task in range(10) for row in group_rows(f"t{task}", "pppp" if task < passes else "ffff")]

    intervals = [pass_rate_interval(list(pass_rates(rows, "sampled").values())) for rows in (once, often)]

    assert intervals[0] == intervals[1]


def test_measure_of_an_evaluation() -> None:
    """An evaluation has both pass rates with intervals, the KL of the sampled rollouts and what had no verdict."""
    rows = [
        *group_rows("a", "ppfn", kl_to_base=0.25),
        *group_rows("b", "ffff", kl_to_base=0.75),
        *group_rows("a", "p", decoding="greedy", kl_to_base=9.0),
        *group_rows("b", "p", decoding="greedy", kl_to_base=9.0),
    ]

    measured = measure(rows)

    assert measured == {
        "tasks": 2,
        "pass_rate": pytest.approx(1 / 3),  # the mean over tasks of 2/3 and 0, not 2 of 7 rollouts
        "pass_rate_interval": list(pass_rate_interval([2 / 3, 0.0])),
        "greedy_pass_rate": 1.0,
        "greedy_pass_rate_interval": list(pass_rate_interval([1.0, 1.0])),
        "kl_to_base": 0.5,
        "no_verdict": 1,
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (evaluation_rows("a", "pf") + evaluation_rows("b", "nn"), "1 of 2 tasks have no sampled rollout"),
        (evaluation_rows("a", "pf") + evaluation_rows("b", "pf", "n"), "1 of 2 tasks have no greedy rollout"),
        (evaluation_rows("a", "pf", greedy=""), "1 of 1 tasks have no greedy rollout"),  # it was not decoded
        ([], "0 of 0 tasks have no sampled rollout"),  # an empty evaluation is no pass rate of 0
    ],
)
def test_evaluations_that_lack_verdicts_are_refused(rows: list[dict], message: str) -> None:
    """A task without a verdict in one of the two ways of decoding is an error, not a fail."""
    with pytest.raises(ValueError, match=f"^{message} with a verdict$"):
        measure(rows)


def test_gain_is_paired_by_task() -> None:
    """The gain is the mean of the tasks' differences."""
    compared = gain(np.array([0.0, 0.5, 1.0]), np.array([[0.25, 0.75, 1.0], [0.75, 0.75, 1.0]]))

    # by task 0.5, 0.75 and 1.0, so the differences are 0.5, 0.25 and 0 with a standard error of 0.25 / sqrt(3)
    reach = 4.302653 * 0.25 / math.sqrt(3)  # Student's t, 2 degrees of freedom
    assert compared["mean"] == 0.75
    assert compared["interval"] == list(pass_rate_interval([0.5, 0.75, 1.0]))
    assert compared["gain"] == 0.25
    assert compared["gain_interval"] == pytest.approx([0.25 - reach, 0.25 + reach], abs=1e-6)


def test_pairing_takes_out_what_tasks_have_in_common() -> None:
    """Tasks of very different difficulty that all gain the same leave no doubt about the gain."""
    baseline = np.array([0.0, 0.25, 0.5, 0.75])

    compared = gain(baseline, baseline[None] + 0.25)

    assert compared["gain_interval"] == [0.25, 0.25]


@LAW
@given(rates=st.lists(st.integers(0, 8).map(lambda c: c / 8), min_size=2, max_size=20))
def test_a_policy_gains_nothing_over_itself(rates: list[float]) -> None:
    """The gain over equal pass rates is an exact 0."""
    baseline = np.array(rates)

    compared = gain(baseline, np.array([baseline, baseline]))

    assert (compared["gain"], compared["gain_interval"]) == (0.0, [0.0, 0.0])


def test_one_task_is_too_few_for_a_gain() -> None:
    """A single dev task has no spread, so an interval is refused rather than not a number."""
    with pytest.raises(ValueError, match="1 dev tasks have no spread"):
        gain(np.array([0.5]), np.array([[1.0]]))
