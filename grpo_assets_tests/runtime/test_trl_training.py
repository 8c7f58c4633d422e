"""The TRL trainer trains an adapter in the curriculum's order, goes on where it was stopped, and fails when unwell."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trl
from safetensors.torch import load_file
from transformers import AutoTokenizer

from grpo_assets.domain import rewards
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.domain.rollouts import correctness, groups, is_informative
from grpo_assets.domain.specs import Recipe, Sampling
from grpo_assets.domain.verdicts import Verdict
from grpo_assets.runtime import language_model, rollouts, trl_training
from grpo_assets.runtime.prompts import prompt_tokens
from grpo_assets.runtime.store import file_hashes
from grpo_assets.runtime.training import Training
from grpo_assets.runtime.trl_settings import config, lora
from grpo_assets.runtime.trl_training import train_trl
from grpo_assets_tests import builders

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)
RECIPE = Recipe(steps=4, rollouts_per_step=8, learning_rate=0.01, lora_rank=2)
UNREPEATABLE = (
    "seconds",
    "seconds_generation",
    "seconds_reward",
    "seconds_update",
    "peak_memory_bytes",
)


def training(tasks: list[dict], recipe: Recipe = RECIPE, **axes: object) -> Training:
    return builders.training(tasks, recipe, **{"kl_beta": 0.1, "reward": "reward_v1_shaped", **axes})


def trained(
    spec: Training, base: Path, folder: Path, report: Callable[[dict], None] = lambda line: None, **options: Any
) -> tuple[dict, list[dict]]:
    """Train in `folder`/out with the state in `folder`/state; gives facts and what is repeatable of the metrics."""
    (folder / "state").mkdir(parents=True, exist_ok=True)
    (folder / "out").mkdir(exist_ok=True)
    facts = train_trl(spec, base, folder / "out", folder / "state", report, **options)
    return facts, metrics_of(folder / "out")


def metrics_of(folder: Path) -> list[dict]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in UNREPEATABLE} for line in lines]


@pytest.fixture(scope="module")
def run(quick_policy: Path, tasks: list[dict], tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """One training that was not disturbed: its folder, facts and metrics."""
    folder = tmp_path_factory.mktemp("trl")
    return folder / "out", *trained(training(tasks), quick_policy, folder)


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

    assert [line["rollouts"] for line in metrics] == [8, 16, 24, 32]
    assert metrics[-1]["reward_mean"] == pytest.approx(sum(map(sum, rewards)) / 8)
    assert metrics[-1]["informative_groups"] == sum(map(is_informative, rewards))
    assert facts["informative_prompts_final_step"] == sum(
        is_informative([correctness(row) for row in group]) for group in groups(rows)
    )
    assert facts["tokens"] == metrics[-1]["tokens"]
    assert facts["informative_groups"] == sum(line["informative_groups"] for line in metrics)
    assert facts["groups"] == sum(line["groups"] for line in metrics) == 8


def test_every_group_is_kept_in_the_order_of_the_curriculum(
    run: tuple[Path, dict, list[dict]], tasks: list[dict]
) -> None:
    """groups.jsonl has the raw rewards of each visit, position by position the prompts of the plan."""
    visited = [json.loads(line) for line in (run[0] / "groups.jsonl").read_text().splitlines()]

    assert [group["task_id"] for group in visited] == [task["task_id"] for task in training(tasks).prompts]
    assert all(len(group["rewards"]) == 4 for group in visited)


def test_a_step_says_what_it_cost(run: tuple[Path, dict, list[dict]]) -> None:
    """Tokens, seconds of each phase and peak memory stand in each line, for the planner."""
    lines = [json.loads(line) for line in (run[0] / "metrics.jsonl").read_text().splitlines()]

    for line in lines:
        assert all(line[name] > 0 for name in UNREPEATABLE)
        assert line["trained_tokens"] > line["tokens"]


@pytest.mark.parametrize("stop_after", [1, 2, 4])
def test_a_stopped_training_ends_as_one_that_was_not(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict], tmp_path: Path, stop_after: int
) -> None:
    """Thrown out of any step and taken up again, it ends with the same adapter, metrics, groups and rollouts."""

    def pull_the_plug(line: dict) -> None:
        if line["step"] == stop_after:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        trained(training(tasks), quick_policy, tmp_path, pull_the_plug, seconds_between_saves=0)
    facts, metrics = trained(training(tasks), quick_policy, tmp_path, seconds_between_saves=0)

    saved = [folder.name for folder in (tmp_path / "state").glob("checkpoint-*")]
    assert saved or stop_after == 1
    assert (facts, metrics) == run[1:]
    assert file_hashes(tmp_path / "out" / "adapter") == file_hashes(run[0] / "adapter")
    for name in ("groups.jsonl", "last_rollouts.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (run[0] / name).read_bytes()


def test_a_training_stopped_after_its_last_step_has_nothing_left_to_do(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict], tmp_path: Path
) -> None:
    """Its last step was saved: taken up again it trains no more, and gives the same bytes."""
    trained(training(tasks), quick_policy, tmp_path, seconds_between_saves=0)
    shutil.rmtree(tmp_path / "out")
    steps: list[dict] = []

    facts, metrics = trained(training(tasks), quick_policy, tmp_path, steps.append)

    assert not steps
    assert (facts, metrics) == run[1:]
    assert file_hashes(tmp_path / "out" / "adapter") == file_hashes(run[0] / "adapter")


def test_a_training_goes_on_from_its_last_saved_state(quick_policy: Path, tasks: list[dict], tmp_path: Path) -> None:
    """Steps that were saved are not taken again."""

    def pull_the_plug(line: dict) -> None:
        if line["step"] == 3:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        trained(training(tasks), quick_policy, tmp_path, pull_the_plug, seconds_between_saves=0)
    steps: list[int] = []

    trained(training(tasks), quick_policy, tmp_path, lambda line: steps.append(line["step"]))

    assert steps == [3, 4]


def test_a_damaged_state_is_named_and_the_one_before_it_is_used(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict], tmp_path: Path
) -> None:
    """A file of the last state that is not what was saved: a warning, and the same result from the state before."""

    def pull_the_plug(line: dict) -> None:
        if line["step"] == 4:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        trained(training(tasks), quick_policy, tmp_path, pull_the_plug, seconds_between_saves=0)
    (tmp_path / "state" / "checkpoint-3" / "optimizer.pt").write_bytes(b"garbage")
    reports: list[dict] = []

    facts, _ = trained(training(tasks), quick_policy, tmp_path, reports.append)

    assert "the saved state of step 3 is left out: optimizer.pt is not the file" in reports[0]["warning"]
    assert [line["step"] for line in reports[1:]] == [3, 4]
    assert facts == run[1]
    assert file_hashes(tmp_path / "out" / "adapter") == file_hashes(run[0] / "adapter")


def test_a_full_disk_while_saving_leaves_the_last_good_state(
    run: tuple[Path, dict, list[dict]],
    quick_policy: Path,
    tasks: list[dict],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The training fails with the system's words, and goes on from the state before once there is room."""
    mark = trl_training.mark_complete

    def until_full(folder: Path) -> None:
        if folder.name == "checkpoint-3":
            (folder / "optimizer.pt").write_bytes(b"half")
            raise OSError(28, "No space left on device")
        mark(folder)

    monkeypatch.setattr(trl_training, "mark_complete", until_full)
    with pytest.raises(OSError, match="No space left on device"):
        trained(training(tasks), quick_policy, tmp_path, seconds_between_saves=0)
    monkeypatch.undo()
    reports: list[dict] = []

    facts, _ = trained(training(tasks), quick_policy, tmp_path, reports.append)

    assert "the saved state of step 3 is left out: it was not finished" in reports[0]["warning"]
    assert [line["step"] for line in reports[1:]] == [3, 4]
    assert facts == run[1]


