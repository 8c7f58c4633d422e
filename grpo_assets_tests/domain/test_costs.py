"""Costs: tokens, FLOPs, memory and a range of time, before anything is run."""

from typing import Any

import pytest

from grpo_assets.domain.costs import (
    Load,
    Measured,
    Shape,
    flops,
    load_of,
    memory_bytes,
    seconds_by_default,
    seconds_by_measurement,
    shape_of,
)
from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.specs import Recipe
from grpo_assets_tests.builders import statistics_row, variant

SHAPE = Shape(parameters=1000, layers=2, hidden=8, kv_width=16, vocabulary=32, bytes_per_weight=4)
LOAD = Load(prompt=6.0, completion=4.0, longest=9)


def trained(**parts: Any) -> Variant:
    """A variant of 32 rollouts with an adapter of rank 2."""
    return variant(recipe=Recipe(steps=4, rollouts_per_step=8, learning_rate=0.1, lora_rank=2), **parts)


def test_flops_are_two_a_weight_forward_and_four_in_training() -> None:
    """Generation, the frozen model's forward and backward pass, and the adapter's own gradients."""
    tokens, adapter = 32 * 10, SHAPE.adapter(2)

    assert flops(SHAPE, trained(), LOAD, recomputes=False) == tokens * (2000 + 4000 + 6 * adapter)


def test_a_reference_and_recomputing_cost_a_forward_pass_each() -> None:
    """Beta needs the reference's chances; gradient checkpointing runs the model once more."""
    plain = flops(SHAPE, trained(), LOAD, recomputes=False)

    assert flops(SHAPE, trained(kl_beta=0.1), LOAD, recomputes=False) - plain == 320 * 2000
    assert flops(SHAPE, trained(), LOAD, recomputes=True) - plain == 320 * 2000


def test_the_shape_is_read_from_a_config() -> None:
    """Grouped heads and the dtype count; a config without them has as many heads and 32 bits."""
    config = {"num_attention_heads": 8, "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100}

    assert shape_of(config, 10) == Shape(10, 2, 64, 128, 100, 4)
    grouped = {**config, "num_key_value_heads": 2, "head_dim": 16, "dtype": "bfloat16"}
    assert shape_of(grouped, 10) == Shape(10, 2, 64, 64, 100, 2)


def test_the_load_is_that_of_the_pilot() -> None:
    """Means of the prompts visited, and the longest completion that any of them had."""
    rows = [
        statistics_row("a", prompt_tokens=10, completion_tokens=4.0, longest_completion=5),
        statistics_row("b", prompt_tokens=20, completion_tokens=8.0, longest_completion=30),
    ]

    assert load_of(rows) == Load(15.0, 6.0, 30)


def test_more_memory_for_longer_completions_and_larger_batches() -> None:
    """And never less than the weights."""
    short, long = (memory_bytes(SHAPE, trained(), LOAD, budget) for budget in (8, 800))

    assert 4000 < short < long


@pytest.mark.parametrize("hardware", ["NVIDIA H100 80GB HBM3", "Tesla T4", "CPU x, 2 cores", "an unknown device"])
def test_hardware_that_was_not_measured_has_a_wide_range(hardware: str) -> None:
    """By stated figures of the device, or those of a CPU."""
    low, high = seconds_by_default(SHAPE, trained(), LOAD, hardware)

    assert 0 < low < high


def test_a_faster_device_is_faster() -> None:
    """An H100 beats a T4 at both ends of the range."""
    big = Shape(10**9, 24, 2048, 4096, 50_000, 2)
    fast, slow = (seconds_by_default(big, trained(), LOAD, name) for name in ("H100", "T4"))

    assert fast[0] < slow[0]
    assert fast[1] < slow[1]


def measured(seconds: float, **parts: Any) -> Measured:
    usual = {"hardware": "CPU", "base": "b", "trainer": "trl", "kl": False, "steps": 10, "tokens": 320}
    return Measured(**{**usual, **parts}, seconds=seconds)


def test_measured_times_scale_with_tokens_and_stay_within_a_factor_of_two() -> None:
    """Half of a step is taken to be fixed."""
    runs = [measured(seconds) for seconds in (9.0, 10.0, 30.0)]

    same = seconds_by_measurement(runs, trained(), LOAD, "CPU", "b", "trl")
    longer = seconds_by_measurement(runs, trained(), Load(6.0, 8.0, 9), "CPU", "b", "trl")

    assert same is not None
    assert longer is not None
    assert same[0] < 4.0 < same[1] <= 2.0 * same[0] * 1.001
    assert longer[0] == pytest.approx(1.5 * same[0])


@pytest.mark.parametrize("other", [{"hardware": "GPU"}, {"base": "another"}, {"trainer": "smoke"}])
def test_trainings_of_another_kind_measure_nothing(other: dict[str, str]) -> None:
    """Another device, policy or trainer says nothing of this one."""
    assert seconds_by_measurement([measured(9.0, **other)], trained(), LOAD, "CPU", "b", "trl") is None
