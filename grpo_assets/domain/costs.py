"""What a variant costs before it is run: tokens, FLOPs, memory, and a range of hours.

FLOPs: 2N a token forward, and for LoRA 4N a token of training, since frozen weights need no gradients of their own
(Kaplan et al., arXiv 2001.08361; Hoffmann et al., arXiv 2203.15556); one more forward pass where activations are
recomputed, and one for the reference where beta is not 0.
Decoding is bound by memory: each step reads all weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grpo_assets.domain.experiments import Variant

GPUS: dict[str, tuple[float, float]] = {
    "B200": (2.25e15, 8.0e12),
    "H200": (9.89e14, 4.8e12),
    "H100": (9.89e14, 3.35e12),
    "A100": (3.12e14, 2.0e12),
    "L40S": (3.62e14, 8.64e11),
    "L4": (1.21e14, 3.0e11),
    "T4": (6.5e13, 3.2e11),
}
"""Peak FLOP/s in 16 bits and bytes of memory a second, by a word in the name of the device."""
CPU = (1e11, 2e10)
"""The same of a few CPU cores."""

USED = (0.05, 0.35)
"""Share of the peak that training reaches: least below 1.5 billion parameters, most above 7."""
SECONDS_A_LAYER = (2e-5, 1e-3)
"""Overhead of decoding one token, a layer: compiled graphs, and plain transformers."""
CALIBRATED_SPREAD = 2.0
"""Once steps have been measured, the longest stated time is at most so many times the shortest."""


@dataclass(frozen=True)
class Shape:
    """The shape of a language model: parameters, layers, widths, and bytes a weight."""

    parameters: int
    layers: int
    hidden: int
    kv_width: int
    vocabulary: int
    bytes_per_weight: int

    def adapter(self, rank: int) -> int:
        """About how many parameters a LoRA adapter of all linear layers has: seven matrices a layer."""
        return rank * self.layers * (2 * self.hidden + 2 * (self.hidden + self.kv_width) + 3 * 4 * self.hidden)


def shape_of(config: Mapping[str, Any], parameters: int) -> Shape:
    """The shape in a Hugging Face `config.json`."""
    heads = config["num_attention_heads"]
    head = config.get("head_dim") or config["hidden_size"] // heads
    dtype = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    return Shape(
        parameters=parameters,
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        kv_width=2 * head * (config.get("num_key_value_heads") or heads),
        vocabulary=config["vocab_size"],
        bytes_per_weight=2 if "16" in dtype else 4,
    )


@dataclass(frozen=True)
class Load:
    """What the prompts of a variant ask for, in tokens of one rollout: means, and the longest completion."""

    prompt: float
    completion: float
    longest: int


def load_of(prompts: Sequence[Mapping[str, Any]]) -> Load:
    """The load of some visits, rows of `schemas.STATISTICS`: training is taken to say as much as the pilot."""
    return Load(
        float(np.mean([row["prompt_tokens"] for row in prompts])),
        float(np.mean([row["completion_tokens"] for row in prompts])),
        max(row["longest_completion"] for row in prompts),
    )


def flops(shape: Shape, variant: Variant, load: Load, recomputes: bool) -> float:
    """Floating-point operations of the whole training."""
    rollouts = variant.recipe.steps * variant.recipe.rollouts_per_step
    adapter = shape.adapter(variant.recipe.lora_rank or 0)
    forward = 2 * shape.parameters
    generation = forward * (load.prompt + load.completion)
    update = (2 * forward + 6 * adapter + forward * recomputes) * (load.prompt + load.completion)
    reference = forward * (load.prompt + load.completion) * (variant.kl_beta > 0)
    return rollouts * (generation + update + reference)


def memory_bytes(shape: Shape, variant: Variant, load: Load, max_completion: int) -> float:
    """Peak memory of a device: weights, adapter with its optimizer, and the larger of the cache and a backward pass.

    Activations of the live layer: 34 bytes a token and unit of width (Korthikanti et al., arXiv 2205.05198).
    """
    recipe = variant.recipe
    at_once = recipe.device_batch_size or recipe.rollouts_per_step
    length = load.prompt + max_completion
    weights = shape.parameters * shape.bytes_per_weight + 16 * shape.adapter(recipe.lora_rank or 0)
    cache = recipe.rollouts_per_step * length * shape.kv_width * shape.layers * shape.bytes_per_weight
    kept = at_once * length * shape.hidden * shape.layers * shape.bytes_per_weight
    live = 34 * at_once * length * shape.hidden + at_once * max_completion * shape.vocabulary * 4
    return weights + max(cache, kept + live)


def seconds_by_default(shape: Shape, variant: Variant, load: Load, hardware: str) -> tuple[float, float]:
    """The shortest and the longest time of the training on hardware of which nothing has been measured."""
    peak, bandwidth = next((figures for name, figures in GPUS.items() if name in hardware.upper()), CPU)
    recomputes = peak != CPU[0]
    decoded = load.completion, float(load.longest)
    reading = shape.parameters * shape.bytes_per_weight / (0.6 * bandwidth)
    times = []
    for used, overhead, tokens in zip(reversed(USED), SECONDS_A_LAYER, decoded, strict=True):
        computing = flops(shape, variant, load, recomputes) / (peak * used)
        times.append(computing + variant.recipe.steps * tokens * (reading + shape.layers * overhead))
    return times[0], times[1]


@dataclass(frozen=True)
class Measured:
    """A training that was run: what it took, for plans of others."""

    hardware: str
    base: str
    trainer: str
    kl: bool
    steps: int
    tokens: int
    seconds: float


def seconds_by_measurement(
    runs: Sequence[Measured], variant: Variant, load: Load, hardware: str, base: str, trainer: str
) -> tuple[float, float] | None:
    """The same from trainings of this base policy on this kind of hardware; None where there is none.

    Seconds a step are fitted as proportional to generated tokens a step, a half of them fixed; the range is that of the
    runs around it, and at most a factor of `CALIBRATED_SPREAD`.
    """
    alike = [run for run in runs if (run.hardware, run.base, run.trainer) == (hardware, base, trainer)]
    alike = [run for run in alike if run.kl == (variant.kl_beta > 0)] or alike
    if not alike:
        return None
    tokens = variant.recipe.rollouts_per_step * load.completion
    scaled = [run.seconds / run.steps * (0.5 + 0.5 * tokens / (run.tokens / run.steps)) for run in alike]
    middle, reach = float(np.median(scaled)), CALIBRATED_SPREAD**0.5
    low, high = (float(np.clip(q, middle / reach, middle * reach)) for q in np.quantile(scaled, (0.05, 0.95)))
    margin = 1.15
    low, high = min(low, middle / margin), max(high, middle * margin)
    return low * variant.recipe.steps, high * variant.recipe.steps
