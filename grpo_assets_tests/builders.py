"""Small values for tests: each builder gives one that is valid, and keywords replace parts of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import settings

from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.rewards import REWARDS
from grpo_assets.domain.specs import Catalog, Experiment, GoldCase, LoadedReward, Policy, Recipe, Sampling, Suite
from grpo_assets.runtime.training import Training

LAW = settings(derandomize=True, max_examples=50, deadline=None)
"""How hypothesis checks a law: the same examples each time, and few of them."""


def task_row(name: str = "rev-012", **parts: Any) -> dict[str, Any]:
    """A row of `schemas.TASKS`."""
    row = {
        "task_id": name,
        "task_key": fingerprint(name),
        "prompt": f"{name}=",
        "answer": "210",
        "family": "rev",
        "candidates": ["012"],
        "source": "builders",
        "licence": "Apache-2.0",
        "verification": "exact",
        "tests": None,
        "entry": None,
        "seconds": 2.0,
        "constant_checks": 0,
        "cluster": f"cluster of {name}",
        "split": "train",
    }
    return {**row, **parts}


def rollout_row(task: str = "rev-012", index: int = 0, **parts: Any) -> dict[str, Any]:
    """A row of `schemas.ROLLOUTS`: a sampled pass, outside training."""
    row = {
        "step": None,
        "task_id": task,
        "task_key": fingerprint(task),
        "rollout_index": index,
        "decoding": "sampled",
        "prompt": f"{task}=",
        "messages": None,
        "answer": "210",
        "completion": "210",
        "prompt_tokens": 8,
        "token_count": 4,
        "truncated": False,
        "finish_reason": "end_token",
        "outcome": "pass",
        "reason": "exact_match",
        "checks_passed": 3,
        "checks": 3,
        "constant_checks": 0,
        "shown_passed": 0,
        "shown": 0,
        "wall_seconds": None,
        "cpu_seconds": None,
        "rewards": {},
        "kl_to_base": 0.0,
    }
    return {**row, **parts}


def group_rows(task: str, outcomes: str, **parts: Any) -> list[dict[str, Any]]:
    """The rollouts of one prompt, one for each letter: (p)ass, (f)ail or (n)o verdict."""
    words = {"p": "pass", "f": "fail", "n": "no_verdict"}
    return [rollout_row(task, index, outcome=words[letter], **parts) for index, letter in enumerate(outcomes)]


def evaluation_rows(task: str, sampled: str, greedy: str = "p", **parts: Any) -> list[dict[str, Any]]:
    """The rollouts of one dev task: the sampled ones and the greedy ones, as letters."""
    return group_rows(task, sampled, **parts) + group_rows(task, greedy, decoding="greedy", **parts)


def statistics_row(name: str = "rev-012", fails: int = 4, passes: int = 4, **parts: Any) -> dict[str, Any]:
    """A row of `schemas.STATISTICS` of a prompt that was rewarded 0 or 1."""
    counts = {value: count for value, count in ((0.0, fails), (1.0, passes)) if count}
    rollouts = fails + passes
    rate = passes / rollouts if rollouts else None
    row = {
        "position": 0,
        "task_id": name,
        "task_key": fingerprint(name),
        "rollouts": rollouts,
        "scored": rollouts,
        "passes": passes,
        "pass_rate": rate,
        "reward_mean": rate,
        "reward_variance": None if rate is None else rate * (1 - rate),
        "informative": len(counts) == 2,
        "reward_values": list(counts),
        "reward_counts": list(counts.values()),
        "prompt_tokens": 8,
        "completion_tokens": 4.0,
        "longest_completion": 6,
    }
    return {**row, **parts}


def suite_dict(**parts: Any) -> dict[str, Any]:
    """The content of a suite's YAML file: a generated one."""
    return {"source": "digits", "seed": 1, "tasks": 60, **parts}


def file_suite_dict(**parts: Any) -> dict[str, Any]:
    """The content of the YAML file of a suite that is read from a file."""
    return {"source": "answers", "path": "tasks/own.jsonl", "licence": "CC0-1.0", "fields": {"task_id": "id"}, **parts}


def policy_dict(**parts: Any) -> dict[str, Any]:
    """The content of a policy's YAML file: a tabular one."""
    return {"kind": "tabular", "sampling": {"temperature": 1.0, "max_completion_tokens": 6}, **parts}


def built_policy_dict(**parts: Any) -> dict[str, Any]:
    """The content of the YAML file of a policy that is built."""
    return policy_dict(**{"kind": "built", "suite": "few", "pretraining": {"steps": 60}, **parts})


def experiment_dict(**parts: Any) -> dict[str, Any]:
    """The content of an experiment's YAML file; a mapping replaces keys of its section, not the section."""
    content: dict[str, Any] = {
        "suite": "few",
        "policy": "tabular",
        "trainer": "smoke",
        "pilot": {"samples_per_prompt": 8, "round": 1},
        "recipe": {"steps": 4, "rollouts_per_step": 8, "learning_rate": 0.5},
        "matrix": {
            "seeds": [1],
            "group_sizes": [4],
            "kl_betas": [0.0],
            "rewards": ["reward_v0_correctness"],
            "curricula": ["static"],
        },
        "evaluation": {"samples_per_task": 2},
        "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 1},
        "controls": "none",
    }
    for name, part in parts.items():
        merges = isinstance(part, Mapping) and name in content
        content[name] = {**content[name], **part} if merges else part
    return content


