"""A curriculum re-orders the training prompts and drops none."""

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.curriculum import CURRICULA, FLOOR_EVERY, SEEDED, curriculum, visiting_order
from grpo_assets.domain.schemas import CURRICULUM
from grpo_assets_tests.builders import LAW, statistics_row

PILOTS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=30)


def scoring(pilots: list[tuple[int, int]]) -> list[dict]:
    """Statistics of prompts from their fails and passes."""
    return [statistics_row(f"t{i}", fails, passes, position=i) for i, (fails, passes) in enumerate(pilots)]


@LAW
@given(pilots=PILOTS, group_size=st.integers(2, 16), seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("mode", CURRICULA)
def test_every_curriculum_is_a_permutation(
    mode: str, pilots: list[tuple[int, int]], group_size: int, seed: int
) -> None:
    """All prompts are visited once, whatever the order, and positions count from 0."""
    statistics = scoring(pilots)

    order = curriculum(statistics, mode, group_size, seed)

    assert sorted(row["task_id"] for row in order) == sorted(row["task_id"] for row in statistics)
    assert [row["position"] for row in order] == list(range(len(statistics)))


@LAW
@given(pilots=PILOTS, seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("mode", CURRICULA)
def test_the_same_request_gives_the_same_order(mode: str, pilots: list[tuple[int, int]], seed: int) -> None:
    """An order depends on nothing but its arguments."""
    statistics = scoring(pilots)

    assert curriculum(statistics, mode, 4, seed) == curriculum(statistics, mode, 4, seed)


@LAW
@given(pilots=PILOTS, seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("mode", sorted(set(CURRICULA) - SEEDED))
def test_only_seeded_curricula_depend_on_the_seed(mode: str, pilots: list[tuple[int, int]], seed: int) -> None:
    """Variants that differ in the seed share an order that is not seeded."""
    statistics = scoring(pilots)

    assert curriculum(statistics, mode, 4, seed) == curriculum(statistics, mode, 4, seed + 1)


@pytest.mark.parametrize("mode", sorted(SEEDED))
def test_seeds_change_the_seeded_curricula(mode: str) -> None:
    """Two seeds give two orders."""
    statistics = scoring([(4, 4)] * 30)

    assert curriculum(statistics, mode, 4, 1) != curriculum(statistics, mode, 4, 2)


def test_static_keeps_the_order() -> None:
    """The static order is that of the suite."""
    order = curriculum(scoring([(8, 0), (4, 4), (0, 8)]), "static", 4)

    assert [row["task_id"] for row in order] == ["t0", "t1", "t2"]


def test_informative_visits_the_most_uncertain_prompts_first() -> None:
    """The most even pass rates come first and the prompts without a single pass last."""
    order = curriculum(scoring([(8, 0), (7, 1), (4, 4)]), "informative", 8)

    assert [row["task_id"] for row in order] == ["t2", "t1", "t0"]
    assert [row["p_informative"] for row in order] == pytest.approx([0.954657, 0.654912, 0.287338], abs=1e-6)


@LAW
@given(pilots=PILOTS, group_size=st.integers(2, 16))
def test_informative_falls(pilots: list[tuple[int, int]], group_size: int) -> None:
    """The chance of an informative group never rises along the order, the floor aside; ties go by doubt, then key."""
    order = curriculum(scoring(pilots), "informative", group_size)

    ranks = [
        (-round(row["p_informative"], 12), -round(row["p_informative_sd"], 12), row["task_key"])
        for place, row in enumerate(order, start=1)
        if place % FLOOR_EVERY
    ]
    assert ranks == sorted(ranks)


def test_one_visit_in_twenty_goes_to_a_prompt_drawn_from_the_rest() -> None:
    """What looks hopeless in the pilot is tried all the same, evenly and in the same way each time."""
    order = curriculum(scoring([(4, 4)] * 100 + [(80, 0)] * 100), "informative", 4)

    hopeless = [place for place, row in enumerate(order[:100], start=1) if int(row["task_id"][1:]) >= 100]
    assert hopeless
    assert all(place % FLOOR_EVERY == 0 for place in hopeless)
    assert len(hopeless) <= 5


@LAW
@given(pilots=PILOTS, shuffle=st.randoms(use_true_random=False))
def test_informative_does_not_depend_on_the_original_order(pilots: list, shuffle: Random) -> None:
    """Prompts in another order are visited in the same one."""
    statistics = scoring(pilots)
    shuffled = list(statistics)
    shuffle.shuffle(shuffled)

    assert curriculum(shuffled, "informative", 4) == curriculum(statistics, "informative", 4)


def test_group_size_can_turn_the_order() -> None:
    """The chances are those of the variant's own group size, and so is the order.

    A prompt that failed twice is the better guess for a pair, one that passed 12 times of 120 for a large group.
    """
    statistics = scoring([(2, 0), (108, 12)])

    first = {size: curriculum(statistics, "informative", size)[0]["task_id"] for size in (2, 32)}

    assert first == {2: "t0", 32: "t1"}


@pytest.mark.parametrize("mode", CURRICULA)
def test_chances_stand_beside_every_order(mode: str) -> None:
    """Each prompt carries its chance also where the order does not use it."""
    order = curriculum(scoring([(8, 0), (4, 4)]), mode, 8)

    chances = {row["task_id"]: row["p_informative"] for row in order}
    assert chances == pytest.approx({"t0": 0.287338, "t1": 0.954657}, abs=1e-6)


def test_rows_fit_their_schema() -> None:
    """Rows of a curriculum have the columns of the data dictionary."""
    order = curriculum(scoring([(8, 0), (4, 4)]), "static", 4)

    assert all(list(row) == CURRICULUM.names for row in order)
    assert pa.Table.from_pylist(order, CURRICULUM).to_pylist() == order


@pytest.mark.parametrize(
    ("visits", "visited"),
    [
        (0, []),
        (2, ["t0", "t1"]),  # a short budget sees the first prompts only
        (3, ["t0", "t1", "t2"]),
        (7, ["t0", "t1", "t2", "t0", "t1", "t2", "t0"]),  # and a long one starts again
    ],
)
def test_visiting_order(visits: int, visited: list[str]) -> None:
    """Training goes through the curriculum again and again until the budget is spent."""
    order = curriculum(scoring([(4, 4)] * 3), "static", 4)

    assert [row["task_id"] for row in visiting_order(order, visits)] == visited
