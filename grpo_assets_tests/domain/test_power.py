"""Power: what a matrix, a selection and a held-out test can see."""

import numpy as np
import pytest
from scipy.stats import permutation_test

from grpo_assets.domain.power import (
    chance_of_selection,
    detectable_by_axis,
    detectable_by_selection,
    detectable_held_out,
    detectable_in_deviations,
    matched_pairs,
    selection_error,
)
from grpo_assets_tests.builders import experiment


def test_the_error_of_a_selection_vector() -> None:
    """Seeds, tasks and samples add up as in the statistics reference."""
    assert selection_error(3, 100, 4, 0.03, 0.16, 0.1) == pytest.approx(0.043205, abs=1e-6)


@pytest.mark.parametrize(
    ("tasks", "samples", "effect"), [(100, 4, 0.1235), (198, 1, 0.1327), (3876, 1, 0.03), (1260, 10, 0.03)]
)
def test_held_out_vectors(tasks: int, samples: int, effect: float) -> None:
    """The smallest gain by Miller's formula."""
    assert detectable_held_out(tasks, samples, 1 / 6) == pytest.approx(effect, abs=5e-5)


def test_five_pairs_can_show_nothing_at_five_percent() -> None:
    """The least p of a two-sided sign-flip test over five pairs is 2/32."""
    assert detectable_in_deviations(5) is None
    assert detectable_by_axis(5, 100, 4, 0.03, 0.16) is None


@pytest.mark.parametrize("pairs", [6, 8, 12, 16])
def test_stated_power_is_the_power_of_the_test(pairs: int) -> None:
    """Simulated with scipy's own sign-flip test, the stated effect is found with 80%, within five points."""
    effect = detectable_in_deviations(pairs)
    assert effect is not None
    generator = np.random.default_rng(99)
    found = [
        permutation_test(
            (generator.normal(effect, 1, pairs),),
            np.mean,
            permutation_type="samples",
            n_resamples=2**pairs if pairs <= 12 else 2000,
            rng=generator,
        ).pvalue
        <= 0.05
        for _ in range(400)
    ]

    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


def test_pairs_are_matched_over_all_other_axes_and_seeds() -> None:
    """An axis of two values has a pair for each cell of the others; seeds ask no question."""
    declared = experiment(
        matrix={
            "seeds": [1, 2, 3],
            "group_sizes": [2, 4],
            "kl_betas": [0.0],
            "curricula": ["static", "informative", "random"],
            "learning_rate": [0.1, 0.2],
        }
    )

    pairs = matched_pairs(declared, declared.matrix.curricula)

    assert pairs == {"group_sizes": 18, "curricula": 12, "learning_rate": 18}


def test_more_of_anything_shows_smaller_effects() -> None:
    """Pairs, seeds, tasks and samples all help; a larger deviation between seeds hurts."""
    assert detectable_by_axis(12, 100, 4, 0.03, 0.16) < detectable_by_axis(6, 100, 4, 0.03, 0.16)  # type: ignore[operator]
    lead = detectable_by_selection(16, 3, 100, 4, 0.03, 0.16)
    assert lead is not None
    assert detectable_by_selection(16, 6, 100, 4, 0.03, 0.16) < lead  # type: ignore[operator]
    assert detectable_by_selection(16, 3, 400, 4, 0.03, 0.16) < lead  # type: ignore[operator]
    assert detectable_by_selection(2, 3, 100, 4, 0.03, 0.16) < lead  # type: ignore[operator]
    assert lead < detectable_by_selection(16, 3, 100, 4, 0.06, 0.16)  # type: ignore[operator]
    assert detectable_held_out(100, 8, 0.16) < detectable_held_out(100, 1, 0.16)


def test_the_stated_lead_is_found_with_its_power() -> None:
    """The lead that is found with 80% power has a chance of 80%, and no lead has next to none."""
    lead = detectable_by_selection(16, 3, 100, 4, 0.03, 0.16)

    assert lead is not None
    assert chance_of_selection(lead, 16, 3, 100, 4, 0.03, 0.16) == pytest.approx(0.8, abs=0.01)
    assert chance_of_selection(0.0, 16, 3, 100, 4, 0.03, 0.16) < 0.02


@pytest.mark.parametrize(("configurations", "seeds"), [(1, 3), (16, 1)])
def test_there_is_nothing_to_select_from_one_configuration_or_with_one_seed(configurations: int, seeds: int) -> None:
    """No lead can be found, which is not a lead of 0."""
    assert detectable_by_selection(configurations, seeds, 100, 4, 0.03, 0.16) is None
