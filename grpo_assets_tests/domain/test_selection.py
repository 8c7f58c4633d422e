"""The decision is the rule applied to the table: who may win, who wins, and why the others did not."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.selection import SELECTION_POLICY, decide
from grpo_assets.domain.specs import Selection
from grpo_assets.domain.tables import MEASURED
from grpo_assets_tests.builders import LAW, table_row

TABLES = st.lists(
    st.tuples(
        st.sampled_from(["complete", "complete", "failed", "missing"]),
        st.sampled_from([0.25, 0.5, 0.75]),
        st.sampled_from([0.0, 0.1]),
        st.integers(0, 3),
    ),
    max_size=8,
)


def rule(minimum: int = 0, scope: str = "training") -> Selection:
    """A rule of selection."""
    return Selection.model_validate(
        {"metric": "dev_pass_rate", "min_informative_prompts": minimum, "informative_scope": scope}
    )


def absent(name: str, status: str, reason: str) -> dict:
    """The row of a variant that was not trained or not evaluated: nothing is measured."""
    measured = dict.fromkeys(MEASURED)
    return table_row(name, status=status, reason=reason, **measured)


def table(cells: list[tuple[str, float, float, int]]) -> list[dict]:
    """A table from the status, pass rate, KL and informative prompts of its variants."""
    rows = []
    for index, (status, pass_rate, kl, informative) in enumerate(cells):
        if status == "complete":
            measured = {"dev_pass_rate": pass_rate, "kl_to_base": kl, "informative_prompts_training": informative}
            rows.append(table_row(f"v{index}", **measured))
        else:
            rows.append(absent(f"v{index}", status, "broke"))
    return rows


def test_the_highest_metric_wins() -> None:
    """The winner stands in the decision with its row, and the others with the difference."""
    rows = [table_row(name, dev_pass_rate=rate) for name, rate in (("a", 0.5), ("b", 0.75), ("c", 0.25))]

    decision = decide(rows, rule())

    assert decision == {
        "selection_policy": "dev_or_smoke_metrics_only_no_heldout_test",
        "rule": {"metric": "dev_pass_rate", "min_informative_prompts": 0, "informative_scope": "training"},
        "selected": "b",
        "checkpoint": rows[1]["checkpoint"],
        "folder": "variants/b",
        "reason": "highest dev_pass_rate of 3 eligible variants",
        "evidence": rows[1],
        "passed_over": {
            "a": "dev_pass_rate 0.5 is below 0.75",
            "c": "dev_pass_rate 0.25 is below 0.75",
        },
    }


@pytest.mark.parametrize(
    ("scope", "minimum", "selected"),
    [
        ("training", 20, "best"),
        ("training", 21, "other"),  # the best one is one prompt short
        ("final_step", 5, "best"),
        ("final_step", 6, "other"),
    ],
)
def test_the_threshold_counts_over_its_scope(scope: str, minimum: int, selected: str) -> None:
    """A variant with fewer informative prompts than the rule asks for may not win; as many are enough."""
    rows = [
        table_row("best", dev_pass_rate=0.75, informative_prompts_training=20, informative_prompts_final_step=5),
        table_row("other", informative_prompts_training=30, informative_prompts_final_step=30),
    ]

    assert decide(rows, rule(minimum, scope))["selected"] == selected


@pytest.mark.parametrize(
    ("scope", "reason"),
    [
        ("training", "20 distinct informative prompts (scope training), fewer than 30"),
        ("final_step", "5 distinct informative prompts (scope final_step), fewer than 30"),
    ],
)
def test_a_variant_below_the_threshold_is_told_so(scope: str, reason: str) -> None:
    """The reason holds what was counted, over which scope, and what was asked for."""
    row = table_row("a", informative_prompts_training=20, informative_prompts_final_step=5)

    decision = decide([row], rule(30, scope))

    assert decision["passed_over"] == {"a": reason}


def test_variants_that_are_not_complete_are_barred_with_their_reason() -> None:
    """What failed or is missing may not win, and the table's reason is passed on."""
    rows = [
        absent("broken", "failed", "OverflowError: kl_beta 1.7e+308"),
        table_row("whole"),
        absent("untrained", "missing", "checkpoint was not made"),
    ]

    decision = decide(rows, rule())

    assert decision["selected"] == "whole"
    assert decision["reason"] == "highest dev_pass_rate of 1 eligible variants"
    assert decision["passed_over"] == {
        "broken": "failed: OverflowError: kl_beta 1.7e+308",
        "untrained": "missing: checkpoint was not made",
    }


