"""What our trainer adds to a step of bare TRL, side by side in one run.

    python benchmarks/step_time.py tiny-digits        # at most 10 ms a step
    python benchmarks/step_time.py smollm2 --steps 4  # at most 1.05 times

Both train the same variant with the same arguments; they take turns, and each figure is the median over the rounds
of the median step, the first step of each left out.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from transformers import PrinterCallback, TrainerCallback
from trl import GRPOTrainer

from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.specs import Recipe
from grpo_assets.runtime.language_model import load_base, one_thread
from grpo_assets.runtime.policies import build_policy
from grpo_assets.runtime.project import open_project
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.training import Training
from grpo_assets.runtime.trl_settings import config, lora
from grpo_assets.runtime.trl_training import train_trl, visits_of

SUITES = {"tiny-digits": "digits", "smollm2": "capitals"}
RECIPES = {
    "tiny-digits": {"rollouts_per_step": 64, "learning_rate": 3e-3, "lora_rank": 8},
    "smollm2": {"rollouts_per_step": 16, "learning_rate": 1e-4, "lora_rank": 8},
}


class Clock(TrainerCallback):
    """Seconds from the log of a step to that of the next, as our own metrics have them."""

    def __init__(self) -> None:
        """A clock without a step."""
        self.seconds: list[float] = []
        self._logged = perf_counter()

    def on_log(self, args: object, state: object, control: object, logs: dict | None = None, **_: object) -> None:
        """A step is done."""
        if logs and "loss" in logs:
            now = perf_counter()
            self.seconds.append(now - self._logged)
            self._logged = now


def bare(training: Training, base: Path) -> float:
    """Median step of a script that has TRL and a reward on the text, nothing else."""
    model, tokenizer = load_base(base)
    answers = [task["answer"] for task in training.prompts]
    clock = Clock()

    def reward(completions: list, visit: list[int], **_: object) -> list[float]:
        texts = [c if isinstance(c, str) else c[0]["content"] for c in completions]
        return [float(text == answers[i]) for text, i in zip(texts, visit, strict=True)]

    with tempfile.TemporaryDirectory() as state, one_thread():
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=config(training, Path(state)),
            train_dataset=visits_of(training, tokenizer),
            processing_class=tokenizer,
            peft_config=lora(training),
            callbacks=[clock],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return statistics.median(clock.seconds[1:])


def ours(training: Training, base: Path) -> float:
    """Median step of our trainer, all it writes included."""
    with tempfile.TemporaryDirectory() as folder:
        out, state = Path(folder) / "out", Path(folder) / "state"
        out.mkdir()
        state.mkdir()
        train_trl(training, base, out, state, lambda line: None)
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return statistics.median(line["seconds"] for line in lines[1:])


def main() -> None:
    """Print both medians, their difference and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", choices=sorted(SUITES))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    project = open_project()
    policy = project.catalog.policies[options.policy]
    name = SUITES[options.policy]
    tasks = read_tasks(name, project.catalog.suites[name], project.folder).rows
    recipe = Recipe(steps=options.steps, **RECIPES[options.policy])
    axes = {"seed": 1, "group_size": 8, "kl_beta": 0.02, "reward": "reward_v0_correctness", "curriculum": "static"}
    variant = Variant(**axes, recipe=recipe)
    prompts = [tasks[visit % len(tasks)] for visit in range(variant.visits)]
    with tempfile.TemporaryDirectory() as base:
        build_policy(project, options.policy, Path(base))
        path = project.catalog.rewards[variant.reward].path
        training = Training(variant, policy.sampling, prompts, "base", [0.5] * len(prompts), path)
        rounds = [(bare(training, Path(base)), ours(training, Path(base))) for _ in range(options.rounds)]
    theirs, own = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(f"bare TRL {theirs * 1000:.1f} ms a step, grpo_assets {own * 1000:.1f} ms")  # noqa: T201
    print(f"difference {(own - theirs) * 1000:.1f} ms, ratio {own / theirs:.3f}")  # noqa: T201


if __name__ == "__main__":
    main()
