"""Pictures are drawn from any statistics and plan, as Markdown that carries its image."""

import base64

import pytest

from grpo_assets.runtime.pictures import plan_picture, statistics_pictures
from grpo_assets_tests.builders import statistics_row

PNG = b"\x89PNG\r\n"


def image_in(page: str) -> bytes:
    return base64.b64decode(page.partition("base64,")[2].rstrip(")\n"))


@pytest.mark.parametrize(
    "pilots",
    [[(4, 4)] * 40, [(8, 0)] * 40, [(0, 0)], [(8, 0), (4, 4)] * 30],
    ids=["alike", "hopeless", "unscored", "mixed"],
)
def test_statistics_are_drawn_whatever_they_are(pilots: list[tuple[int, int]]) -> None:
    """A histogram with the prior, and the share of informative groups by group size; the same bytes each time."""
    rows = [statistics_row(f"t{i}", fails, passes) for i, (fails, passes) in enumerate(pilots)]

    page = statistics_pictures(rows)

    assert image_in(page).startswith(PNG)
    assert page == statistics_pictures(rows)


@pytest.mark.parametrize("cost", [8.5, None])
def test_a_plan_is_drawn_also_where_nothing_can_be_learned(cost: float | None) -> None:
    """A variant without an informative group has no bar, and no zero."""
    row = {
        "expected_informative_groups": 3.0,
        "expected_interval": [1.0, 5.0],
        "rollouts_per_informative_group": cost,
        "control": False,
    }

    assert image_in(plan_picture({"variants": [row, {**row, "control": True}]})).startswith(PNG)
