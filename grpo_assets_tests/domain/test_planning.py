"""A plan has the budget and the expected informative groups of each variant, before anything is trained."""

from math import ceil
from typing import Any

import pytest

from grpo_assets.domain.costs import Measured, Shape
from grpo_assets.domain.experiments import variants
from grpo_assets.domain.planning import Circumstances, plan
from grpo_assets.domain.specs import Experiment
from grpo_assets_tests.builders import experiment, statistics_row

V0, V1 = "reward_v0_correctness", "reward_v1_shaped"
SIZES = {"train": 10, "dev": 60, "heldout": 40}
SHAPE = Shape(parameters=10**8, layers=12, hidden=768, kv_width=1536, vocabulary=50_000, bytes_per_weight=2)


def planned(declared: Experiment, statistics: dict[str, list[dict]], **around: Any) -> dict[str, Any]:
    """The plan of a tabular policy on a CPU of which nothing was measured; keywords replace circumstances."""
    usual = {"sizes": SIZES, "max_completion": 8, "shape": None, "hardware": "CPU", "base": "base"}
    return plan(declared, statistics, Circumstances(**{**usual, **around}))


def scoring(*pilots: tuple[int, int]) -> list[dict]:
    """Statistics of prompts from their fails and passes."""
    return [statistics_row(f"t{i}", fails, passes, position=i) for i, (fails, passes) in enumerate(pilots)]


def test_variants_stand_in_the_order_of_the_matrix() -> None:
    """A plan has one row a cell of the matrix."""
    declared = experiment(
        matrix={"seeds": [2, 1], "group_sizes": [4, 2], "kl_betas": [0.1, 0.0], "curricula": ["random", "static"]}
    )

    content = planned(declared, {V0: scoring((4, 4), (8, 0))})

    assert [row["variant"] for row in content["variants"]] == list(variants(declared))
    assert content["totals"]["variants"] == 16


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

    (row,) = planned(declared, {V0: scoring(*[(4, 4)] * 10)})["variants"]

    assert row["rollouts"] == 32
    assert (row["groups"], row["distinct_prompts"], row["coverage"]) == (groups, distinct_prompts, coverage)


def test_expected_informative_groups_are_the_sum_of_the_chances() -> None:
    """Each visit adds the chance of its prompt at the variant's group size; a prompt counts at each visit."""
    declared = experiment(matrix={"group_sizes": [8]}, recipe={"steps": 3, "rollouts_per_step": 8})

    (row,) = planned(declared, {V0: scoring((8, 0), (4, 4))})["variants"]

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

    static, informative = planned(declared, {V0: scoring((8, 0), (4, 4))})["variants"]

    assert static["expected_informative_share"] == 0.2873
    assert informative["expected_informative_share"] == 0.9547


def test_orders_expect_the_same_of_a_whole_pass() -> None:
    """Where all prompts are visited as often, no order has more informative groups."""
    declared = experiment(
        matrix={"seeds": [1, 2], "group_sizes": [2], "curricula": ["static", "informative", "random"]},
        recipe={"steps": 2, "rollouts_per_step": 4},
    )

    rows = planned(declared, {V0: scoring((8, 0), (4, 4))})["variants"]

    assert len({row["expected_informative_groups"] for row in rows}) == 1


def test_each_reward_has_its_own_statistics() -> None:
    """A variant is planned from the scoring of its reward."""
    declared = experiment(matrix={"group_sizes": [8], "rewards": [V0, V1]}, recipe={"steps": 1})

    first, second = planned(declared, {V0: scoring((8, 0)), V1: scoring((4, 4))})["variants"]

    assert (first["expected_informative_share"], second["expected_informative_share"]) == (0.2873, 0.9547)