def test_splitting_a_step_into_batches_changes_next_to_nothing(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict], tmp_path: Path
) -> None:
    """Eight completions at once or two at a time are the same step, rounding apart."""
    recipe = RECIPE.model_copy(update={"device_batch_size": 2})

    _, metrics = trained(training(tasks, recipe), quick_policy, tmp_path)

    assert [line["reward_mean"] for line in metrics] == [line["reward_mean"] for line in run[2]]
    for line, undivided in zip(metrics, run[2], strict=True):
        assert line["gradient_norm"] == pytest.approx(undivided["gradient_norm"], rel=1e-3)


def test_the_adapter_loads_on_its_base_and_on_no_other(
    run: tuple[Path, dict, list[dict]], quick_policy: Path, tasks: list[dict]
) -> None:
    """The trained policy diverges from the base; another base is refused by fingerprint."""
    policy = language_model.load(quick_policy, "base", SAMPLING, run[0] / "adapter")

    completions = [c for group in policy.complete(tasks[:8], 2, "sampled", "x") for c in group]

    assert sum(c.kl_to_base or 0.0 for c in completions) > 0
    with pytest.raises(FailedWork, match="trained on the base policy base, not on other"):
        language_model.load(quick_policy, "other", SAMPLING, run[0] / "adapter")


