"""A challenger replaces the champion only when it is ahead on the same dev tasks by more than the error."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.champion import compared
from grpo_assets.domain.final_test import clustered_error
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.scores import Floats, Scores
from grpo_assets_tests.builders import LAW

TASKS = 20
RATES = st.lists(st.lists(st.integers(0, 4).map(lambda x: x / 4), min_size=8, max_size=8), min_size=2, max_size=4)
"""Pass rates of two to four runs on eight tasks."""


def scores(runs: Sequence[float | Sequence[float] | Floats], tasks: int = TASKS, per_cluster: int = 1) -> Scores:
    """Scores of runs `r1`, `r2`, ...; a number is the pass rate on every task."""
    rates = {f"r{seed}": np.zeros(tasks) + run for seed, run in enumerate(runs, start=1)}
    return Scores(tuple(f"t{n:02}" for n in range(tasks)), np.arange(tasks) // per_cluster, rates, np.zeros(tasks))


def decision(experiment: str, of: Scores, selected: str = "r1") -> dict[str, Any]:
    """What a decision says that is read here."""
    corrected = {"value": 0.5, "interval": [0.4, 0.6], "reason": None}
    return {
        "experiment": experiment,
        "selected": selected,
        "runs": list(of.variants),
        "evidence": {"variant": {}, "checkpoint": corrected, "configuration": {**corrected, "value": 0.45}},
    }


def outcome(ours: Scores, theirs: Scores) -> dict[str, Any]:
    return compared(decision("old", ours), ours, decision("new", theirs), theirs)


@pytest.mark.parametrize(
    ("champion", "challenger", "expected"),
    [
        ([0.5, 0.5], [0.75, 0.75], "challenger ahead"),
        ([0.75, 0.75], [0.5, 0.5], "champion ahead"),
        ([0.5, 0.5], [0.5, 0.5], "tie"),
        ([0.5, 0.5], [0.25, 1.0], "tie"),  # ahead by .125, with runs that differ by more
    ],
)
def test_who_is_ahead_by_more_than_the_error(champion: list, challenger: list, expected: str) -> None:
    """The outcome follows from the means over seeds; within the error the champion stays."""
    found = outcome(scores(champion), scores(challenger))

    assert found["outcome"] == expected
    assert found["configurations"]["difference"] == pytest.approx(np.mean(challenger) - np.mean(champion))


@LAW
@given(
    passes=st.lists(st.integers(0, 5), min_size=8, max_size=8), seeds=st.tuples(st.integers(2, 4), st.integers(2, 4))
)
def test_equal_scores_tie_whatever_their_last_digits_are(passes: list[int], seeds: tuple[int, int]) -> None:
    """Runs that all score the same on each task put nobody ahead, however many runs there are."""
    rates = np.array(passes) / 5
    ours, theirs = (scores([rates] * count, tasks=8) for count in seeds)

    found = outcome(ours, theirs)

    assert found["configurations"]["difference"] == pytest.approx(0, abs=1e-12)
    assert found["outcome"] == "tie"


def test_both_are_named_with_their_corrected_scores() -> None:
    """What each experiment states of its selected checkpoint is passed on."""
    ours, theirs = scores([0.5, 0.5]), scores([0.75, 0.75])

    found = compared(decision("old", ours, "r2"), ours, decision("new", theirs), theirs)

    assert found["champion"] == {
        "experiment": "old",
        "selected": "r2",
        "bias_corrected": {
            "checkpoint": {"value": 0.5, "interval": [0.4, 0.6], "reason": None},
            "configuration": {"value": 0.45, "interval": [0.4, 0.6], "reason": None},
        },
    }
    assert (found["challenger"]["experiment"], found["challenger"]["selected"]) == ("new", "r1")


def test_checkpoints_are_the_selected_runs() -> None:
    """The comparison of checkpoints is the challenger's selected run less the champion's."""
    ours, theirs = scores([0.25, 0.5]), scores([1.0, 0.75])

    found = compared(decision("old", ours, "r2"), ours, decision("new", theirs, "r1"), theirs)["checkpoints"]

    assert (found["ours"], found["theirs"], found["difference"]) == (1.0, 0.5, 0.5)
    assert (found["tasks"], found["clusters"]) == (20, 20)


def test_the_error_is_that_of_tasks_and_of_the_runs_of_both() -> None:
    """Clustered over tasks, plus for each side the variance between its runs over their number."""
    rng = np.random.default_rng(1)
    champion, challenger = rng.binomial(4, 0.5, (2, TASKS)) / 4, rng.binomial(4, 0.6, (3, TASKS)) / 4
    ours, theirs = scores(list(champion), per_cluster=2), scores(list(challenger), per_cluster=2)

    found = outcome(ours, theirs)["configurations"]

    by_task = clustered_error(challenger.mean(axis=0) - champion.mean(axis=0), np.arange(TASKS) // 2)
    between = champion.mean(axis=1).var(ddof=1) / 2 + challenger.mean(axis=1).var(ddof=1) / 3
    assert found["error"] == pytest.approx((by_task**2 + between) ** 0.5)
    assert found["seeds"] == [2, 3]
    assert found["champion"] == pytest.approx(champion.mean())
    assert found["challenger"] == pytest.approx(challenger.mean())


def test_tasks_are_paired_by_their_keys() -> None:
    """The same tasks in another order are the same comparison."""
    rng = np.random.default_rng(2)
    ours, theirs = (scores(list(rng.binomial(4, 0.5, (2, TASKS)) / 4), per_cluster=2) for _ in range(2))
    order = rng.permutation(TASKS)
    turned = Scores(
        tuple(theirs.tasks[place] for place in order),
        np.unique(theirs.clusters[order], return_inverse=True)[1],
        {name: rates[order] for name, rates in theirs.variants.items()},
        theirs.untrained[order],
    )

    assert outcome(ours, turned) == outcome(ours, theirs)


@pytest.mark.parametrize("tasks", [TASKS - 1, TASKS + 1])
def test_other_dev_tasks_are_refused(tasks: int) -> None:
    """Scores on different tasks cannot be paired."""
    with pytest.raises(FailedWork, match=rf"the dev tasks of old and of new differ \(20 and {tasks}\)"):
        outcome(scores([0.5, 0.5]), scores([0.5, 0.5], tasks))


def test_as_many_other_dev_tasks_are_refused() -> None:
    """It is the contents of the tasks that must be the same, not their number."""
    theirs = scores([0.5, 0.5])
    other = Scores(("another", *theirs.tasks[1:]), theirs.clusters, theirs.variants, theirs.untrained)

    with pytest.raises(FailedWork, match=r"differ \(20 and 20\)"):
        outcome(scores([0.5, 0.5]), other)


@LAW
@given(champion=RATES, challenger=RATES)
def test_the_comparison_is_the_same_from_both_sides(champion: list, challenger: list) -> None:
    """With the roles exchanged the difference changes its sign and the error stays."""
    ours, theirs = scores(champion, 8, per_cluster=2), scores(challenger, 8, per_cluster=2)

    found, turned = outcome(ours, theirs), outcome(theirs, ours)

    first, second = found["configurations"], turned["configurations"]
    assert first["difference"] == pytest.approx(-second["difference"])
    assert first["error"] == pytest.approx(second["error"])
    if abs(abs(first["difference"]) - first["error"]) > 1e-9:
        names = {"challenger ahead": "champion ahead", "champion ahead": "challenger ahead", "tie": "tie"}
        assert found["outcome"] == names[turned["outcome"]]
    assert found["checkpoints"]["p"] == turned["checkpoints"]["p"]
