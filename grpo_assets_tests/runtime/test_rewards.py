"""Rewards are loaded by their path, of what is installed or in the data folder, and a broken one stops no other."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.domain.rewards import GOLD, REWARDS
from grpo_assets.domain.specs import LoadedReward
from grpo_assets.runtime.rewards import expect_version, function_at, rewards_of
from grpo_assets_tests.builders import declared_reward, experiment

NUMBERS = itertools.count()
BREVITY = "def brevity(rollout):\n    return 1 / rollout.token_count\n"


@pytest.fixture(autouse=True)
def _own_path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def written(folder: Path, text: str) -> str:
    """A module of a name that nothing else has; returns the path of its function `brevity`."""
    name = f"own_rewards_{next(NUMBERS)}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return f"{name}:brevity"


def loaded(folder: Path, path: str) -> LoadedReward:
    """The reward `brevity` of an experiment that declares it by this path."""
    return rewards_of({"mine": experiment(rewards=[declared_reward(path=path)])}, folder)["brevity"]


def test_a_reward_of_the_data_folder_has_a_function_and_a_version(tmp_path: Path) -> None:
    """It has its gold cases too, and the shipped rewards stand beside it with theirs."""
    path = written(tmp_path, BREVITY)

    found = rewards_of({"mine": experiment(rewards=[declared_reward(path=path)])}, tmp_path)

    assert list(found) == [*REWARDS, "brevity"]
    assert {len(reward.version) for reward in found.values()} == {64}
    assert {name: reward.function for name, reward in found.items() if name in REWARDS} == REWARDS
    assert {name: reward.gold for name, reward in found.items() if name in GOLD} == GOLD
    assert found["brevity"].function is function_at(path)
    assert [case.completion for case in found["brevity"].gold] == ["210"]


def test_a_shipped_reward_is_found_by_its_path() -> None:
    """So that a training process of its own can load it."""
    for name, reward in rewards_of({}, Path("nowhere")).items():
        assert function_at(reward.path) is REWARDS[name]


def test_without_declared_rewards_nothing_can_be_imported_from_the_data_folder(tmp_path: Path) -> None:
    """The path of imports is as it was."""
    before = list(sys.path)

    rewards_of({"mine": experiment()}, tmp_path)

    assert sys.path == before


def test_what_is_installed_comes_before_the_data_folder(tmp_path: Path) -> None:
    """A file called as a library hides none."""
    (tmp_path / "colorsys.py").write_text(BREVITY)

    assert (
        "AttributeError: module 'colorsys' has no attribute 'brevity'" in loaded(tmp_path, "colorsys:brevity").version
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("def brevity(:", "SyntaxError: invalid syntax"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("other = 1", "has no attribute 'brevity'"),
        ("brevity = 1", "is a int\n  allowed: a function written with def"),
        ("class brevity: ...", "is a type\n  allowed: a function written with def"),
        ("import random\ndef brevity(rollout):\n    return random.random()", "which is chance, is not allowed"),
        ("brevity = lambda rollout: 1.0", "a lambda is not allowed"),
    ],
    ids=["import", "syntax", "exception", "exit", "no attribute", "value", "class", "chance", "lambda"],
)
def test_a_reward_that_cannot_be_loaded_has_the_reason_instead_of_a_version(
    tmp_path: Path, text: str, reason: str
) -> None:
    """It has no function, and nothing is raised."""
    found = loaded(tmp_path, written(tmp_path, text))

    assert found.function is None
    assert reason in found.version


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The reason has the path as it was declared."""
    assert loaded(tmp_path, "not_there.rewards:brevity").version == (
        "not_there.rewards:brevity: cannot be imported: ModuleNotFoundError: No module named 'not_there'"
    )
    with pytest.raises(UserMistake, match=r"^not_there\.rewards:brevity: cannot be imported"):
        function_at("not_there.rewards:brevity")


def test_the_version_is_that_of_the_code_and_not_of_its_place(tmp_path: Path) -> None:
    """Another module with the same function has the same version, one with another text has another."""
    first, same, other = (
        loaded(tmp_path, written(tmp_path, text)).version
        for text in (BREVITY, f"# moved\n\n{BREVITY}", BREVITY.replace("1 /", "2 /"))
    )

    assert first == same != other


def test_a_reward_that_was_changed_since_is_told(tmp_path: Path) -> None:
    """A training process does not train on code that its parent did not ask for."""
    path = written(tmp_path, BREVITY)
    version = loaded(tmp_path, path).version

    expect_version(path, "brevity", version)
    with pytest.raises(FailedWork, match=f"^{path} was changed since this run began"):
        expect_version(path, "brevity", "0" * 64)