def test_nothing_of_this_machine_is_in_the_adapter(run: tuple[Path, dict, list[dict]], quick_policy: Path) -> None:
    """The adapter's config names no path."""
    assert str(quick_policy) not in (run[0] / "adapter" / "adapter_config.json").read_text()
    assert {file.name for file in (run[0] / "adapter").iterdir()} == {
        "adapter_model.safetensors",
        "adapter_config.json",
    }


def test_the_trainer_is_given_the_prompts_that_pilots_are(quick_policy: Path, tasks: list[dict]) -> None:
    """TRL makes the same token ids of a prompt as our sampler does."""
    tokenizer = AutoTokenizer.from_pretrained(quick_policy)
    trainer = trl.GRPOTrainer.__new__(trl.GRPOTrainer)
    trainer.processing_class = tokenizer

    theirs, _, _ = trainer._tokenize_prompts([task["prompt"] for task in tasks])

    assert theirs == [prompt_tokens(tokenizer, task, SAMPLING) for task in tasks]


CHANGES = [
    ({"seed": 2}, "seed"),
    ({"group_size": 8}, "num_generations"),
    ({"kl_beta": 0.0}, "beta"),
    ({"recipe": {"learning_rate": 0.5}}, "learning_rate"),
    ({"recipe": {"steps": 5}}, "max_steps"),
    ({"recipe": {"loss_type": "dr_grpo"}}, "loss_type"),
    ({"recipe": {"scale_rewards": "none"}}, "scale_rewards"),
    ({"recipe": {"epsilon_high": 0.28}}, "epsilon_high"),
]


@pytest.mark.parametrize(("change", "setting"), CHANGES, ids=[setting for _, setting in CHANGES])
def test_every_setting_bites_and_no_other(tasks: list[dict], tmp_path: Path, change: dict, setting: str) -> None:
    """Each axis and each recipe key changes its own argument of TRL, and nothing else."""
    axes = dict(change)
    recipe = RECIPE.model_copy(update=axes.pop("recipe", {}))
    before = config(training(tasks), tmp_path).to_dict()

    after = config(training(tasks, recipe, **axes), tmp_path).to_dict()

    assert {name for name in before if before[name] != after[name]} == {setting}


def test_batches_bite_together(tasks: list[dict], tmp_path: Path) -> None:
    """The rollouts of a step and what a device takes at once set the three sizes of a batch."""
    recipe = RECIPE.model_copy(update={"rollouts_per_step": 16, "device_batch_size": 4})

    args = config(training(tasks, recipe), tmp_path)

    assert (args.per_device_train_batch_size, args.gradient_accumulation_steps) == (4, 4)
    assert (args.generation_batch_size, args.steps_per_generation) == (16, 4)


def test_the_rank_and_alpha_bite(tasks: list[dict]) -> None:
    """LoRA's settings reach PEFT, and alpha is twice the rank where it is left out."""
    spec = training(tasks, RECIPE.model_copy(update={"lora_rank": 3}))
    with_alpha = training(tasks, RECIPE.model_copy(update={"lora_alpha": 1.0}))

    assert (lora(spec).r, lora(spec).lora_alpha) == (3, 6)
    assert (lora(with_alpha).r, lora(with_alpha).lora_alpha) == (2, 1.0)


