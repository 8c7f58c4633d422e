"""A task is known by its content, near-duplicates go together, and a split depends on the cluster alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.tasks import SPLITS, Split, Task, cluster_of, isolation_of, split_of, task_key
from grpo_assets_tests.builders import LAW, task_row

SHARES: dict[Split, float] = {"train": 0.6, "dev": 0.2, "heldout": 0.2}


def task(**parts: object) -> Task:
    """A task; keywords replace parts of it."""
    return replace(Task("rev-012", "rev 012=", "210", "builders", "Apache-2.0", "rev", ("012", "201")), **parts)


@pytest.mark.parametrize(
    "part",
    [{"prompt": "rev 013="}, {"answer": "211"}, {"family": "sort"}, {"candidates": ("201", "012")}],
    ids=str,
)
def test_content_changes_the_key(part: dict) -> None:
    """Whatever a policy or the verifier sees is part of the key."""
    assert task_key(task(**part)) != task_key(task())


@pytest.mark.parametrize("part", [{"task_id": "other"}, {"source": "elsewhere"}, {"licence": "MIT"}], ids=str)
def test_name_and_origin_do_not_change_the_key(part: dict) -> None:
    """A task that is renamed or comes from elsewhere is the same task."""
    assert task_key(task(**part)) == task_key(task())


@pytest.mark.parametrize(
    "prompt",
    ["Sort 3 1 2", "sort 3 1 2", "  sort\t3  1\n2 ", "SORT 3 1\u00a02"],
)
def test_case_and_white_space_do_not_change_the_cluster(prompt: str) -> None:
    """Prompts that differ in case or white space only share a cluster."""
    assert cluster_of(prompt) == cluster_of("sort 3 1 2")


@pytest.mark.parametrize("prompt", ["sort 3 1 20", "sort 312", "sort 2 1 3", ""])
def test_other_words_change_the_cluster(prompt: str) -> None:
    """Prompts with other words, or words in another order, are in other clusters."""
    assert cluster_of(prompt) != cluster_of("sort 3 1 2")


@LAW
@given(clusters=st.lists(st.text(max_size=5), min_size=1, max_size=20), added=st.lists(st.text(max_size=5)))
def test_adding_tasks_moves_no_other_task(clusters: list[str], added: list[str]) -> None:
    """The split of a cluster is the same whatever else is in the suite, and in whatever order."""
    before = {cluster: split_of(cluster, SHARES) for cluster in clusters}

    after = {cluster: split_of(cluster, SHARES) for cluster in [*added, *reversed(clusters)]}

    assert {cluster: after[cluster] for cluster in clusters} == before


@LAW
@given(cluster=st.text(max_size=5))
def test_split_does_not_depend_on_the_order_of_the_shares(cluster: str) -> None:
    """Shares are read by name: a YAML file may list them in any order."""
    assert split_of(cluster, dict(reversed(SHARES.items()))) == split_of(cluster, SHARES)


@LAW
@given(cluster=st.text(max_size=5))
def test_growing_the_training_share_takes_no_cluster_from_training(cluster: str) -> None:
    """A larger training share only moves clusters into training."""
    larger: dict[Split, float] = {"train": 0.8, "dev": 0.1, "heldout": 0.1}

    assert split_of(cluster, SHARES) != "train" or split_of(cluster, larger) == "train"


def test_splits_have_their_shares() -> None:
    """Over many clusters the splits are about as large as asked for."""
    splits = [split_of(str(index), SHARES) for index in range(2000)]

    for split in SPLITS:
        assert splits.count(split) / 2000 == pytest.approx(SHARES[split], abs=0.04)


def test_only_the_ratio_of_shares_counts() -> None:
    """Shares are weights: without the held-out one, training and dev keep their ratio."""
    two: dict[Split, float] = {"train": 0.6, "dev": 0.2}
    whole: dict[Split, float] = {"train": 0.75, "dev": 0.25}

    found = [split_of(str(index), two) for index in range(400)]

    assert found == [split_of(str(index), whole) for index in range(400)]
    assert set(found) == {"train", "dev"}


def test_isolation_names_the_dev_tasks() -> None:
    """The proof of isolation holds the number and the fingerprint of the dev tasks, in any order of the rows."""
    rows = [task_row("a"), task_row("b", split="dev"), task_row("c", split="dev"), task_row("d", split="heldout")]

    proof = isolation_of(rows)

    keys = sorted([fingerprint("b"), fingerprint("c")])
    assert proof == {
        "dev_tasks": 2,
        "dev_task_keys_sha256": fingerprint(keys),
        "disjoint_from_train_and_heldout": ["task_id", "task_key", "cluster"],
        "leaks": [],
    }
    assert isolation_of(rows[::-1]) == proof


def test_isolation_does_not_depend_on_the_other_splits() -> None:
    """An edit of held-out tasks changes nothing in the proof."""
    dev = task_row("b", split="dev")

    assert isolation_of([dev, task_row("d", split="heldout")]) == isolation_of([dev, task_row("a")])


@pytest.mark.parametrize("column", ["task_id", "task_key", "cluster"])
@pytest.mark.parametrize("other", ["train", "heldout"])
def test_a_split_that_leaks_is_refused(column: str, other: str) -> None:
    """A dev task that shares its id, content or cluster with another split is an error that names both."""
    leaked = task_row("a", split=other)
    rows = [leaked, task_row("b", split="dev", **{column: leaked[column]})]

    with pytest.raises(ValueError, match=f"^{column} '{leaked[column]}' is in both {other} and dev$"):
        isolation_of(rows)


def test_training_tasks_that_are_held_out_are_refused() -> None:
    """The training and the held-out split may not share a cluster either."""
    rows = [task_row("a", cluster="same"), task_row("b", cluster="same", split="heldout")]

    with pytest.raises(ValueError, match=r"^cluster 'same' is in both train and heldout$"):
        isolation_of(rows)


def test_one_split_may_hold_a_cluster_twice() -> None:
    """Near-duplicates within a split are no leak."""
    rows = [task_row("a", cluster="same", split="dev"), task_row("b", cluster="same", split="dev")]

    assert isolation_of(rows)["dev_tasks"] == 2