def test_kl_beta_changes_no_expectation() -> None:
    """Variants that visit the same prompts in the same order expect the same."""
    declared = experiment(matrix={"kl_betas": [0.0, 0.1], "curricula": ["random"]})

    one, other = planned(declared, {V0: scoring((8, 0), (4, 4), (7, 1))})["variants"]

    assert {**one, "variant": None} == {**other, "variant": None}


def test_totals_add_up() -> None:
    """The totals are those of the whole matrix, and the pilot is counted once whatever the rewards."""
    declared = experiment(matrix={"seeds": [1, 2], "rewards": [V0, V1], "group_sizes": [2, 4]})
    statistics = scoring((8, 0), (4, 4), (7, 1))

    content = planned(declared, {V0: statistics, V1: statistics})

    rows, totals = content["variants"], content["totals"]
    assert (totals["variants"], totals["training_prompts"], totals["pilot_rollouts"]) == (8, 3, 24)
    assert totals["pilot_tokens"] == 24 * 4
    assert totals["training_rollouts"] == 8 * 32
    assert totals["generated_tokens"] == 8 * 32 * 4
    assert totals["run"] + totals["risky"] + totals["pointless"] == 8
    assert totals["expected_informative_groups"] == round(sum(row["expected_informative_groups"] for row in rows), 2)


def test_an_informative_arm_gets_its_control() -> None:
    """The random order is added with all seeds, marked, and can be declined."""
    declared = experiment(matrix={"curricula": ["static", "informative"], "seeds": [1, 2]}, controls="auto")
    statistics = {V0: scoring((8, 0), (4, 4), (7, 1))}

    arms = planned(declared, statistics)["arms"]
    without = planned(declared.model_copy(update={"controls": "none"}), statistics)["arms"]

    assert [(arm["curriculum"], arm["control"], arm["variants"]) for arm in arms] == [
        ("static", False, 2),
        ("informative", False, 2),
        ("random", True, 2),
    ]
    assert [arm["curriculum"] for arm in without] == ["static", "informative"]


def test_only_the_informative_arm_pays_for_the_pilot() -> None:
    """Rollouts and tokens stand there with and without it."""
    declared = experiment(matrix={"curricula": ["static", "informative"]}, controls="auto")

    static, informative, random = planned(declared, {V0: scoring((8, 0), (4, 4), (7, 1))})["arms"]

    assert static["rollouts_with_pilot"] == static["rollouts"]
    assert random["rollouts_with_pilot"] == random["rollouts"]
    assert informative["rollouts_with_pilot"] == informative["rollouts"] + 24
    assert informative["generated_tokens_with_pilot"] == informative["generated_tokens"] + 96


def test_a_pilot_pays_after_the_variants_that_gain_what_it_cost() -> None:
    """It costs the informative groups that its rollouts would have given, and gains what the order gives more."""
    prompts = scoring(*[(8, 0)] * 30, *[(4, 4)] * 10)
    declared = experiment(
        matrix={"group_sizes": [8], "curricula": ["static", "informative"]},
        recipe={"steps": 10, "rollouts_per_step": 8},
        controls="auto",
    )

    content = planned(declared, {V0: prompts})

    rows = {row["curriculum"]: row["expected_informative_groups"] for row in content["variants"]}
    groups_of_the_pilot = 320 / 80 * rows["random"]
    assert content["totals"]["pilot_pays_after"] == ceil(groups_of_the_pilot / (rows["informative"] - rows["random"]))


def test_a_pilot_that_gains_nothing_never_pays() -> None:
    """Where all prompts are alike no order helps."""
    declared = experiment(matrix={"curricula": ["static", "informative"]}, recipe={"steps": 10, "rollouts_per_step": 8})

    assert planned(declared, {V0: scoring(*[(4, 4)] * 40)})["totals"]["pilot_pays_after"] is None


