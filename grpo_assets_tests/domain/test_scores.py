"""Scores are pass rates on the same dev tasks, and their error counts near-duplicates as one."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.final_test import clustered_error
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.scores import Scores, TaskRates, clustered_variance, from_rows, rows_of, scores_of, tasks_of
from grpo_assets.domain.tasks import isolation_of
from grpo_assets_tests.builders import LAW, task_row

RATE = st.integers(0, 6).map(lambda passes: passes / 6)
TASKS = st.lists(st.tuples(RATE, RATE, st.integers(0, 4)), min_size=1, max_size=15)
"""The untrained policy's rate, a variant's, and the cluster of each task."""
CLUSTERS = {"t1": "b", "t2": "a", "t3": "b"}


def rates(
    sampled: Sequence[float], greedy: Sequence[float] | None = None, tasks: Sequence[str] = "t1 t2 t3"
) -> TaskRates:
    """What an evaluation measured on the three tasks."""
    names = tasks.split() if isinstance(tasks, str) else list(tasks)
    return TaskRates(names, np.array(sampled, float), np.array(sampled if greedy is None else greedy, float))


def scores(values: Sequence[float], clusters: Sequence[int]) -> Scores:
    """Scores of one variant `a` beside an untrained policy that passes nothing."""
    rate = np.array(values, float)
    keys = tuple(f"t{place}" for place in range(len(values)))
    return Scores(keys, np.array(clusters, dtype=np.int64), {"a": rate}, np.zeros_like(rate))


def drawn(tasks: list[tuple[float, float, int]]) -> Scores:
    """Scores from what hypothesis drew; their clusters numbered without a gap."""
    names = {f"t{place}": f"c{cluster}" for place, (_, _, cluster) in enumerate(tasks)}
    untrained, variant = ([task[arm] for task in tasks] for arm in (0, 1))
    return scores_of(names, rates(untrained, tasks=list(names)), {"a": rates(variant, tasks=list(names))})


def test_scores_keep_the_order_of_the_tasks_and_number_the_clusters() -> None:
    """Clusters are numbered from 0 by their names, and the sampled rates are kept, not the greedy ones."""
    found = scores_of(CLUSTERS, rates([0.0, 0.5, 1.0]), {"a": rates([0.25, 0.5, 0.75], greedy=[1, 1, 1])})

    assert found.tasks == ("t1", "t2", "t3")
    assert found.clusters.tolist() == [1, 0, 1]
    assert found.sizes.tolist() == [1, 2]
    assert found.untrained.tolist() == [0.0, 0.5, 1.0]
    assert {name: rate.tolist() for name, rate in found.variants.items()} == {"a": [0.25, 0.5, 0.75]}


def test_an_empty_dev_set_is_refused() -> None:
    """Without tasks there is nothing to compare on."""
    with pytest.raises(FailedWork, match="the dev set is empty"):
        scores_of({}, rates([], tasks=[]), {})


@pytest.mark.parametrize("who", ["the untrained policy", "a"])
@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("t1 t2", "1, as t3"),  # one too few
        ("t1 t2 t3 t4", "1, as t4"),  # one too many
        ("t1 t2 t4", "2, as t3"),  # another one
        ("t2 t1 t3", "the same ones in another order"),
    ],
)
def test_other_tasks_are_refused(who: str, tasks: str, message: str) -> None:
    """Whoever was evaluated on other tasks than the dev set is named with a task that differs."""
    whole, other = rates([0.5] * 3), rates([0.5] * len(tasks.split()), tasks=tasks)

    with pytest.raises(FailedWork, match=f"{who}: evaluated on other tasks than the dev set: {message}"):
        scores_of(CLUSTERS, other if who != "a" else whole, {"a": other if who == "a" else whole})


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -0.01, 1.01])
@pytest.mark.parametrize("decoding", ["sampled", "greedy"])
@pytest.mark.parametrize("who", ["the untrained policy", "a"])
def test_a_pass_rate_that_is_none_is_refused(who: str, decoding: str, wrong: float) -> None:
    """NaN and what lies outside [0, 1] is refused, with the policy and the task, however it was decoded."""
    whole = rates([0.5] * 3)
    odd = whole._replace(**{decoding: np.array([0.5, wrong, 0.5])})

    with pytest.raises(FailedWork, match=f"{who}: the pass rate of task t2 is {wrong}, not in"):
        scores_of(CLUSTERS, odd if who != "a" else whole, {"a": odd if who == "a" else whole})


def test_rates_add_up_within_each_cluster() -> None:
    """The last axis goes from tasks to clusters, whatever the axes before it are."""
    found = scores([0, 0, 0, 0], clusters=[1, 0, 1, 2])
    rate = np.array([0.25, 0.5, 0.75, 1.0])

    assert found.sums(rate).tolist() == [0.5, 1.0, 1.0]
    assert found.sums(np.array([[rate, 2 * rate]])).tolist() == [[[0.5, 1.0, 1.0], [1.0, 2.0, 2.0]]]


@LAW
@given(TASKS)
def test_sums_are_those_of_a_loop(tasks: list[tuple[float, float, int]]) -> None:
    """Each cluster has the sum of the rates of its tasks and no others."""
    found = drawn(tasks)

    by_hand = [0.0] * len(found.sizes)
    for rate, cluster in zip(found.variants["a"], found.clusters, strict=True):
        by_hand[cluster] += rate
    assert found.sums(found.variants["a"]) == pytest.approx(by_hand)


def test_clustered_variance_vector() -> None:
    """Ten tasks in four clusters have the clustered error of the reference."""
    found = scores([1, 1, 1, 0, 1, 1, 0, 0, 0, 1], clusters=[0, 0, 0, 0, 1, 1, 2, 2, 2, 3])

    variance = clustered_variance(found.sums(found.variants["a"]), found.sizes)

    assert variance == pytest.approx(0.209762**2, abs=1e-6)
    assert variance**0.5 == pytest.approx(0.209762, abs=5e-7)


@LAW
@given(TASKS)
def test_clustered_variance_is_the_square_of_the_final_test_s_error(tasks: list[tuple[float, float, int]]) -> None:
    """Selection and the final test measure the error of a paired difference alike."""
    found = drawn(tasks)
    difference = found.variants["a"] - found.untrained

    variance = clustered_variance(found.sums(difference), found.sizes)

    if len(found.sizes) > 1:  # the other one refuses a single cluster
        assert variance**0.5 == pytest.approx(clustered_error(difference, found.clusters), abs=1e-8)
    else:
        assert variance == pytest.approx(0, abs=1e-20)


@LAW
@given(TASKS)
def test_scores_come_back_from_their_rows(tasks: list[tuple[float, float, int]]) -> None:
    """Written as rows and read again, scores are bit for bit what they were."""
    found = drawn(tasks)

    again = from_rows(tasks_of(found), rows_of(found))

    assert again.tasks == found.tasks
    assert again.clusters.tolist() == found.clusters.tolist()
    assert again.untrained.tolist() == found.untrained.tolist()
    assert {name: rate.tolist() for name, rate in again.variants.items()} == {"a": found.variants["a"].tolist()}
    assert again.keys_sha256 == found.keys_sha256


def test_dev_tasks_are_known_by_content_in_any_order() -> None:
    """The identity is the one that `dev_tasks` states, and the order of the tasks does not count."""
    rows = [task_row(name, split="dev") for name in ("rev-1", "rev-2", "rev-3")]
    keys = [row["task_key"] for row in rows]
    found = Scores(tuple(keys), np.arange(3), {}, np.zeros(3))
    turned = Scores(tuple(keys[::-1]), np.arange(3), {}, np.zeros(3))

    assert found.keys_sha256 == turned.keys_sha256 == isolation_of(rows)["dev_task_keys_sha256"]
    assert found.keys_sha256 != Scores(tuple(keys[:2]), np.arange(2), {}, np.zeros(2)).keys_sha256
