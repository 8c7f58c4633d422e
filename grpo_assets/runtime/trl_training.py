"""The real trainer: TRL's GRPOTrainer with a LoRA adapter; the reference of the KL is the base without the adapter.

The curriculum is written out as the dataset's row order, in one epoch and with shuffling off, since TRL shuffles by
default and replays the first epoch's order in later ones.
"""

from pathlib import Path
from typing import Any

import huggingface_hub.constants
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.language_model import end_tokens, one_thread
from grpo_assets.runtime.rollouts import Completion, judged
from grpo_assets.runtime.training import Training, TrainingLog

huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # TRL reports each trainer that is built

ADAPTER_FILES = {"adapter_model.safetensors", "adapter_config.json"}


def train_trl(training: Training, base: Path, folder: Path) -> dict:
    """Train an adapter; writes `adapter/`, `metrics.jsonl` and `last_rollouts.jsonl`.

    Raises:
        FailedWork: when a number is not finite or training took other steps than planned.
    """
    tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    log = TrainingLog(training, folder)
    reward = _RecordingReward(training, log, end_tokens(model))
    with one_thread():
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward.score,
            args=config(training, folder / "trainer"),
            train_dataset=_visits(training),
            processing_class=tokenizer,
            peft_config=lora(training),
            callbacks=[_StepLog(reward, log)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    if trainer.state.global_step != training.recipe.steps:
        raise FailedWork(f"training took {trainer.state.global_step} of {training.recipe.steps} steps")
    _save_adapter(trainer.model, folder / "adapter")
    return log.finish()


def config(training: Training, scratch: Path) -> GRPOConfig:
    """The one place where our names become TRL's.

    A step is one generation batch of `rollouts_per_step` completions for every group size, so that group sizes
    are compared at the same number of rollouts and of optimizer steps.
    """
    variant, recipe, sampling = training.variant, training.recipe, training.sampling
    on_gpu = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(scratch),
        seed=variant.seed,
        num_generations=variant.group_size,
        beta=variant.kl_beta,
        max_steps=recipe.steps,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.rollouts_per_step,
        gradient_accumulation_steps=1,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_completion_length=sampling.max_completion_tokens,
        shuffle_dataset=False,
        num_train_epochs=1,
        disable_dropout=True,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=not on_gpu,
        bf16=on_gpu,
        gradient_checkpointing=on_gpu,
        dataloader_pin_memory=on_gpu,
    )


def lora(training: Training) -> LoraConfig:
    """LoRA on all linear layers, without dropout, so that the first KL to the base is zero."""
    rank = training.recipe.lora_rank
    return LoraConfig(
        r=rank,
        lora_alpha=2 * rank if rank else 0,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def _visits(training: Training) -> Dataset:
    """The visiting order as a dataset: one row a visit, its place in `visit`."""
    return Dataset.from_list(
        [{"prompt": task["prompt"], "visit": visit} for visit, task in enumerate(training.prompts)]
    )


class _RecordingReward:
    """The reward as TRL calls it; it keeps the rows of the step, since TRL's own metrics lose the groups."""

    def __init__(self, training: Training, log: TrainingLog, ends: list[int]) -> None:
        self._training, self._log, self._ends = training, log, set(ends)
        self.rows: list[dict] = []

    def score(
        self,
        completions: list[str],
        completion_ids: list[list[int]],
        visit: list[int],
        trainer_state: Any,
        **_: Any,
    ) -> list[float | None]:
        """Rewards of one generation batch, in its order."""
        size = self._training.variant.group_size
        by_visit = sorted(range(len(visit)), key=lambda i: visit[i])
        rows: list[dict] = [{} for _ in visit]
        for place, i in enumerate(by_visit):
            truncated = not completion_ids[i] or completion_ids[i][-1] not in self._ends
            completion = Completion(completions[i], len(completion_ids[i]), truncated)
            task = self._training.prompts[visit[i]]
            rows[i] = judged(task, completion, place % size, "sampled", trainer_state.global_step + 1)
        self.rows = [rows[i] for i in by_visit]
        rewards = dict(zip(by_visit, self._log.scored(self.rows), strict=True))
        return [rewards[i] for i in range(len(visit))]


class _StepLog(TrainerCallback):
    """Writes the line of a step when TRL logs it."""

    def __init__(self, reward: _RecordingReward, log: TrainingLog) -> None:
        self._reward, self._log = reward, log

    def on_log(self, args: Any, state: Any, control: Any, logs: dict | None = None, **_: Any) -> None:
        """Called once a step, and once more at the end with a summary that has no `loss`."""
        if logs and "loss" in logs:
            self._log.step(self._reward.rows, logs["loss"], logs.get("kl"), logs["grad_norm"])


def _save_adapter(model: Any, folder: Path) -> None:
    """Write the adapter's weights and config; the base is named by the manifest, not by a path of this machine."""
    model.peft_config["default"].base_model_name_or_path = "base_policy"
    model.save_pretrained(folder, save_embedding_layers=False)
    for file in folder.iterdir():
        if file.name not in ADAPTER_FILES:
            file.unlink()