@pytest.mark.parametrize(
    ("pilots", "needed", "verdict", "reason"),
    [
        ([(0, 8)] * 40, 0, "pointless", "no informative group is expected"),
        ([(8, 0)] * 40, 0, "pointless", "no informative group is expected"),
        ([(4, 4)] * 40, 9, "pointless", "at most 8 informative prompts are expected, and the selection needs 9"),
        ([(8, 0)] * 20 + [(4, 4)] * 20, 5, "risky", "informative prompts are expected, and the selection needs 5"),
        ([(4, 4)] * 40, 6, "run", "99% of its groups are expected to teach"),
    ],
)
def test_a_variant_has_a_verdict_with_its_reason(
    pilots: list[tuple[int, int]], needed: int, verdict: str, reason: str
) -> None:
    """Pointless where it cannot reach the selection or teaches nothing, risky where it may not, else to be run."""
    declared = experiment(
        matrix={"group_sizes": [8], "curricula": ["random"]},
        recipe={"steps": 8, "rollouts_per_step": 8},
        selection={"min_informative_prompts": needed},
    )

    [row] = planned(declared, {V0: scoring(*pilots)})["variants"]

    assert row["verdict"] == verdict
    assert reason in row["reason"]


def test_the_threshold_of_the_last_step_is_planned_for_the_last_step() -> None:
    """Its prompts are those that training visits last, not first."""
    scope = {"min_informative_prompts": 1, "informative_scope": "final_step"}
    declared = experiment(matrix={"group_sizes": [4]}, recipe={"steps": 2, "rollouts_per_step": 4}, selection=scope)

    [row] = planned(declared, {V0: scoring((4, 4), (800, 0))})["variants"]

    assert row["expected_informative_prompts"] < 0.1


def test_unscored_prompts_are_planned_with_the_prior() -> None:
    """A prompt whose rollouts all lack a verdict is neither dropped nor a zero."""
    declared = experiment(matrix={"group_sizes": [4]}, recipe={"steps": 2, "rollouts_per_step": 4})
    unscored = statistics_row("none", 0, 0, rollouts=8)

    [row] = planned(declared, {V0: [unscored, *scoring((4, 4))]})["variants"]

    assert row["groups"] == 2
    assert 0.5 < row["expected_informative_groups"] < 2


def test_costs_of_a_language_model_are_stated() -> None:
    """FLOPs, memory, a range of hours by stated defaults, and money where there is a price."""
    declared = experiment(budget={"money": 100, "price_per_hour": 2.0})

    [row] = planned(declared, {V0: scoring((4, 4))}, shape=SHAPE, hardware="NVIDIA H100 80GB HBM3")["variants"]

    assert row["flops"] > 1e11
    assert row["memory_bytes"] > 2e8
    assert 0 < row["hours"][0] < row["hours"][1]
    assert row["hours_by"] == "stated defaults"
    assert row["money"] == pytest.approx([2 * hours for hours in row["hours"]], abs=1e-3)


def test_measured_trainings_replace_defaults_and_narrow_the_range() -> None:
    """The same policy on the same kind of hardware: at most a factor of two between the ends."""
    run = Measured("CPU", "base", "smoke", kl=False, steps=4, tokens=128, seconds=8.0)
    others = [
        Measured("CPU", "base", "smoke", kl=False, steps=4, tokens=128, seconds=7.5),
        Measured("GPU", "base", "smoke", kl=False, steps=4, tokens=128, seconds=800.0),
        Measured("CPU", "other", "smoke", kl=False, steps=4, tokens=128, seconds=800.0),
    ]

    [row] = planned(experiment(), {V0: scoring((4, 4))}, measured=[run, *others])["variants"]

    low, high = (3600 * hours for hours in row["hours"])
    assert row["hours_by"] == "measured"
    assert low < 7.75 < high
    assert high / low <= 2.0


def test_hours_that_nobody_knows_are_no_zero() -> None:
    """A tabular policy of which nothing was measured has no FLOPs and no hours, and neither has the total."""
    content = planned(experiment(), {V0: scoring((4, 4))})

    assert content["variants"][0]["hours"] is content["variants"][0]["flops"] is content["totals"]["hours"] is None


