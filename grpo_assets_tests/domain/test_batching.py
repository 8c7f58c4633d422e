"""A step is cut into batches that fit, with the same completions for every group size."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grpo_assets.domain.batching import solve
from grpo_assets_tests.builders import LAW


@pytest.mark.parametrize(
    ("arguments", "batches"),
    [
        ((8, 64), (64, 1, 64)),  # all at once
        ((4, 64, 16), (16, 4, 64)),
        ((8, 64, 24), (16, 4, 64)),  # 24 does not divide a step, 16 is the next that does
        ((8, 64, 1), (1, 64, 64)),
        ((8, 64, 1000), (64, 1, 64)),
        ((8, 64, 16, 2), (16, 2, 64)),  # two devices have half of the step each
        ((7, 28, 4), (4, 7, 28)),  # a batch need not be whole groups
    ],
)
def test_batches(arguments: tuple, batches: tuple) -> None:
    """Completions per device, accumulation, completions generated at once."""
    assert solve(*arguments) == batches


@LAW
@given(st.integers(2, 16), st.integers(1, 16), st.integers(1, 300), st.integers(1, 4))
def test_a_step_is_the_same_for_every_group_size(size: int, groups: int, largest: int, devices: int) -> None:
    """The completions of an optimizer step are those that were asked for, and a batch is never too large."""
    rollouts = size * groups
    assume(rollouts % devices == 0)

    batches = solve(size, rollouts, largest, devices)

    assert batches.per_device * batches.accumulation * devices == rollouts == batches.generation
    assert batches.per_device <= largest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (7, 64),
            "64 rollouts a step are no whole number of groups of 7: .* one of 2, 4, 8, 16, 32",
        ),
        ((8, 64, None, 3), "64 rollouts a step cannot be shared evenly by 3 devices"),
    ],
)
def test_a_step_that_cannot_be_cut_is_explained(arguments: tuple, message: str) -> None:
    """The refusal says what would have to change."""
    with pytest.raises(ValueError, match=message):
        solve(*arguments)
