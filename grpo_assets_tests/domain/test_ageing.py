"""A pilot ages: what it predicted of each tenth against what came, and what training's own rollouts would predict."""

import numpy as np
import pytest

from grpo_assets.domain.ageing import ageing, brier_scores, forecast_of
from grpo_assets_tests.builders import statistics_row


def test_a_training_is_cut_into_tenths_in_its_order() -> None:
    """Each part has its groups, the predicted share with its band, and the realised one."""
    found = ageing([0.9] * 50 + [0.1] * 50, [True] * 45 + [False] * 55)

    assert [part["groups"] for part in found["parts"]] == [10] * 10
    assert [part["predicted"] for part in found["parts"]] == pytest.approx([0.9] * 5 + [0.1] * 5)
    assert [part["realised"] for part in found["parts"]] == [1.0] * 4 + [0.5] + [0.0] * 5
    assert all(0 <= part["low"] <= part["predicted"] <= part["high"] <= 1 for part in found["parts"])


@pytest.mark.parametrize(("realised", "aged"), [([True, False] * 50, False), ([True, False] * 45 + [True] * 10, True)])
def test_a_pilot_has_aged_where_a_tenth_leaves_its_band(realised: list[bool], aged: bool) -> None:
    """Ten groups of even chances are not all informative by luck."""
    assert ageing([0.5] * 100, realised)["aged"] is aged


def test_a_fresh_pilot_is_seldom_flagged() -> None:
    """All tenths together stay in their bands with about 95% while nothing has changed."""
    generator = np.random.default_rng(3)
    flags = []
    for _ in range(500):
        chances = generator.uniform(0.2, 0.9, 400)
        flags.append(ageing(chances.tolist(), (generator.random(400) < chances).tolist())["aged"])

    assert np.mean(flags) <= 0.07


def test_fewer_groups_than_tenths_are_a_part_each() -> None:
    """A short training is not cut finer than it is."""
    assert len(ageing([0.5] * 3, [True, False, True])["parts"]) == 3


def test_rollouts_of_training_predict_better_than_an_old_pilot() -> None:
    """A prompt that the pilot held to be hopeless and that is learned is expected to teach after its first visits."""
    statistics = [statistics_row("a", fails=8, passes=0)]
    visits = [(statistics[0]["task_key"], [0.0, 1.0, 1.0, 0.0])] * 10

    scores = brier_scores(visits, forecast_of(statistics))

    assert scores["brier_updated"] < scores["brier_pilot"]
