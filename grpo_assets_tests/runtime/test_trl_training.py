"""The TRL trainer trains an adapter, in the curriculum's order, and writes what it did."""

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from grpo_assets.domain.experiments import Variant
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.rollouts import correctness, groups, is_informative
from grpo_assets.domain.specs import Recipe, Sampling
from grpo_assets.runtime import language_model
from grpo_assets.runtime.store import file_hashes
from grpo_assets.runtime.training import Training, train
from grpo_assets.runtime.trl_training import config, lora

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)
RECIPE = Recipe(steps=3, rollouts_per_step=8, learning_rate=0.01, lora_rank=2)
VARIANT = Variant(seed=1, group_size=4, kl_beta=0.1, reward="reward_v1_shaped", curriculum="static")


def training(tasks: list[dict], recipe: Recipe = RECIPE, **axes: object) -> Training:
    variant = VARIANT.model_copy(update=axes)
    visits = recipe.steps * recipe.rollouts_per_step // variant.group_size
    return Training(variant, recipe, SAMPLING, [tasks[i % len(tasks)] for i in range(visits)])


def trained(spec: Training, base: Path, folder: Path) -> tuple[dict, list[dict]]:
    folder.mkdir()
    facts = train("trl", spec, base, folder)
    return facts, [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def run(quick_policy: Path, tasks: list[dict], tmp_path_factory: pytest.TempPathFactory):
    """One training: its folder, facts and metrics."""
    folder = tmp_path_factory.mktemp("trl") / "out"
    return folder, *trained(training(tasks), quick_policy, folder)


def test_every_adapter_weight_is_trained(run: tuple[Path, dict, list[dict]]) -> None:
    """LoRA starts with B at zero; after training no B is."""
    weights = load_file(run[0] / "adapter" / "adapter_model.safetensors")

    assert all(float(value.abs().max()) > 0 for name, value in weights.items() if "lora_B" in name)
    assert sum("lora_B" in name for name in weights) == 3 * 7


def test_the_first_kl_is_zero_and_later_ones_are_not(run: tuple[Path, dict, list[dict]]) -> None:
    """The reference is the base without the adapter."""
    assert abs(run[2][0]["kl"]) < 1e-4
    assert run[2][-1]["kl"] > 1e-4


def test_metrics_are_those_of_the_rollouts(run: tuple[Path, dict, list[dict]]) -> None:
    """The last line's numbers follow from the last rollouts."""
    folder, facts, metrics = run
    rows = [json.loads(line) for line in (folder / "last_rollouts.jsonl").read_text().splitlines()]
    rewards = [[row["rewards"]["reward_v1_shaped"] for row in group] for group in groups(rows)]

    assert [line["rollouts"] for line in metrics] == [8, 16, 24]
    assert metrics[-1]["reward_mean"] == pytest.approx(sum(map(sum, rewards)) / 8)
    assert metrics[-1]["informative_groups"] == sum(map(is_informative, rewards))
    assert facts["informative_prompts_final_step"] == sum(
        is_informative([correctness(row) for row in group]) for group in groups(rows)
    )
    assert facts["tokens"] == metrics[-1]["tokens"]


def test_the_last_rollouts_are_of_the_last_prompts_in_order(
    run: tuple[Path, dict, list[dict]], tasks: list[dict]
) -> None:
    """The last step visits the last prompts of the curriculum, a whole group each."""
    rows = [json.loads(line) for line in (run[0] / "last_rollouts.jsonl").read_text().splitlines()]

    expected = [task["task_key"] for task in training(tasks).prompts[-2:] for _ in range(4)]
    assert [row["task_key"] for row in rows] == expected
    assert {row["step"] for row in rows} == {3}


def test_the_same_variant_trains_to_the_same_adapter(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict], tmp_path: Path
) -> None:
    """Two trainings give the same bytes, and the same metrics but for the seconds."""
    _, metrics = trained(training(tasks), quick_policy, tmp_path / "out")

    assert file_hashes(tmp_path / "out" / "adapter") == file_hashes(run[0] / "adapter")
    assert [{**line, "seconds": 0} for line in metrics] == [{**line, "seconds": 0} for line in run[2]]


def test_the_adapter_loads_on_its_base(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict]
) -> None:
    """The trained policy samples, and diverges from the base."""
    policy = language_model.load(quick_policy, SAMPLING, run[0] / "adapter")

    completions = [c for group in policy.complete(tasks[:8], 2, "sampled", "x") for c in group]

    assert sum(c.kl_to_base or 0.0 for c in completions) > 0


def test_nothing_of_this_machine_is_in_the_adapter(run: tuple[Path, dict, list[dict]], quick_policy: Path) -> None:
    """The adapter's config names no path."""
    assert str(quick_policy) not in (run[0] / "adapter" / "adapter_config.json").read_text()
    assert {file.name for file in (run[0] / "adapter").iterdir()} == {
        "adapter_model.safetensors",
        "adapter_config.json",
    }


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"seed": 2}, "seed"),
        ({"group_size": 8}, "num_generations"),
        ({"kl_beta": 0.0}, "beta"),
        ({"recipe": {"learning_rate": 0.5}}, "learning_rate"),
        ({"recipe": {"steps": 5}}, "max_steps"),
        ({"recipe": {"rollouts_per_step": 16}}, "per_device_train_batch_size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_setting_bites_and_no_other(tasks: list[dict], tmp_path: Path, change: dict, setting: str) -> None:
    """Each axis and each recipe key changes its own argument of TRL, and what TRL derives from it."""
    derived = {"generation_batch_size"}
    recipe = RECIPE.model_copy(update=change.pop("recipe", {}))
    before = config(training(tasks), tmp_path).to_dict()

    after = config(training(tasks, recipe, **change), tmp_path).to_dict()

    assert {name for name in before if before[name] != after[name]} - derived == {setting}


def test_the_rank_bites(tasks: list[dict]) -> None:
    """The LoRA rank reaches PEFT."""
    assert lora(training(tasks)).r == 2


def test_a_training_that_diverges_fails(quick_policy: Path, tasks: list[dict], tmp_path: Path) -> None:
    """A KL term that overflows ends the training with the step and the number's name."""
    with pytest.raises(FailedWork, match=r"step \d: \w+ is (inf|nan); training has diverged"):
        trained(training(tasks, kl_beta=1e38), quick_policy, tmp_path / "out")
