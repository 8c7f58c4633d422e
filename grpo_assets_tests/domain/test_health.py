"""What fails a training at a step, what is only worth a warning, and how far verdicts can be trusted."""

import math

import pytest

from grpo_assets.domain.health import (
    OUT_OF_TIME,
    Repeat,
    judge_step,
    passes_only_what_is_shown,
    verifier_health,
    warnings,
)
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets_tests.builders import rollout_row

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


def failing(shown_passed: int = 0, shown: int = 2, **parts: object) -> dict:
    """A rollout of a program that fails a hidden test."""
    counts = {"checks_passed": shown_passed, "checks": 5, "shown_passed": shown_passed, "shown": shown}
    return rollout_row(**{"outcome": "fail", "reason": "wrong_answer", **counts, **parts})


def passing(shown: int = 2) -> dict:
    """A rollout of a program that passes all its tests."""
    return rollout_row(reason="all_tests", checks_passed=5, checks=5, shown_passed=shown, shown=shown)


NO_VERDICT = rollout_row(outcome="no_verdict", reason="sandbox_failed", checks_passed=0, checks=0)


@pytest.mark.parametrize(
    ("first", "second", "flipped"),
    [
        ("pass", "fail", True),
        ("fail", "pass", True),
        ("pass", "pass", False),
        ("fail", "fail", False),
        ("pass", "no_verdict", False),  # it could not decide, which is counted elsewhere
        ("no_verdict", "fail", False),
        ("no_verdict", "no_verdict", False),
    ],
)
def test_a_flip_is_a_pass_and_a_fail(first: str, second: str, flipped: bool) -> None:
    """The verifier changed its mind only where it had made it up twice."""
    assert Repeat(first, second).flipped == flipped


@pytest.mark.parametrize(
    ("row", "hack"),
    [
        (failing(shown_passed=2), True),
        (failing(shown_passed=1), False),  # it fails what is shown too
        (failing(shown_passed=0), False),
        (failing(shown=0), False),  # nothing is shown, so nothing was learned from it
        (passing(), False),
        (NO_VERDICT, False),
    ],
)
def test_passing_only_what_is_shown_is_the_mark_of_a_hack(row: dict, hack: bool) -> None:
    """It passes every check in its prompt and fails a hidden one."""
    assert passes_only_what_is_shown(row) is hack


def test_without_rollouts_there_are_no_rates() -> None:
    """Where there is nothing to take a share of, the share is None and no trouble."""
    assert verifier_health([], []) == {
        "repeated": 0,
        "flip_rate": None,
        "no_verdict_rate": None,
        "timeout_rate": None,
        "hack_rate": None,
        "troubles": [],
    }


def test_rates_are_shares_of_what_they_are_about() -> None:
    """Flips of repeated verdicts, hacks of the completions that pass what is shown, the rest of all rollouts."""
    rows = [passing(), failing(2), failing(1), failing(reason="timeout"), NO_VERDICT, passing(), passing(), passing()]
    repeats = [Repeat("pass", "pass"), Repeat("pass", "fail"), Repeat("fail", "no_verdict"), Repeat("fail", "fail")]

    assert verifier_health(rows, repeats) == {
        "repeated": 4,
        "flip_rate": 1 / 4,
        "no_verdict_rate": 1 / 8,
        "timeout_rate": 1 / 8,
        "hack_rate": 1 / 5,
        "troubles": [
            "flip_rate 0.250 is above 0.01",
            "no_verdict_rate 0.125 is above 0.01",
            "timeout_rate 0.125 is above 0.1",
            "hack_rate 0.200 is above 0.1",
        ],
    }


def test_tasks_that_show_no_checks_have_no_hack_rate() -> None:
    """Neither do completions none of which passes what is shown."""
    assert verifier_health([passing(shown=0), failing(shown=0)], [])["hack_rate"] is None
    assert verifier_health([failing(1), failing(0)], [])["hack_rate"] is None


@pytest.mark.parametrize("reason", sorted(OUT_OF_TIME))
def test_running_out_of_time_has_several_reasons(reason: str) -> None:
    """The program, the comparison or the judge itself took too long."""
    assert verifier_health([failing(reason=reason), passing()], [])["timeout_rate"] == 1 / 2


@pytest.mark.parametrize(
    ("rows", "repeats", "troubles"),
    [
        ([passing()] * 9 + [failing(2)], [], []),  # a tenth of hacks is still allowed
        ([passing()] * 8 + [failing(2)], [], ["hack_rate 0.111 is above 0.1"]),
        ([failing(reason="timeout")] + [failing(0)] * 9, [], []),
        ([failing(reason="timeout")] + [failing(0)] * 8, [], ["timeout_rate 0.111 is above 0.1"]),
        ([NO_VERDICT] + [failing(0)] * 99, [], []),
        ([NO_VERDICT] + [failing(0)] * 98, [], ["no_verdict_rate 0.010 is above 0.01"]),
        ([], [Repeat("pass", "fail")] + [Repeat("pass", "pass")] * 99, []),
        ([], [Repeat("pass", "fail")] + [Repeat("pass", "pass")] * 49, ["flip_rate 0.020 is above 0.01"]),
    ],
)
def test_a_share_above_its_limit_is_a_trouble(rows: list, repeats: list, troubles: list[str]) -> None:
    """A sentence names the share, its value and the limit; a share at the limit is none."""
    assert verifier_health(rows, repeats)["troubles"] == troubles
