"""A row of the experiment table has what was measured, or says why nothing was."""

from typing import Any

import numpy as np
import pytest

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.scores import TaskRates
from grpo_assets.domain.tables import MEASURED, comparison, informative_over_random, table_row
from grpo_assets_tests.builders import AXES, experiment, variant
from grpo_assets_tests.builders import table_row as built_row

TRAINED = {
    "groups": 20,
    "informative_groups": 15,
    "ageing": {
        "parts": [
            {"groups": 10, "predicted": 0.9, "realised": 1.0},
            {"groups": 10, "predicted": 0.5, "realised": 0.1},
        ],
        "aged": True,
    },
    "last_reward_mean": 0.5,
    "informative_prompts_training": 12,
    "informative_prompts_final_step": 3,
    "warnings": ["30% of the completions were cut off"],
}
EVALUATED = {
    "tasks": 10,
    "pass_rate": 0.75,
    "pass_rate_interval": [0.5, 0.9],
    "greedy_pass_rate": 0.8,
    "greedy_pass_rate_interval": [0.6, 0.95],
    "kl_to_base": 0.02,
    "no_verdict": 0,
    "verifier_health": {"troubles": ["flip_rate 0.020 is above 0.01"]},
}


def fresh(facts: dict[str, Any], weights: str = "1" * 64, **settings: Any) -> dict[str, Any]:
    """A step whose artifact is there."""
    manifest = {
        "facts": facts,
        "fingerprint": "f" * 64,
        "inputs": {"curriculum c": "c" * 64, "reward reward_v0_correctness": "0123456789abcdef" * 4},
        "settings": {"recipe": {"steps": 4}, "variant": dict(AXES), **settings},
        "files": {"policy.json": {"sha256": weights}, "metrics.jsonl": {"sha256": facts_hash(facts)}},
    }
    return {"condition": "fresh", "reason": None, "manifest": manifest}


def facts_hash(facts: dict[str, Any]) -> str:
    """Another file of the artifact, which says nothing of its weights."""
    return fingerprint(facts)


def lacking(condition: str, reason: str) -> dict[str, Any]:
    """A step whose artifact is not there."""
    return {"condition": condition, "reason": reason}


def test_row_of_a_complete_variant() -> None:
    """A variant that was trained and evaluated has its cell and all that was measured."""
    cell = variant(seed=7, kl_beta=0.02)

    row = table_row(cell.slug, cell.axes(experiment()), fresh(TRAINED), fresh(EVALUATED))

    assert {name: value for name, value in row.items() if name not in ("recipe", "weights")} == {
        "variant": "reward_v0_correctness_static_seed-7_g-4_kl-0.02_static",
        "seed": 7,
        "group_size": 4,
        "kl_beta": 0.02,
        "reward": "reward_v0_correctness",
        "curriculum": "static",
        "status": "complete",
        "reason": None,
        "dev_pass_rate": 0.75,
        "dev_pass_rate_interval": [0.5, 0.9],
        "dev_greedy_pass_rate": 0.8,
        "dev_greedy_pass_rate_interval": [0.6, 0.95],
        "kl_to_base": 0.02,
        "last_reward_mean": 0.5,
        "checkpoint": "f" * 64,
        "reward_version": "0123456789ab",
        "groups": 20,
        "informative_groups": 15,
        "predicted_informative_groups": 14.0,
        "informative_by_tenth": [[0.9, 1.0], [0.5, 0.1]],
        "pilot_aged": True,
        "informative_prompts_training": 12,
        "informative_prompts_final_step": 3,
        "warnings": ["30% of the completions were cut off"],
        "dev_troubles": ["flip_rate 0.020 is above 0.01"],
    }


def test_the_identity_of_the_weights_is_that_of_their_files() -> None:
    """Two checkpoints with equal weights are known as equal, whatever else lies beside them."""
    first, other, same = (
        table_row("slug", AXES, fresh(facts, weights), fresh(EVALUATED))["weights"]
        for facts, weights in (
            (TRAINED, "1" * 64),
            (TRAINED, "2" * 64),
            ({**TRAINED, "groups": 21}, "1" * 64),
        )
    )

    assert first == same != other


def test_variants_of_one_matrix_have_one_recipe() -> None:
    """What the axes decide is no part of it; any other setting of training or evaluation is."""
    axes = {**AXES, "learning_rate": 0.1}
    plain, axis, steps, sampled = (
        table_row("slug", axes, fresh(TRAINED, recipe=recipe), fresh(EVALUATED, samples_per_task=samples))["recipe"]
        for recipe, samples in (
            ({"steps": 4, "learning_rate": 0.1}, 4),
            ({"steps": 4, "learning_rate": 0.2}, 4),
            ({"steps": 5, "learning_rate": 0.1}, 4),
            ({"steps": 4, "learning_rate": 0.1}, 8),
        )
    )

    assert plain == axis
    assert len({plain, steps, sampled}) == 3


