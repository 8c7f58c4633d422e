"""The smoke trainer is GRPO: its step is the gradient of its loss, and every axis changes what it does."""

import json
from pathlib import Path

import numpy as np
import pytest

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.specs import Recipe, Sampling
from grpo_assets.runtime import tabular
from grpo_assets.runtime.training import Training, train
from grpo_assets_tests import builders

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)
RECIPE = Recipe(steps=6, rollouts_per_step=8, learning_rate=0.5)


def training(tasks: list[dict], recipe: Recipe = RECIPE, **axes: object) -> Training:
    return builders.training(tasks, recipe, **{"kl_beta": 0.1, **axes})


def trained(spec: Training, folder: Path) -> tuple[dict, list[dict], dict]:
    base = folder / "base"
    base.mkdir(parents=True)
    tabular.build(base)
    out = folder / "out"
    out.mkdir()
    facts = train("smoke", spec, base, out, folder, lambda line: None)
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return facts, metrics, json.loads((out / "policy.json").read_text())["weights"]


UNREPEATABLE = {"seconds": 0, "peak_memory_bytes": 0}
"""What differs between two trainings of the same variant."""


def test_the_same_variant_trains_to_the_same_policy(tmp_path: Path, tasks: list[dict]) -> None:
    """Two trainings give equal weights and equal metrics, seconds apart."""
    first, second = (trained(training(tasks), tmp_path / name) for name in ("a", "b"))

    assert first[2] == second[2]
    assert [line | UNREPEATABLE for line in first[1]] == [line | UNREPEATABLE for line in second[1]]


@pytest.mark.parametrize(
    "axes",
    [{"seed": 2}, {"group_size": 8}, {"kl_beta": 0.0}, {"reward": "reward_v1_shaped"}],
    ids=lambda axes: next(iter(axes)),
)
def test_every_axis_bites(tmp_path: Path, tasks: list[dict], axes: dict) -> None:
    """A change of one axis changes the trained weights."""
    before = trained(training(tasks), tmp_path / "before")

    after = trained(training(tasks, **axes), tmp_path / "after")

    assert before[2] != after[2]


def test_the_order_of_the_prompts_bites(tmp_path: Path, tasks: list[dict]) -> None:
    """Another curriculum trains other weights."""
    assert trained(training(tasks), tmp_path / "a")[2] != trained(training(tasks[::-1]), tmp_path / "b")[2]


def test_metrics_have_a_line_a_step(tmp_path: Path, tasks: list[dict]) -> None:
    """Each line counts its step's rollouts and tokens, and the first KL is zero."""
    facts, metrics, _ = trained(training(tasks), tmp_path)

    assert [line["step"] for line in metrics] == [1, 2, 3, 4, 5, 6]
    assert [line["rollouts"] for line in metrics] == [8, 16, 24, 32, 40, 48]
    assert metrics[0]["kl"] == 0.0
    assert metrics[-1]["kl"] > 0.0
    assert all(line["groups"] == 2 for line in metrics)
    assert facts["tokens"] == metrics[-1]["tokens"]
    assert facts["informative_prompts_training"] >= facts["informative_prompts_final_step"]


def test_larger_groups_see_as_many_rollouts(tmp_path: Path, tasks: list[dict]) -> None:
    """Group sizes are compared at an equal rollout budget."""
    four = trained(training(tasks, group_size=4), tmp_path / "4")[0]
    eight = trained(training(tasks, group_size=8), tmp_path / "8")[0]

    assert four["rollouts"] == eight["rollouts"] == 48


def test_training_raises_the_chance_of_the_right_answer(tmp_path: Path, tasks: list[dict]) -> None:
    """After enough steps the mean pass chance is well above that of the start."""
    recipe = Recipe(steps=40, rollouts_per_step=16, learning_rate=1.0)
    trained(training(tasks, recipe, kl_beta=0.0), tmp_path)

    policy = tabular.load(tmp_path / "out", SAMPLING)
    start = tabular.TabularPolicy(SAMPLING)

    gain = np.mean([policy.chances(task)[0] - start.chances(task)[0] for task in tasks])
    assert gain > 0.1


def test_a_step_is_the_gradient_of_the_loss(tmp_path: Path, tasks: list[dict]) -> None:
    """One step moves each weight by -learning rate times the slope of the loss, by central differences."""
    from grpo_assets.domain.rollouts import advantages, correctness, groups

    prompts = [tasks[0], tasks[1]]
    recipe = Recipe(steps=1, rollouts_per_step=8, learning_rate=1e-3)
    _, _, weights = trained(training(prompts, recipe, kl_beta=0.0), tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "out" / "last_rollouts.jsonl").read_text().splitlines()]

    def loss(family: str, position: int, change: float) -> float:
        moved = {f: np.zeros(len(w)) for f, w in weights.items()}
        moved[family][position] += change
        policy, total = tabular.TabularPolicy(SAMPLING, moved), 0.0
        for task, group in zip(prompts, groups(rows), strict=True):
            chances, texts = policy.chances(task), tabular.texts_of(task)
            for row, advantage in zip(group, advantages([correctness(row) for row in group]), strict=True):
                total -= advantage * np.log(chances[texts.index(row["completion"])]) / 8
        return total

    for family, values in weights.items():
        for position, value in enumerate(values):
            slope = (loss(family, position, 1e-4) - loss(family, position, -1e-4)) / 2e-4
            assert value == pytest.approx(-1e-3 * slope, abs=1e-9)


def test_the_kl_term_alone_pulls_back_to_the_start(tmp_path: Path, tasks: list[dict]) -> None:
    """With a large beta the policy stays nearer to the start policy."""
    free = trained(training(tasks, kl_beta=0.0), tmp_path / "free")[1][-1]["kl"]
    held = trained(training(tasks, kl_beta=1.0), tmp_path / "held")[1][-1]["kl"]

    assert held < free


def test_a_training_that_diverges_fails_at_its_step(tmp_path: Path, tasks: list[dict]) -> None:
    """A number that is not finite ends the training with the step and the number's name."""
    with pytest.raises(FailedWork, match=r"step \d: \w+ is (inf|nan); training has diverged"):
        trained(training(tasks, kl_beta=1.7e308), tmp_path)
