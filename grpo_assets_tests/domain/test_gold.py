"""Gold cases tell a reward that is right and repeatable from every other one."""

import math
from typing import Any

import pytest

from grpo_assets.domain.experiments import check_experiment, declared_rewards
from grpo_assets.domain.gold import Miss, misses, refusal, rollout_of_case
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.rewards import GOLD, REWARDS, Reward, reward_v0_correctness
from grpo_assets.domain.rollouts import Rollout
from grpo_assets.domain.specs import GoldCase
from grpo_assets_tests.builders import catalog, declared_reward, experiment_dict, gold_case


def case(**parts: Any) -> GoldCase:
    """A gold case; keywords replace parts of it."""
    return GoldCase.model_validate(gold_case(**parts))


RIGHT, WRONG = case(), case(completion="012", outcome="fail", reward=0.0)


def saying(value: object) -> Reward:
    """A reward that always says the same."""

    def reward(rollout: Rollout) -> Any:
        return value

    return reward


def test_every_shipped_reward_has_gold_cases_and_holds_them() -> None:
    """Each has a pass and a fail among them."""
    assert GOLD.keys() == REWARDS.keys()
    for name, cases in GOLD.items():
        assert {case.outcome for case in cases} == {"pass", "fail"}
        assert misses(REWARDS[name], cases) == []


@pytest.mark.parametrize("name", REWARDS)
def test_no_shipped_reward_holds_the_cases_of_another(name: str) -> None:
    """The cases of a reward tell it from the others."""
    others = [other for other in REWARDS if other != name]

    assert all(misses(REWARDS[other], GOLD[name]) for other in others)


def test_what_a_case_leaves_out_follows_from_its_outcome() -> None:
    """A pass holds all its checks, a fail none; a token a character, and one for the end."""
    right = rollout_of_case(case(checks=4, shown=2))
    wrong = rollout_of_case(case(outcome="fail", checks=4, shown=2))

    assert (right.verdict.checks_passed, right.verdict.shown_passed, right.verdict.reason) == (4, 2, "exact_match")
    assert (wrong.verdict.checks_passed, wrong.verdict.shown_passed, wrong.verdict.reason) == (0, 0, "wrong_answer")
    assert (right.token_count, right.truncated, right.verdict.checks, right.verdict.constant_checks) == (4, False, 4, 0)


def test_what_a_case_says_is_what_the_reward_is_shown() -> None:
    """Each key of a case stands in the rollout."""
    parts = {"checks": 9, "checks_passed": 5, "constant_checks": 2, "shown": 3, "shown_passed": 1}

    seen = rollout_of_case(case(outcome="fail", token_count=77, truncated=True, reason="late", **parts))

    assert {name: getattr(seen.verdict, name) for name in parts} == parts
    assert (seen.token_count, seen.truncated, seen.verdict.reason) == (77, True, "late")


def test_a_case_with_another_value_is_shown_with_what_came() -> None:
    """The miss has its place from 1, the completion, what was expected and what came."""
    assert misses(saying(1.0), [RIGHT, WRONG]) == [Miss(2, "012", 0.0, "1.0")]


def test_a_value_may_differ_by_its_rounding_alone() -> None:
    """A third can be declared in decimals; what is more than noise is another value."""
    assert misses(saying(1 / 3), [case(reward=0.333333333333)]) == []
    assert misses(saying(1 / 3), [case(reward=0.3333)])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, None, "1.0", [1.0]], ids=repr)
def test_what_is_no_finite_number_holds_no_case(value: object) -> None:
    """The value itself is told."""
    [miss] = misses(saying(value), [RIGHT])

    assert miss.got == f"ValueError: reward reward returned {value!r}; a finite number is needed"


@pytest.mark.parametrize("error", [KeyError("tests"), ZeroDivisionError("division by zero"), SystemExit("gone")])
def test_a_reward_that_raises_holds_no_case(error: BaseException) -> None:
    """The kind of the error and its words are told, and the other cases are asked all the same."""

    def raises(rollout: Rollout) -> float:
        if rollout.completion == "210":
            raise error
        return 0.0

    assert misses(raises, [RIGHT, WRONG]) == [Miss(1, "210", 1.0, f"{type(error).__name__}: {error}")]