@pytest.mark.parametrize(
    ("trained", "evaluated", "status", "reason"),
    [
        (lacking("failed", "it broke"), lacking("missing", "no checkpoint"), "failed", "it broke"),
        (lacking("missing", "not trained"), lacking("missing", "no checkpoint"), "missing", "not trained"),
        (lacking("stale", "the recipe changed"), fresh(EVALUATED), "missing", "the recipe changed"),
        (fresh(TRAINED), lacking("failed", "no verdicts"), "failed", "no verdicts"),
        (fresh(TRAINED), lacking("missing", "not evaluated"), "missing", "not evaluated"),
    ],
)
def test_row_of_a_variant_that_lacks_something(trained: dict, evaluated: dict, status: str, reason: str) -> None:
    """The first step that is not fresh says what is wrong, and all measures are None, never 0."""
    row = table_row("slug", AXES, trained, evaluated)

    assert (row["status"], row["reason"]) == (status, reason)
    assert {name: row[name] for name in MEASURED} == dict.fromkeys(MEASURED)


@pytest.mark.parametrize("evaluated", [fresh(EVALUATED), lacking("missing", "not evaluated")])
def test_all_rows_have_the_same_columns(evaluated: dict) -> None:
    """A table can be built from rows of complete and of missing variants."""
    row = table_row("slug", {**AXES, "configuration": "slug", "control": False}, fresh(TRAINED), evaluated)

    assert list(row) == list(built_row())


def test_a_measure_that_is_absent_is_an_error() -> None:
    """A complete variant that lacks a measure is not filled up."""
    with pytest.raises(KeyError, match="last_reward_mean"):
        table_row("slug", AXES, fresh({"ageing": TRAINED["ageing"]}), fresh(EVALUATED))


def rates(sampled: list[float], greedy: list[float]) -> TaskRates:
    """What an evaluation measured on two tasks."""
    return TaskRates(["a", "b"], np.array(sampled), np.array(greedy))


def test_comparison_has_both_ways_of_decoding() -> None:
    """The gain of the sampled rollouts stands beside that of the greedy ones."""
    baseline, trained = rates([0.0, 0.5], [1.0, 1.0]), rates([0.5, 1.0], [0.0, 1.0])

    compared = comparison(baseline, [trained, trained])

    assert compared is not None
    assert list(compared) == ["sampled", "greedy"]
    assert (compared["sampled"]["mean"], compared["sampled"]["gain"]) == (0.75, 0.5)
    assert (compared["greedy"]["mean"], compared["greedy"]["gain"]) == (0.5, -0.5)


def test_there_is_no_comparison_without_a_trained_variant() -> None:
    """Where no variant is complete there is no gain, not one of 0."""
    assert comparison(rates([0.0, 0.5], [1.0, 1.0]), []) is None


def arm(curriculum: str, seed: int, groups: int, **parts: Any) -> dict[str, Any]:
    """A variant of one arm that realised so many informative groups."""
    return built_row(f"{curriculum} {seed}", curriculum=curriculum, seed=seed, informative_groups=groups, **parts)


def test_the_informative_order_is_compared_with_its_control_pair_by_pair() -> None:
    """The geometric mean of the ratios, its interval over pairs, and the ratio with the pilot's rollouts counted."""
    rows = [arm("informative", 1, 20), arm("random", 1, 10), arm("informative", 2, 45), arm("random", 2, 10)]

    found = informative_over_random(rows, list(AXES), pilot_rollouts=100, rollouts=200)

    assert found is not None
    assert (found["pairs"], found["ratio"]) == (2, pytest.approx(3.0))
    assert found["interval"][0] < 3.0 < found["interval"][1]
    assert found["ratio_with_pilot"] == pytest.approx(3.0 * 400 / 500)


def test_without_a_pair_no_order_is_compared() -> None:
    """A control of another seed is none, nor is one that was not trained; one pair has no interval."""
    alone = [arm("informative", 1, 20), arm("random", 2, 10), arm("random", 1, 10, status="failed")]

    assert informative_over_random(alone, list(AXES), 0, 200) is None
    one = informative_over_random([*alone, arm("informative", 2, 30)], list(AXES), 0, 200)
    assert one == {"pairs": 1, "ratio": pytest.approx(3.0), "interval": None, "ratio_with_pilot": pytest.approx(3.0)}
