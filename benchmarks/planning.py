"""How long statistics, orders and plans take: `python benchmarks/planning.py`, on one core.

Statistics of 100,000 prompts with 8 rollouts each and their informative order at four group sizes; a plan of 10,000
variants over 500 prompts.
"""

import os
import resource
from time import perf_counter

import click
import numpy as np

from grpo_assets.domain.costs import Shape
from grpo_assets.domain.curriculum import curriculum
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.informativeness import fit_prior, value_counts
from grpo_assets.domain.planning import Circumstances, plan
from grpo_assets.domain.rollouts import prompt_statistics
from grpo_assets.domain.specs import Experiment

MATRIX = {
    "seeds": list(range(1250)),
    "group_sizes": [4, 8],
    "kl_betas": [0.0, 0.1],
    "rewards": ["reward_v0_correctness"],
    "curricula": ["informative", "random"],
}
EXPERIMENT = {
    "suite": "digits",
    "policy": "tiny-digits",
    "trainer": "trl",
    "pilot": {"samples_per_prompt": 8},
    "recipe": {"steps": 40, "rollouts_per_step": 64, "learning_rate": 1e-3, "lora_rank": 8},
    "matrix": MATRIX,
    "evaluation": {"samples_per_task": 4},
    "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 20},
}


def rollouts(prompts: int) -> tuple[list[dict], list[float]]:
    """Pilot rollouts of prompts whose pass rates are those of a real run, with their rewards."""
    generator = np.random.default_rng(0)
    passed = generator.binomial(1, generator.beta(0.35, 0.71, prompts)[:, None], (prompts, 8))
    rows = [
        {
            "task_id": str(prompt),
            "task_key": key,
            "rollout_index": index,
            "outcome": "pass" if passed[prompt, index] else "fail",
            "token_count": 100,
            "prompt_tokens": 50,
        }
        for prompt, key in enumerate(map(fingerprint, range(prompts)))
        for index in range(8)
    ]
    return rows, passed.ravel().astype(float).tolist()


@click.command()
def main() -> None:
    """Measure and print."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows, rewards = rollouts(100_000)
    started = perf_counter()
    statistics = prompt_statistics(rows, rewards)
    prior = fit_prior(value_counts(statistics))
    for group_size in (2, 4, 8, 16):
        curriculum(statistics, "informative", group_size, prior=prior)
    seconds = perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    click.echo(f"statistics and four orders of 100,000 prompts: {seconds:.1f} s, {memory:.2f} GB at the most")
    shape = Shape(10**8, 12, 768, 1536, 50_000, 2)
    around = Circumstances({"train": 500, "dev": 200, "heldout": 200}, 64, shape, "NVIDIA H100", "base")
    started = perf_counter()
    planned = plan(Experiment.model_validate(EXPERIMENT), {"reward_v0_correctness": statistics[:500]}, around)
    click.echo(f"a plan of {len(planned['variants']):,} variants: {perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
