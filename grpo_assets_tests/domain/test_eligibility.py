"""Who may win: configurations that are whole, sound and comparable; a table that is not is refused."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.eligibility import NUMBERS, barred, check_table, eligible
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.specs import Selection
from grpo_assets.domain.tables import MEASURED
from grpo_assets_tests.builders import LAW, table_row

AXES: dict[str, list] = {"curriculum": ["static", "informative"], "seed": [1, 2]}
STATUSES = st.sampled_from(["complete", "complete", "complete", "failed", "missing"])


def rule(minimum: int = 0, **parts: Any) -> Selection:
    return Selection.model_validate({"metric": "dev_pass_rate", "min_informative_prompts": minimum, **parts})


def run(configuration: str, seed: int, **parts: Any) -> dict[str, Any]:
    """The row of one run; the configuration is called for its curriculum."""
    name = f"{configuration}_s{seed}"
    return table_row(name, **{"configuration": configuration, "curriculum": configuration, "seed": seed, **parts})


def absent(configuration: str, seed: int, status: str = "failed", reason: str = "broke") -> dict[str, Any]:
    """The row of a run that was not trained or not evaluated."""
    return run(configuration, seed, status=status, reason=reason, **dict.fromkeys(MEASURED))


def whole() -> list[dict[str, Any]]:
    """Two configurations with two runs each."""
    return [run(name, seed) for name in AXES["curriculum"] for seed in AXES["seed"]]


def with_one(row: int, **parts: Any) -> list[dict[str, Any]]:
    """A whole table but for parts of one row."""
    rows = whole()
    rows[row] = {**rows[row], **parts}
    return rows


# The table as a whole.


def test_a_sound_table_gives_its_seeds() -> None:
    """The seeds that are compared are the declared ones, in their order."""
    assert check_table(whole(), AXES, rule()) == [1, 2]
    assert check_table(whole(), {**AXES, "seed": [2, 1]}, rule()) == [2, 1]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_number_that_is_missing_is_refused(name: str, value: float | None) -> None:
    """A complete run without one of the numbers that the rule reads is named with the number."""
    with pytest.raises(FailedWork, match=f"^static_s2: {name} is {value}, no finite number"):
        check_table(with_one(1, **{name: value}), AXES, rule())


def test_numbers_of_runs_that_are_not_complete_may_be_missing() -> None:
    """What failed has none."""
    rows = [*whole()[:3], absent("informative", 2)]

    assert check_table(rows, AXES, rule()) == [1, 2]


def test_mixed_recipes_are_refused() -> None:
    """Runs that were trained or sampled under other settings are not compared."""
    with pytest.raises(FailedWork, match=r"^mixed recipes: informative_s1 .* than static_s1$"):
        check_table(with_one(2, recipe="another"), AXES, rule())


def test_versions_of_one_reward_are_not_ranked_together() -> None:
    """Runs under the same name that were trained on different code are refused; different rewards have their own."""
    with pytest.raises(FailedWork) as refusal:
        check_table(with_one(2, reward_version="a" * 12), AXES, rule())

    assert str(refusal.value) == (
        "mixed versions of reward_v0_correctness: "
        "informative_s1 was trained under aaaaaaaaaaaa, static_s1 under 000000000000"
    )
    others = [
        {**row, "reward": "reward_v1_shaped", "reward_version": "a" * 12} if row["curriculum"] == "static" else row
        for row in whole()
    ]
    assert check_table(others, AXES, rule()) == [1, 2]


def test_a_seed_that_stands_twice_is_refused() -> None:
    """A configuration has one run a seed."""
    rows = [*whole(), run("static", 2, variant="static_again", weights="others")]

    with pytest.raises(FailedWork, match=r"^seed 2 stands twice for static$"):
        check_table(rows, AXES, rule())


def test_equal_weights_under_different_seeds_are_refused() -> None:
    """A seed that did not reach the training is told by its checkpoint, also across configurations."""
    for other in (1, 3):
        rows = with_one(other, weights=whole()[0]["weights"])
        names = f"static_s1 and {rows[other]['variant']}"
        with pytest.raises(FailedWork, match=f"^{names} are the same checkpoint under different seeds"):
            check_table(rows, AXES, rule())


def test_equal_weights_under_one_seed_are_no_fault_of_the_seed() -> None:
    """Two configurations may come to the same weights, as where an axis changes nothing."""
    assert check_table(with_one(2, weights=whole()[0]["weights"]), AXES, rule()) == [1, 2]


def test_an_axis_value_without_a_complete_variant_is_refused() -> None:
    """The matrix cannot be compared where one of its values has no result at all, unless the rule says so."""
    rows = [*whole()[:2], absent("informative", 1), absent("informative", 2)]

    with pytest.raises(FailedWork, match=r"^no variant with curriculum informative is complete"):
        check_table(rows, AXES, rule())
    assert check_table(rows, AXES, rule(allow_missing=True)) == [1, 2]


def test_a_seed_without_a_complete_variant_is_refused_or_left_out() -> None:
    """A declared seed that nothing came out of is refused; where the rule allows, the others are compared."""
    axes = {**AXES, "seed": [1, 2, 3]}
    rows = [*whole(), absent("static", 3), absent("informative", 3)]

    with pytest.raises(FailedWork, match=r"^no variant with seed 3 is complete"):
        check_table(rows, axes, rule())
    assert check_table(rows, axes, rule(allow_missing=True)) == [1, 2]


@pytest.mark.parametrize(
    ("seeds", "allow_missing"),
    [
        ([1], False),  # one is declared
        ([1, 2], True),  # one came out
    ],
)
def test_one_seed_is_refused(seeds: list[int], allow_missing: bool) -> None:
    """One run says nothing of the luck in it, whatever the rule allows."""
    rows = [run("static", 1), run("informative", 1), *(absent(name, 2) for name in AXES["curriculum"])]

    with pytest.raises(FailedWork, match=r"^one seed: "):
        check_table(rows, {**AXES, "seed": seeds}, rule(allow_missing=allow_missing))


# One variant.


def test_a_complete_variant_may_be_selected() -> None:
    """A run that is whole, trusted and above the threshold is barred by nothing."""
    assert barred(run("static", 1), rule(20)) is None


@pytest.mark.parametrize(
    ("row", "minimum", "scope", "reason"),
    [
        (absent("static", 1, "failed", "OverflowError"), 0, "training", "failed: OverflowError"),
        (absent("static", 1, "missing", "not made"), 0, "training", "missing: not made"),
        (
            run("static", 1, dev_troubles=["flip_rate 0.020 is above 0.01", "another"]),
            0,
            "training",
            "its dev verdicts cannot be trusted: flip_rate 0.020 is above 0.01",
        ),
        (
            run("static", 1),
            21,
            "training",
            "20 distinct informative prompts (scope training), fewer than 21",
        ),
        (
            run("static", 1),
            11,
            "final_step",
            "10 distinct informative prompts (scope final_step), fewer than 11",
        ),
    ],
)
def test_each_bar_has_its_reason(row: dict, minimum: int, scope: str, reason: str) -> None:
    """What did not come out, verdicts that waver and too few informative prompts bar a run, and it is told so."""
    assert barred(row, rule(minimum, informative_scope=scope)) == reason


@pytest.mark.parametrize(("minimum", "scope"), [(20, "training"), (10, "final_step")])
def test_as_many_informative_prompts_as_asked_for_are_enough(minimum: int, scope: str) -> None:
    """The threshold is the least number that is enough."""
    assert barred(run("static", 1), rule(minimum, informative_scope=scope)) is None


def test_troubles_in_training_bar_nobody() -> None:
    """Warnings of the training are none of the dev verdicts."""
    assert barred(run("static", 1, warnings=["30% of the completions were cut off"]), rule()) is None


# Configurations.


def test_eligible_configurations_have_their_runs_in_the_order_of_the_seeds() -> None:
    """Whatever the order of the table is."""
    found, passed_over = eligible(whole()[::-1], [2, 1], rule())

    assert {name: [row["seed"] for row in runs] for name, runs in found.items()} == {
        "informative": [2, 1],
        "static": [2, 1],
    }
    assert passed_over == {}


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (absent("static", 2), "seed 2: failed: broke"),
        (run("static", 2, dev_troubles=["wavers"]), "seed 2: its dev verdicts cannot be trusted: wavers"),
        (
            run("static", 2, informative_prompts_training=4),
            "seed 2: 4 distinct informative prompts (scope training), fewer than 5",
        ),
        (run("informative", 3), "1 of 2 seeds are in the table"),
    ],
)
def test_one_run_that_may_not_win_bars_its_configuration(second: dict, reason: str) -> None:
    """A configuration without one of its runs is passed over with the reason, and the others stay."""
    rows = [run("static", 1), second, run("informative", 1), run("informative", 2)]

    found, passed_over = eligible(rows, [1, 2], rule(5))

    assert list(found) == ["informative"]
    assert passed_over == {"static": reason}


def test_runs_of_a_seed_that_is_not_compared_do_not_count() -> None:
    """A seed that was left out bars nobody."""
    found, passed_over = eligible([*whole(), absent("static", 3)], [1, 2], rule())

    assert sorted(found) == ["informative", "static"]
    assert passed_over == {}


def test_of_several_reasons_the_first_seed_s_is_told_in_any_order_of_the_table() -> None:
    """The reason of a configuration does not depend on how the rows lie."""
    rows = [absent("static", 1, reason="first"), absent("static", 2, reason="second"), *whole()[2:]]

    assert eligible(rows, [1, 2], rule())[1] == {"static": "seed 1: failed: first"}
    assert eligible(rows[::-1], [1, 2], rule())[1] == {"static": "seed 1: failed: first"}


def test_where_nothing_is_complete_every_configuration_has_its_reason() -> None:
    """A matrix that failed as a whole is no empty one."""
    rows = [absent(name, seed) for name in AXES["curriculum"] for seed in AXES["seed"]]

    found, passed_over = eligible(rows, check_table(rows, AXES, rule()), rule())

    assert found == {}
    assert passed_over == {"static": "seed 1: failed: broke", "informative": "seed 1: failed: broke"}


@LAW
@given(
    statuses=st.lists(STATUSES, min_size=6, max_size=6),
    informative=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    minimum=st.integers(0, 3),
    shuffle=st.randoms(use_true_random=False),
)
def test_a_configuration_is_eligible_or_passed_over(
    statuses: list[str], informative: list[int], minimum: int, shuffle: Random
) -> None:
    """Exactly those may win all of whose runs may; every other one has a reason."""
    cells = [(name, seed) for name in ("static", "informative", "random") for seed in (1, 2)]
    rows = [
        run(*cell, informative_prompts_training=count) if status == "complete" else absent(*cell, status)
        for cell, status, count in zip(cells, statuses, informative, strict=True)
    ]
    shuffle.shuffle(rows)

    found, passed_over = eligible(rows, [1, 2], rule(minimum))

    whole_ones = {
        name
        for name in ("static", "informative", "random")
        if all(barred(row, rule(minimum)) is None for row in rows if row["configuration"] == name)
    }
    assert set(found) == whole_ones
    assert set(passed_over) == {"static", "informative", "random"} - whole_ones
    assert all(passed_over.values())
    assert all([row["seed"] for row in runs] == [1, 2] for runs in found.values())