def trl_experiment_dict(**parts: Any) -> dict[str, Any]:
    """The content of the YAML file of an experiment that is trained with TRL."""
    recipe = {"lora_rank": 2, **parts.pop("recipe", {})}
    return experiment_dict(**{"policy": "built", "trainer": "trl", "recipe": recipe, **parts})


def experiment(**parts: Any) -> Experiment:
    """A valid experiment; keywords as in `experiment_dict`."""
    return Experiment.model_validate(experiment_dict(**parts))


def gold_case(**parts: Any) -> dict[str, Any]:
    """The content of a gold case: a right answer, worth 1."""
    case = {"prompt": "rev 012=", "answer": "210", "completion": "210", "outcome": "pass", "reward": 1.0}
    return {**case, **parts}


def declared_reward(name: str = "brevity", **parts: Any) -> dict[str, Any]:
    """The content of a reward that an experiment declares."""
    return {"name": name, "path": f"own_rewards:{name}", "gold": [gold_case()], **parts}


def loaded_reward(name: str = "brevity", version: str = "1" * 64, gold: Sequence[GoldCase] = ()) -> LoadedReward:
    """A reward with a version, and a function that nothing asks."""
    return LoadedReward(f"own_rewards:{name}", gold, version, len)


def catalog(**parts: Any) -> Catalog:
    """A catalog of specs from their contents by name; a keyword replaces entries of its kind."""
    contents: dict[str, dict[str, Any]] = {
        "suites": {"few": suite_dict(), "own": file_suite_dict()},
        "policies": {"tabular": policy_dict(), "built": built_policy_dict()},
        "experiments": {"mini": experiment_dict()},
        "suite_sources": {"own": "5" * 64},
        "policy_sources": {},
        "libraries": {
            "numpy": "2",
            "scipy": "1",
            "statsmodels": "0",
            "torch": "2",
            "transformers": "5",
            "trl": "1",
            "peft": "0",
            "math-verify": "0",
            "python": "3",
        },
        "rewards": {name: loaded_reward(name) for name in REWARDS},
    }
    for kind, entries in parts.items():
        contents[kind] |= entries
    return Catalog(
        suites={name: Suite.model_validate(spec) for name, spec in contents["suites"].items()},
        policies={name: Policy.model_validate(spec) for name, spec in contents["policies"].items()},
        experiments={name: Experiment.model_validate(spec) for name, spec in contents["experiments"].items()},
        suite_sources=contents["suite_sources"],
        policy_sources=contents["policy_sources"],
        libraries=contents["libraries"],
        rewards=contents["rewards"],
    )


def variant(**parts: Any) -> Variant:
    """A variant: that of `experiment_dict`."""
    cell = {**AXES, "recipe": Recipe(steps=4, rollouts_per_step=8, learning_rate=0.5)}
    return Variant(**{**cell, **parts})


AXES: dict[str, Any] = {
    "seed": 1,
    "group_size": 4,
    "kl_beta": 0.0,
    "reward": "reward_v0_correctness",
    "curriculum": "static",
}
"""The axes of `variant`."""


def table_row(name: str = "a", **parts: Any) -> dict[str, Any]:
    """A row of the experiment table: a variant that was trained and evaluated."""
    row = {
        "variant": name,
        **AXES,
        "configuration": name,
        "control": False,
        "status": "complete",
        "reason": None,
        "checkpoint": fingerprint(name),
        "reward_version": "0" * 12,
        "dev_pass_rate": 0.5,
        "dev_pass_rate_interval": [0.4, 0.6],
        "dev_greedy_pass_rate": 0.5,
        "dev_greedy_pass_rate_interval": [0.4, 0.6],
        "kl_to_base": 0.1,
        "last_reward_mean": 0.5,
        "groups": 40,
        "informative_groups": 30,
        "predicted_informative_groups": 28.0,
        "informative_by_tenth": [[0.7, 0.75]],
        "pilot_aged": False,
        "informative_prompts_training": 20,
        "informative_prompts_final_step": 10,
        "warnings": [],
        "dev_troubles": [],
        "recipe": fingerprint("recipe"),
        "weights": fingerprint([name, "weights"]),
    }
    return {**row, **parts}


def training(tasks: Sequence[dict], recipe: Recipe, **axes: Any) -> Training:
    """A variant to train on these tasks, as often round as its visits ask for."""
    cell = variant(recipe=recipe, **axes)
    prompts = [tasks[visit % len(tasks)] for visit in range(cell.visits)]
    sampling = Sampling(temperature=1.0, max_completion_tokens=6)
    path = f"grpo_assets.domain.rewards:{cell.reward}"
    return Training(cell, sampling, prompts, "base", [0.5] * len(prompts), path)