def test_a_reward_that_remembers_differs_from_itself() -> None:
    """A novelty bonus is right in order, and another in reverse order."""
    seen: list[str] = []

    def novelty(rollout: Rollout) -> float:
        seen.append(rollout.completion)
        return 1.0 if seen.count(rollout.completion) == 1 else 0.0

    [miss] = misses(novelty, [RIGHT])

    assert miss.got == "1.0, and 0.0 when scored again in reverse order"


def test_a_reward_that_hangs_on_the_case_before_differs_from_itself() -> None:
    """In order each case follows another one than in reverse order."""
    last = [""]

    def copycat(rollout: Rollout) -> float:
        before, last[0] = last[0], rollout.completion
        return float(before == "" or (before != rollout.completion and rollout.completion == "012"))

    cases = [case(completion="", reward=1.0), RIGHT, case(completion="012", outcome="fail", reward=1.0)]

    assert any("in reverse order" in miss.got for miss in misses(copycat, cases))


def test_the_refusal_has_each_case_that_does_not_hold() -> None:
    """One line a case, and a long completion is cut."""
    cases = [RIGHT, WRONG, case(completion="x" * 500, reward=0.5)]

    message = refusal("brevity", cases, misses(saying(1.0), cases))

    assert message.splitlines() == [
        "reward brevity: 2 of 3 gold cases do not hold, so this version does not count",
        "  case 2: completion '012': expected 0.0, got 1.0",
        f"  case 3: completion '{'x' * 57}...': expected 0.5, got 1.0",
    ]


def test_whole_numbers_are_rewards() -> None:
    """A reward of 1 is one of 1.0."""
    assert misses(saying(1), [RIGHT]) == []
    assert misses(reward_v0_correctness, [RIGHT, WRONG]) == []


def declaring(**rewards: list[dict[str, Any]]) -> None:
    """Check experiments that declare rewards, by the name of the experiment."""
    matrix = {"seeds": [1, 2], "rewards": ["brevity"]}
    found = catalog(experiments={n: experiment_dict(matrix=matrix, rewards=own) for n, own in rewards.items()})
    declared_rewards({name: found.experiments[name] for name in rewards})
    for name in rewards:
        check_experiment(name, found.experiments[name], found)


def test_a_declared_reward_can_stand_on_the_axis() -> None:
    """Two experiments may share it."""
    declaring(a=[declared_reward()], b=[declared_reward()])


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        (
            {"a": [declared_reward("reward_random")]},
            "experiments/a.yaml: rewards.name: 'reward_random' is not allowed\n"
            "  allowed: other names than the shipped reward_random, reward_v0_correctness, reward_v1_shaped",
        ),
        (
            {"a": [declared_reward()], "b": [declared_reward(path="other:brevity")]},
            "experiments/b.yaml: rewards.name: 'brevity' is not allowed\n"
            "  allowed: the path and the gold cases that it has in experiments/a.yaml, or another name",
        ),
        (
            {"a": [declared_reward()], "b": [declared_reward(gold=[gold_case(reward=0.5)])]},
            "experiments/b.yaml: rewards.name: 'brevity' is not allowed\n"
            "  allowed: the path and the gold cases that it has in experiments/a.yaml, or another name",
        ),
        (
            {"a": [declared_reward(), declared_reward()]},
            "experiments/a.yaml: rewards.name: 'brevity' is not allowed\n  allowed: each name once",
        ),
        (
            {"a": [declared_reward()], "b": []},
            "experiments/b.yaml: matrix.rewards: 'brevity' is not allowed\n"
            "  allowed: one of reward_random, reward_v0_correctness, reward_v1_shaped",
        ),
    ],
    ids=["shipped name", "other path", "other gold", "twice", "not declared here"],
)
def test_a_name_has_one_meaning(rewards: dict[str, list[dict[str, Any]]], words: str) -> None:
    """The message has the file, the field, the name and what is allowed."""
    with pytest.raises(UserMistake) as mistake:
        declaring(**rewards)

    assert str(mistake.value) == words