def test_settings_that_hide_trouble_are_off(tasks: list[dict], tmp_path: Path) -> None:
    """No shuffling, no filter over bad losses, every step logged, dropout off."""
    args = config(training(tasks), tmp_path)

    assert (args.shuffle_dataset, args.logging_nan_inf_filter, args.disable_dropout) == (False, False, True)
    assert (args.logging_steps, args.num_train_epochs) == (1, 1)


def test_vllm_without_a_gpu_is_refused(tasks: list[dict], tmp_path: Path) -> None:
    """The message names the field and what is allowed."""
    with pytest.raises(UserMistake, match=r"recipe\.use_vllm: True"):
        config(training(tasks, RECIPE.model_copy(update={"use_vllm": True})), tmp_path)


def test_a_training_that_diverges_fails(quick_policy: Path, tasks: list[dict], tmp_path: Path) -> None:
    """A KL term that overflows ends the training with the step and the number's name."""
    with pytest.raises(FailedWork, match=r"step \d: \w+ is (inf|nan); training has diverged"):
        trained(training(tasks, kl_beta=1e38), quick_policy, tmp_path)


def test_a_shuffle_is_found_at_its_first_position(
    quick_policy: Path, tasks: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trainer that visits other prompts than the curriculum has next fails with both names."""
    monkeypatch.setattr(trl_training, "config", lambda *a: _with(config(*a), shuffle_dataset=True))

    with pytest.raises(FailedWork, match=r"step 1: the trainer visited \S+ \(position \d+\), where the curriculum has"):
        trained(training(tasks), quick_policy, tmp_path)


def test_a_training_that_ends_early_is_found(
    quick_policy: Path, tasks: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer visits than planned fail the variant, also when every one of them was right."""
    monkeypatch.setattr(trl_training, "config", lambda *a: _with(config(*a), max_steps=2))

    with pytest.raises(FailedWork, match="training visited 4 of 8 prompts of the curriculum"):
        trained(training(tasks), quick_policy, tmp_path)


def _with(args: Any, **changes: Any) -> Any:
    for name, value in changes.items():
        setattr(args, name, value)
    return args


def test_a_verifier_that_cannot_decide_fails_the_variant(
    quick_policy: Path, tasks: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rollouts without a verdict are no failures of the policy; too many of them end the training."""
    unsure = Verdict("no_verdict", "sandbox_failed", 0, 0)
    monkeypatch.setattr(rollouts, "verdicts", lambda asks: [unsure] * len(asks))

    with pytest.raises(FailedWork, match="step 1: 8 of 8 rollouts have no verdict, more than 10%"):
        trained(training(tasks), quick_policy, tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, [1.0]])
def test_a_reward_that_is_no_number_is_refused(
    quick_policy: Path, tasks: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: object
) -> None:
    """TRL would take NaN for no reward and infinity for a huge one; here each is an error with the reward's name."""

    def broken(rollout: object) -> object:
        return value

    monkeypatch.setattr(rewards, "reward_v1_shaped", broken)

    with pytest.raises(ValueError, match=r"reward broken returned .*; a finite number is needed"):
        trained(training(tasks), quick_policy, tmp_path)


def test_prompts_without_room_for_a_completion_are_refused_before_training(
    quick_policy: Path, tasks: list[dict], tmp_path: Path
) -> None:
    """The message has the ids of the tasks, and nothing was generated."""
    long = {**tasks[0], "task_id": "endless", "prompt": "rev " + "1" * 60 + "="}

    with pytest.raises(
        UserMistake, match=r"prompts too long for the model, in tokens: endless \(65\)[^$]*58, the context"
    ):
        trained(training([long, *tasks]), quick_policy, tmp_path)
    assert not (tmp_path / "state" / "metrics.jsonl").read_text()


def test_a_model_without_a_tokenizer_is_refused(quick_policy: Path, tasks: list[dict], tmp_path: Path) -> None:
    """The message says what the folder lacks."""
    shutil.copytree(quick_policy, tmp_path / "base")
    for file in (tmp_path / "base").glob("tokenizer*"):
        file.unlink()

    with pytest.raises(UserMistake, match="no tokenizer"):
        trained(training(tasks), tmp_path / "base", tmp_path)
