"""A plan has the budget and the expected informative groups of each variant, before anything is trained."""

import pytest

from grpo_assets.domain.experiments import variants
from grpo_assets.domain.planning import plan
from grpo_assets_tests.builders import experiment, statistics_row

V0, V1 = "reward_v0_correctness", "reward_v1_shaped"


def scoring(*pilots: tuple[int, int]) -> list[dict]:
    """Statistics of prompts from their fails and passes."""
    return [statistics_row(f"t{i}", fails, passes, position=i) for i, (fails, passes) in enumerate(pilots)]


def test_variants_stand_in_the_order_of_the_matrix() -> None:
    """A plan has one row a cell of the matrix."""
    declared = experiment(
        matrix={"seeds": [2, 1], "group_sizes": [4, 2], "kl_betas": [0.1, 0.0], "curricula": ["random", "static"]}
    )

    planned = plan(declared, {V0: scoring((4, 4), (8, 0))})

    assert [row["variant"] for row in planned["variants"]] == list(variants(declared))
    assert planned["totals"]["variants"] == 16


@pytest.mark.parametrize(
    ("group_size", "groups", "distinct_prompts", "coverage"),
    [
        (2, 16, 10, 1.0),  # more groups than prompts: all are visited, some again
        (4, 8, 8, 0.8),
        (8, 4, 4, 0.4),  # an order is a selection here
    ],
)
def test_group_sizes_are_compared_at_one_budget(
    group_size: int, groups: int, distinct_prompts: int, coverage: float
) -> None:
    """Larger groups visit fewer prompts with the same number of rollouts."""
    declared = experiment(matrix={"group_sizes": [group_size]}, recipe={"steps": 4, "rollouts_per_step": 8})

    (row,) = plan(declared, {V0: scoring(*[(4, 4)] * 10)})["variants"]

    assert row["rollouts"] == 32
    assert (row["groups"], row["distinct_prompts"], row["coverage"]) == (groups, distinct_prompts, coverage)


def test_expected_informative_groups_are_the_sum_of_the_chances() -> None:
    """Each visit adds the chance of its prompt at the variant's group size; a prompt counts at each visit."""
    declared = experiment(matrix={"group_sizes": [8]}, recipe={"steps": 3, "rollouts_per_step": 8})

    (row,) = plan(declared, {V0: scoring((8, 0), (4, 4))})["variants"]

    chance, other = 0.287338, 0.954657  # statistics.md, section 1.3
    assert row["groups"] == 3
    assert row["expected_informative_groups"] == round(2 * chance + other, 2)
    assert row["expected_informative_share"] == round((2 * chance + other) / 3, 4)


def test_the_informative_order_expects_more_of_a_short_budget() -> None:
    """Where not all prompts are visited, the informative order picks those that teach."""
    declared = experiment(
        matrix={"group_sizes": [8], "curricula": ["static", "informative"]},
        recipe={"steps": 1, "rollouts_per_step": 8},
    )

    static, informative = plan(declared, {V0: scoring((8, 0), (4, 4))})["variants"]

    assert static["expected_informative_share"] == 0.2873
    assert informative["expected_informative_share"] == 0.9547


def test_orders_expect_the_same_of_a_whole_pass() -> None:
    """Where all prompts are visited as often, no order has more informative groups."""
    declared = experiment(
        matrix={"seeds": [1, 2], "group_sizes": [2], "curricula": ["static", "informative", "random"]},
        recipe={"steps": 2, "rollouts_per_step": 4},
    )

    rows = plan(declared, {V0: scoring((8, 0), (4, 4))})["variants"]

    assert len({row["expected_informative_groups"] for row in rows}) == 1


def test_each_reward_has_its_own_statistics() -> None:
    """A variant is planned from the scoring of its reward."""
    declared = experiment(matrix={"group_sizes": [8], "rewards": [V0, V1]}, recipe={"steps": 1})

    first, second = plan(declared, {V0: scoring((8, 0)), V1: scoring((4, 4))})["variants"]

    assert (first["expected_informative_share"], second["expected_informative_share"]) == (0.2873, 0.9547)


def test_kl_beta_changes_no_expectation() -> None:
    """Variants that visit the same prompts in the same order expect the same."""
    declared = experiment(matrix={"kl_betas": [0.0, 0.1], "curricula": ["random"]})

    one, other = plan(declared, {V0: scoring((8, 0), (4, 4), (7, 1))})["variants"]

    assert {**one, "variant": None} == {**other, "variant": None}


def test_totals_add_up() -> None:
    """The totals are those of the whole matrix, and the pilot is counted once whatever the rewards."""
    declared = experiment(
        pilot={"samples_per_prompt": 8}, matrix={"seeds": [1, 2], "rewards": [V0, V1], "group_sizes": [2, 4]}
    )
    statistics = scoring((8, 0), (4, 4), (7, 1))

    planned = plan(declared, {V0: statistics, V1: statistics})

    rows = planned["variants"]
    assert planned["totals"] == {
        "variants": 8,
        "training_prompts": 3,
        "pilot_rollouts": 24,
        "training_rollouts": 8 * 32,
        "expected_informative_groups": round(sum(row["expected_informative_groups"] for row in rows), 2),
    }
