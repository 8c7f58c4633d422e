"""The data folder is read whole, and each mistake in it is one message."""

from pathlib import Path

import pytest
import yaml

from grpo_assets.domain.experiments import variants
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.runtime.catalog import data_folder, load_catalog
from grpo_assets.runtime.suites import read_tasks


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_the_shipped_experiments_have_their_variants(data: Path) -> None:
    """`smoke` has 24 variants and `tiny` has 16."""
    experiments = load_catalog(data).experiments

    assert len(variants(experiments["smoke"])) == 24
    assert len(variants(experiments["tiny"])) == 16


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trainer: trl", "trainer: trl\nsuite: digits", ["line", "the key 'suite' stands twice"]),
        ("trainer: trl", "trainer: [trl", ["line", "each key once"]),
        ("trainer: trl", "trainer: sft", ["trainer", "'sft'", "'smoke' or 'trl'"]),
        (
            "trainer: trl",
            "trainr: trl",
            ["trainr", "the keys budget, controls, evaluation, heldout, matrix", "trainer: is missing"],
        ),
        ("group_sizes: [4, 8]", "group_sizes: [1, 8]", ["matrix.group_sizes.0", "1", "greater than or equal to 2"]),
        ("group_sizes: [4, 8]", "group_sizes: [4, 7]", ["matrix.group_sizes", "7", "64 rollouts a step", "2, 4, 8"]),
        ("group_sizes: [4, 8]", "group_sizes: [4, 4]", ["matrix.group_sizes", "4", "each value once"]),
        ("group_sizes: [4, 8]", "group_sizes: []", ["matrix.group_sizes", "[]", "at least 1 item"]),
        (
            "suite: digits",
            "suite: digit",
            ["suite", "'digit'", "one of capitals, chain-sum, digits, few, humaneval, python-basics"],
        ),
        ("policy: tiny-digits", "policy: tabular", ["trainer", "'trl'", "smoke, for a policy of kind tabular"]),
        ("steps: 40", "steps: -3", ["recipe.steps", "-3", "greater than or equal to 1"]),
        ("steps: 40", "steps: many", ["recipe.steps", "'many'", "a valid integer"]),
        ("round: 1", "round: 2026-13-45", ["a file of YAML in UTF-8 that can be read"]),
        ("steps: 40", "steps: !!int abc", ["a file of YAML in UTF-8 that can be read"]),
        ("steps: 40", "steps: 1000000000000", ["recipe.steps", "1000000000000", "less than or equal to 1000000"]),
        ("lora_rank: 8", "lora_rnk: 8", ["recipe.lora_rnk", "lora_rank, loss_type"]),
    ],
)
def test_a_mistake_in_an_experiment_is_one_clear_message(data: Path, old: str, new: str, words: list[str]) -> None:
    """The message names the file, the field, the value and what is allowed."""
    edit(data / "experiments" / "tiny.yaml", old, new)

    with pytest.raises(UserMistake) as mistake:
        load_catalog(data)

    assert "experiments/tiny.yaml: " in str(mistake.value)
    for word in words:
        assert word in str(mistake.value)


def test_a_built_policy_needs_a_generated_suite(data: Path) -> None:
    """Pre-training draws on more prompts than the suite keeps, so the suite must have a generator."""
    edit(data / "policies" / "tiny-digits.yaml", "suite: digits", "suite: nothing")

    with pytest.raises(UserMistake, match=r"policies/tiny-digits\.yaml: suite: 'nothing'[^$]*one of digits, few"):
        load_catalog(data)


def test_a_suite_whose_file_is_not_there_stops_its_own_experiments_only(data: Path) -> None:
    """The catalog loads without the file's content; reading the tasks names the suite's YAML and the missing path."""
    spec = {"source": "answers", "path": "tasks/mine.jsonl", "licence": "MIT"}
    (data / "suites" / "mine.yaml").write_text(yaml.safe_dump(spec))

    catalog = load_catalog(data)

    assert "mine" not in catalog.suite_sources
    with pytest.raises(UserMistake, match=r"suites/mine\.yaml: path: 'tasks/mine\.jsonl'"):
        read_tasks("mine", catalog.suites["mine"], data)


def test_a_suite_is_generated_or_read(data: Path) -> None:
    """A suite with keys of another source is refused with the keys of its own."""
    (data / "suites" / "mine.yaml").write_text(yaml.safe_dump({"path": "tasks/mine.jsonl", "source": "digits"}))

    with pytest.raises(UserMistake, match="source digits with seed, tasks of"):
        load_catalog(data)


def test_a_file_that_is_no_mapping_is_refused(data: Path) -> None:
    """An empty or a list-shaped YAML file says which keys it needs."""
    (data / "experiments" / "empty.yaml").write_text("")

    with pytest.raises(UserMistake, match=r"experiments/empty\.yaml: the file: None[^$]*evaluation, heldout, matrix"):
        load_catalog(data)


def test_a_missing_data_folder_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither ./data nor GRPO_DATA_DIR: the message names both ways out."""
    monkeypatch.delenv("GRPO_DATA_DIR")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UserMistake, match="set GRPO_DATA_DIR"):
        data_folder()


def test_a_folder_or_another_ending_in_the_place_of_a_file_is_refused(data: Path) -> None:
    """What cannot be read, and what would silently not be read, are named."""
    (data / "experiments" / "folder.yaml").mkdir()
    with pytest.raises(UserMistake, match=r"experiments/folder\.yaml: "):
        load_catalog(data)
    (data / "experiments" / "folder.yaml").rmdir()

    (data / "experiments" / "mine.yml").write_text("")
    with pytest.raises(UserMistake, match=r"experiments/mine\.yml: [^$]*mine\.yaml; other endings are not read"):
        load_catalog(data)