@pytest.mark.parametrize(
    ("kl_a", "kl_b", "selected"),
    [
        (0.2, 0.1, "b"),  # the lower KL
        (0.1, 0.1, "a"),  # the first slug
    ],
)
def test_ties_go_to_the_lower_kl_and_then_to_the_slug(kl_a: float, kl_b: float, selected: str) -> None:
    """Equal metrics are decided by rule, in any order of the rows, and the decision says so."""
    rows = [table_row("a", kl_to_base=kl_a), table_row("b", kl_to_base=kl_b)]

    decision = decide(rows, rule())

    loser = "ab".replace(selected, "")
    assert decision["selected"] == selected
    assert decision["reason"] == (
        "highest dev_pass_rate of 2 eligible variants, decided by tie-break: lower kl_to_base, then slug"
    )
    assert decision["passed_over"] == {loser: "same dev_pass_rate; lost the tie-break on kl_to_base, then slug"}
    assert decide(rows[::-1], rule()) == decision


def test_a_tie_behind_the_winner_is_no_tie_break() -> None:
    """Only a tie with the winner decides anything."""
    rows = [table_row("a"), table_row("b"), table_row("c", dev_pass_rate=0.75)]

    assert decide(rows, rule())["reason"] == "highest dev_pass_rate of 3 eligible variants"


def test_barred_variants_tie_with_nobody() -> None:
    """A variant that may not win does not make a tie."""
    rows = [table_row("a", informative_prompts_training=0), table_row("b")]

    assert decide(rows, rule(1))["reason"] == "highest dev_pass_rate of 1 eligible variants"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([table_row("a"), absent("b", "failed", "broke")], "none of the 2 variants is eligible"),
        ([], "none of the 0 variants is eligible"),
    ],
)
def test_nothing_is_selected_where_nothing_is_eligible(rows: list[dict], reason: str) -> None:
    """Without an eligible variant there is no winner and no evidence, but reasons."""
    decision = decide(rows, rule(99))

    assert (decision["selected"], decision["evidence"], decision["reason"]) == (None, None, reason)
    assert list(decision["passed_over"]) == [row["variant"] for row in rows]


@LAW
@given(cells=TABLES, minimum=st.integers(0, 3))
def test_every_variant_is_selected_or_passed_over(cells: list, minimum: int) -> None:
    """No variant is forgotten, and each that was passed over has a reason."""
    rows = table(cells)

    decision = decide(rows, rule(minimum))

    passed_over = decision["passed_over"]
    selected = [decision["selected"]] if decision["selected"] else []
    assert sorted([*passed_over, *selected]) == sorted(row["variant"] for row in rows)
    assert all(passed_over.values())
    assert decision["selection_policy"] == SELECTION_POLICY


@LAW
@given(cells=TABLES, minimum=st.integers(0, 3), shuffle=st.randoms(use_true_random=False))
def test_the_order_of_the_table_does_not_count(cells: list, minimum: int, shuffle: Random) -> None:
    """The same variants in another order lead to the same decision."""
    rows = table(cells)
    shuffled = list(rows)
    shuffle.shuffle(shuffled)

    assert decide(shuffled, rule(minimum)) == decide(rows, rule(minimum))


@LAW
@given(cells=TABLES, minimum=st.integers(0, 3))
def test_the_winner_is_eligible_and_nobody_eligible_is_better(cells: list, minimum: int) -> None:
    """The winner is complete, above the threshold, and has the highest metric among such variants."""
    rows = table(cells)

    winner = decide(rows, rule(minimum))["evidence"]

    complete = [row for row in rows if row["status"] == "complete"]
    eligible = [row for row in complete if row["informative_prompts_training"] >= minimum]
    assert (winner in eligible) if eligible else (winner is None)
    assert all(winner["dev_pass_rate"] >= row["dev_pass_rate"] for row in eligible)
