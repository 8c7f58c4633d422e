"""A task is known by its content, near-duplicates go together, and a split depends on the cluster alone."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.duplicates import Pair
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.tasks import (
    SPLITS,
    Split,
    Task,
    cluster_of,
    clusters,
    isolation_of,
    leaks_of,
    split_of,
    task_key,
)
from grpo_assets.domain.tasks import Tests as CodeTests  # pytest takes names in Test- for test classes
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
@pytest.mark.parametrize("kind", ["exact", "tests"])
def test_name_and_origin_do_not_change_the_key(part: dict, kind: str) -> None:
    """A task that is renamed or comes from elsewhere is the same task."""
    of_kind = task() if kind == "exact" else program_task()

    assert task_key(replace(of_kind, **part)) == task_key(of_kind)


def program_task(**parts: object) -> Task:
    """A task whose completions are programs; keywords replace parts of its tests."""
    tests = replace(CodeTests(("add",), ("assert add(1, 2) == 3", "assert add(0, 0) == 0"), 1), **parts)
    return task(verification="tests", tests=tests)


@pytest.mark.parametrize(
    "part",
    [
        {"entry_points": ("plus",)},
        {"entry_points": ()},
        {"tests": ("assert add(1, 2) == 3", "assert add(0, 0) == 1")},
        {"tests": ("assert add(0, 0) == 0", "assert add(1, 2) == 3")},
        {"shown": 2},
        {"preamble": "import math\n"},
        {"setup": "import math\n"},
    ],
    ids=str,
)
def test_tests_change_the_key(part: dict) -> None:
    """How a program is verified is part of its task: other tests, or another way to run them, make another task."""
    assert task_key(program_task(**part)) != task_key(program_task())


def test_the_way_of_verification_changes_the_key() -> None:
    """The same question with the same answer, judged in another way, is another task."""
    keys = {task_key(task(verification=way)) for way in ("exact", "integer", "math", "scorer", "tests")}

    assert len(keys) == 5


def test_the_entry_of_a_generated_task_changes_the_key() -> None:
    """What the scorer of a generator reads is part of the task."""
    keys = {task_key(task(verification="scorer", entry=entry)) for entry in (None, "{}", '{"answer": "1"}')}

    assert len(keys) == 3


def test_every_part_of_a_task_is_in_its_key_but_for_name_and_origin() -> None:
    """A part that is added to tasks has to be listed here, on one side or the other."""
    base = task(verification="math")
    other = {
        "prompt": "rev 013=",
        "answer": "211",
        "family": "sort",
        "candidates": ("012",),
        "verification": "integer",
        "tests": CodeTests(("f",), ("assert f()",), 0),
        "entry": "{}",
    }
    assert other.keys() | {"task_id", "source", "licence"} == {field.name for field in fields(Task)}

    keys = {task_key(replace(base, **{field: value})) for field, value in other.items()}

    assert len(keys | {task_key(base)}) == len(other) + 1


def test_parts_of_a_task_do_not_run_into_each_other() -> None:
    """Text that moves from one part to the next makes another task."""
    assert task_key(task(prompt="ab", answer="c")) != task_key(task(prompt="a", answer="bc"))
    assert task_key(task(candidates=("1", "2"))) != task_key(task(candidates=("12",)))


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


def test_tasks_without_near_duplicates_have_clusters_of_their_own() -> None:
    """Alone, a task is in the cluster that its prompt names."""
    prompts = ["sort 3 1 2", "sort 4 1 2", "max 3 1"]

    assert clusters(prompts, []) == [cluster_of(prompt) for prompt in prompts]


def test_near_duplicates_share_the_least_name_of_their_cluster() -> None:
    """A chain of near-duplicates is one cluster, and the others keep theirs."""
    prompts = [f"prompt {number}" for number in range(6)]
    names = [cluster_of(prompt) for prompt in prompts]
    pairs = [Pair(0, 3, "jaccard"), Pair(3, 5, "same_program"), Pair(1, 2, "coverage")]

    chain, couple = min(names[0], names[3], names[5]), min(names[1], names[2])
    assert clusters(prompts, pairs) == [chain, couple, couple, chain, names[4], chain]


def test_prompts_that_are_equal_up_to_case_share_a_cluster() -> None:
    """Also without a pair: they have one name."""
    first, second, other = clusters(["Sort 3 1", "sort  3 1", "sort 1 3"], [])

    assert first == second != other


def test_no_tasks_have_no_clusters() -> None:
    """Without prompts there is nothing to name."""
    assert clusters([], []) == []


@LAW
@given(
    ends=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=8),
    order=st.permutations(range(8)),
    added=st.integers(0, 3),
)
def test_the_name_of_a_cluster_depends_on_its_members_alone(
    ends: list[tuple[int, int]], order: list[int], added: int
) -> None:
    """Neither the order of a suite nor tasks that are like none of the others rename a cluster."""
    prompts = [f"prompt {number}" for number in range(8)]
    before = dict(zip(prompts, clusters(prompts, [Pair(*pair, "jaccard") for pair in ends]), strict=True))
    shuffled = [f"added {number}" for number in range(added)] + [prompts[position] for position in order]
    moved = [Pair(*(shuffled.index(prompts[end]) for end in pair), "jaccard") for pair in ends]

    after = dict(zip(shuffled, clusters(shuffled, moved), strict=True))

    assert {prompt: after[prompt] for prompt in prompts} == before


@LAW
@given(names=st.lists(st.text(max_size=5), min_size=1, max_size=20), added=st.lists(st.text(max_size=5)))
def test_adding_tasks_moves_no_other_task(names: list[str], added: list[str]) -> None:
    """The split of a cluster is the same whatever else is in the suite, and in whatever order."""
    before = {cluster: split_of(cluster, SHARES) for cluster in names}

    after = {cluster: split_of(cluster, SHARES) for cluster in [*added, *reversed(names)]}

    assert {cluster: after[cluster] for cluster in names} == before


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


TWINS = [Pair(0, 1, "same_prompt"), Pair(1, 2, "jaccard"), Pair(2, 3, "same_program")]


def test_leaks_are_the_near_duplicates_across_splits() -> None:
    """Each has the ids of both tasks by their splits, and the rule that found it; pairs within a split are none."""
    splits = {"a": "heldout", "b": "train", "c": "train", "d": "dev"}
    rows = [task_row(name, split=split) for name, split in splits.items()]

    assert leaks_of(rows, TWINS) == [
        {"heldout": "a", "train": "b", "rule": "same_prompt"},
        {"train": "c", "dev": "d", "rule": "same_program"},
    ]


def test_one_split_has_no_leaks() -> None:
    """Where all tasks are in one split, nothing crosses."""
    assert leaks_of([task_row(name) for name in "abcd"], TWINS) == []


def test_no_pairs_are_no_leaks() -> None:
    """Without near-duplicates nothing crosses."""
    assert leaks_of([task_row("a"), task_row("b", split="dev")], []) == []


LEAK = {"dev": "b", "train": "a", "rule": "same_prompt"}


def official_rows(**parts: object) -> list[dict]:
    """A training and a dev task that share a cluster; keywords replace parts of the dev task."""
    return [task_row("a", cluster="same"), task_row("b", cluster="same", split="dev", **parts)]


def test_official_splits_may_share_a_cluster_that_is_reported() -> None:
    """The proof of isolation lists the leaks and does not claim that clusters are disjoint."""
    assert isolation_of(official_rows(), [LEAK]) == {
        "dev_tasks": 1,
        "dev_task_keys_sha256": fingerprint([fingerprint("b")]),
        "disjoint_from_train_and_heldout": ["task_id", "task_key"],
        "leaks": [LEAK],
    }


@pytest.mark.parametrize("leaks", [None, []])
def test_without_leaks_clusters_must_be_disjoint(leaks: list | None) -> None:
    """Official splits without near-duplicates across them are held to the same rule as all others."""
    apart = [task_row("a"), task_row("b", split="dev")]
    assert isolation_of(apart, leaks)["disjoint_from_train_and_heldout"] == ["task_id", "task_key", "cluster"]

    with pytest.raises(ValueError, match=r"^cluster 'same' is in both train and dev$"):
        isolation_of(official_rows(), leaks)


@pytest.mark.parametrize("column", ["task_id", "task_key"])
def test_leaks_excuse_no_shared_id_or_content(column: str) -> None:
    """Official splits may hold near-duplicates, but never the same task twice."""
    shared = task_row("a")[column]

    with pytest.raises(ValueError, match=f"^{column} '{shared}' is in both train and dev$"):
        isolation_of(official_rows(**{column: shared}), [LEAK])
