"""What fails a training at a step, and what is only worth a warning."""

import math

import pytest

from grpo_assets.domain.health import judge_step, warnings
from grpo_assets.domain.mistakes import FailedWork

LINE = {"step": 1, "loss": 0.0, "kl": 0.0, "gradient_norm": 1.0, "no_verdict": 0}


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        {**LINE, "kl": None},  # a beta of 0: nothing is measured
        {**LINE, "step": 2, "kl": 5.0},  # later than the first step a KL may be large
        {**LINE, "loss": -0.0},  # on policy the loss is shown as about 0 (huggingface/trl#3452)
        {**LINE, "gradient_norm": 0.0},  # all groups dead and no KL term
        {**LINE, "no_verdict": 1},
    ],
)
def test_steps_that_are_well(line: dict) -> None:
    """Nothing is said of a healthy step."""
    judge_step(line, 10)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({**LINE, "loss": math.nan}, "step 1: loss is nan; training has diverged"),
        ({**LINE, "step": 7, "kl": math.inf}, "step 7: kl is inf; training has diverged"),
        ({**LINE, "gradient_norm": -math.inf}, "step 1: gradient_norm is -inf; training has diverged"),
        ({**LINE, "kl": 0.5}, "step 1: kl is 0.5 before anything was trained; the reference is a wrong one"),
        ({**LINE, "no_verdict": 2}, "step 1: 2 of 10 rollouts have no verdict, more than 10%"),
    ],
)
def test_steps_that_fail_a_training(line: dict, reason: str) -> None:
    """The step, the number and what it means stand in the reason."""
    with pytest.raises(FailedWork, match=reason):
        judge_step(line, 10)


@pytest.mark.parametrize(("share", "found"), [(0.0, []), (0.5, []), (0.75, ["75% of the completions were cut off"])])
def test_many_cut_off_completions_are_a_warning(share: float, found: list[str]) -> None:
    """More than half of them: the budget or the end tokens are probably wrong."""
    assert warnings({"truncated_share": share}) == found