MATRIX = {"seeds": [1, 2, 3, 4], "group_sizes": [2, 4], "kl_betas": [0.0, 0.1], "learning_rate": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("rollouts", "axes", "left", "fits"),
    [
        (2000, [], 32, True),
        (1000, ["seeds"], 24, True),
        (400, ["seeds", "kl_betas"], 12, True),
        (200, ["seeds", "kl_betas", "group_sizes"], 6, True),
        (110, ["seeds", "kl_betas", "group_sizes", "learning_rate"], 3, True),
        (50, ["seeds", "kl_betas", "group_sizes", "learning_rate", "seeds", "seeds"], 1, True),
        (0, ["seeds", "kl_betas", "group_sizes", "learning_rate", "seeds", "seeds"], 1, False),
    ],
)
def test_a_budget_gives_the_order_in_which_to_cut(rollouts: int, axes: list[str], left: int, fits: bool) -> None:
    """Whole values are dropped, seeds down to three first, so that a matrix is left; a budget of 0 fits none."""
    declared = experiment(matrix=MATRIX, budget={"rollouts": rollouts})

    budget = planned(declared, {V0: scoring((4, 4))})["budget"]

    assert [cut["axis"] for cut in budget["cuts"]] == axes
    assert [32, *(cut["variants_left"] for cut in budget["cuts"])][-1] == left
    assert budget["fits_after_cuts"] is fits
    assert bool(budget["over"]) is (rollouts < 32 * 32 + 8)


def test_a_budget_in_hours_that_nobody_knows_is_not_kept() -> None:
    """What cannot be known is said, not passed over."""
    declared = experiment(budget={"gpu_hours": 5})

    budget = planned(declared, {V0: scoring((4, 4))})["budget"]

    assert budget["over"] == ["gpu_hours: not known, since no training of this policy was measured on this hardware"]


def test_power_names_the_axes_that_cannot_answer() -> None:
    """Two seeds and two values are two matched pairs, too few for any difference; the held-out test has its own."""
    declared = experiment(matrix={"seeds": [1, 2], "group_sizes": [2, 4]})

    power = planned(declared, {V0: scoring((4, 4))})["power"]

    assert power["axes"] == {"group_sizes": {"matched_pairs": 2, "effects": [None, None, None]}}
    assert power["selection"][0] < power["selection"][1] < power["selection"][2]
    assert 0 < power["heldout"] < 1


def test_the_spread_of_earlier_seeds_replaces_the_stated_one() -> None:
    """And the plan says where it is from."""
    declared = experiment(matrix={"seeds": [1, 2, 3], "group_sizes": [2, 4], "kl_betas": [0.0, 0.1]})
    statistics = {V0: scoring((4, 4))}

    stated, known = (planned(declared, statistics, seed_deviation=sd)["power"] for sd in (None, 0.01))

    assert (stated["seed_deviation"], stated["seed_deviation_by"]) == (0.03, "the experiment")
    assert (known["seed_deviation"], known["seed_deviation_by"]) == (0.01, "history")
    assert known["axes"]["kl_betas"]["effects"][1] < stated["axes"]["kl_betas"]["effects"][1]


def test_a_pilot_under_the_random_reward_is_paid_like_any_other() -> None:
    """Arms are matched by their axes: the names of a reward and of a curriculum may share a word."""
    prompts = scoring(*[(8, 0)] * 30, *[(4, 4)] * 10)
    recipe = {"steps": 10, "rollouts_per_step": 8}
    found = [
        planned(
            experiment(
                matrix={"group_sizes": [8], "curricula": ["informative", "random"], "rewards": [name]}, recipe=recipe
            ),
            {name: prompts},
        )["totals"]["pilot_pays_after"]
        for name in (V0, "reward_random")
    ]

    assert found[0] is not None
    assert found[0] == found[1]
