"""What a reward changes is said prompt by prompt: scores, informativeness, and places in the informative order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.reward_diff import statistics_diff
from grpo_assets_tests.builders import LAW, statistics_row


def rows(passes: list[int]) -> list[dict]:
    """Statistics of prompts of which so many of eight rollouts were rewarded."""
    return [statistics_row(f"t{i}", 8 - count, count, position=i) for i, count in enumerate(passes)]


def test_a_prompt_whose_rewards_moved_is_named() -> None:
    """Another count of a reward is another score, though the group stays informative."""
    found = statistics_diff(rows([4, 4, 0]), rows([4, 5, 0]), [])

    assert found == {"prompts": 3, "scores": ["t1"], "informative": [], "ranks": {}}


def test_a_prompt_that_becomes_informative_is_named() -> None:
    """And so is one that ceases to be."""
    found = statistics_diff(rows([0, 4, 4]), rows([1, 8, 4]), [])

    assert found["informative"] == ["t0", "t1"]


def test_ranks_are_places_in_the_informative_order_of_a_group_size() -> None:
    """The prompt that learns to teach moves to the front, and the others one back; the largest move comes first."""
    before, after = rows([4, 3, 2, 0]), rows([4, 3, 2, 0])
    after[3] = statistics_row("t3", 4, 4, position=3)

    found = statistics_diff(before, after, [2])

    assert found["ranks"][2][0][0] == "t3"
    assert {task for task, _, _ in found["ranks"][2]} >= {"t3", "t2"}


def test_statistics_of_other_prompts_are_not_compared() -> None:
    """Rollouts of another pilot, or in another order, are an error."""
    with pytest.raises(ValueError, match="not of the same prompts"):
        statistics_diff(rows([4, 3]), rows([4, 3])[::-1], [4])


@LAW
@given(passes=st.lists(st.integers(0, 8), min_size=2, max_size=30), group_size=st.sampled_from([2, 4, 16]))
def test_the_same_scores_change_nothing(passes: list[int], group_size: int) -> None:
    """No score, no informativeness and no place moves."""
    found = statistics_diff(rows(passes), rows(passes), [group_size])

    assert found == {"prompts": len(passes), "scores": [], "informative": [], "ranks": {group_size: []}}


@LAW
@given(passes=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=30))
def test_the_way_back_moves_the_same_prompts(passes: list[tuple[int, int]]) -> None:
    """Swapping old and new names the same prompts, with the places swapped."""
    old, new = (rows([pair[side] for pair in passes]) for side in (0, 1))

    there, back = statistics_diff(old, new, [4]), statistics_diff(new, old, [4])

    assert (there["scores"], there["informative"]) == (back["scores"], back["informative"])
    assert sorted(there["ranks"][4]) == sorted((task, new, old) for task, old, new in back["ranks"][4])
