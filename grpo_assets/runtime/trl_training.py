"""The real trainer: TRL's GRPOTrainer with a LoRA adapter; the reference of the KL is the base without the adapter.

The curriculum is written out as the dataset's row order, in one epoch and with shuffling off, since TRL shuffles by
default and replays the first epoch's order in later ones.
"""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import huggingface_hub.constants
import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOTrainer

from grpo_assets.domain.health import warnings
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.language_model import device, load_base, one_thread
from grpo_assets.runtime.prompts import completion_of, prompt_of, refuse_long_prompts
from grpo_assets.runtime.reports import write_json
from grpo_assets.runtime.rollouts import judged
from grpo_assets.runtime.training import WRITTEN, Report, Training, TrainingLog
from grpo_assets.runtime.training_state import drop_old, last_whole, mark_complete
from grpo_assets.runtime.trl_settings import config, lora

huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # TRL reports each trainer that is built

ADAPTER_FILES = {"adapter_model.safetensors", "adapter_config.json"}
SECONDS_BETWEEN_SAVES = 30.0
GRACE_SECONDS = 15.0  # Dagster waits 20 for a process that it has told to stop
INTERRUPTED = 130
REWARD_TOLERANCE = 1e-4
"""How far TRL's mean reward may be from that of the raw rollouts; it computes in float32."""


def train_trl(
    training: Training,
    base: Path,
    folder: Path,
    state: Path,
    report: Report,
    seconds_between_saves: float = SECONDS_BETWEEN_SAVES,
) -> dict:
    """Train an adapter; writes `adapter/` and the files of the training log.

    A training that was stopped goes on from its last saved state, and ends with the bytes of one that was not.

    Raises:
        FailedWork: when a step is unhealthy or the curriculum was not followed.
        KeyboardInterrupt: when it was told to stop; the state is saved.
    """
    saved, damages = last_whole(state)
    for damage in damages:
        report({"warning": damage})
    log = TrainingLog(training, state, report, after_step=saved.step if saved else 0)
    model, tokenizer = load_base(base)
    refuse_long_prompts(model, tokenizer, training.prompts, training.sampling)
    reward = _Reward(training, log, tokenizer, model.generation_config.eos_token_id)
    saver = _Saver(state, seconds_between_saves)
    with one_thread(), _stop_on_signals(saver):
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward.score,
            args=config(training, state),
            train_dataset=visits_of(training, tokenizer),
            processing_class=tokenizer,
            peft_config=lora(training),
            callbacks=[_StepLog(reward, log), saver],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=str(saved.folder) if saved else None)
    if saver.stopped:
        raise KeyboardInterrupt
    facts = log.facts()
    _save_adapter(trainer.model, training.base_fingerprint, folder / "adapter")
    for name in WRITTEN:
        shutil.copy(state / name, folder / name)
    return {**facts, "warnings": warnings(facts)}


def visits_of(training: Training, tokenizer: Any) -> Dataset:
    """The visiting order as a dataset: one row a visit, its place in `visit`; no column has a name of TRL's."""
    prompts = (prompt_of(tokenizer, task, training.sampling) for task in training.prompts)
    return Dataset.from_list([{"prompt": prompt, "visit": visit} for visit, prompt in enumerate(prompts)])


class _Reward:
    """The reward as TRL calls it; it keeps the rows of the step, since TRL's own metrics lose the groups."""

    def __init__(self, training: Training, log: TrainingLog, tokenizer: Any, ends: Sequence[int]) -> None:
        self._training, self._log = training, log
        self._tokenizer, self._ends = tokenizer, ends
        self.rows: list[dict] = []
        self.mean: float | None = None
        self.called_at = self.returned_at = 0.0

    def score(self, completion_ids: list[list[int]], visit: list[int], **_: Any) -> list[float | None]:
        """Rewards of one generation batch, in its order, None where there is no verdict.

        Raises:
            FailedWork: when the batch is not what the curriculum has next.
        """
        self.called_at = perf_counter()
        size = self._training.variant.group_size
        in_order = sorted(range(len(visit)), key=lambda i: visit[i])
        self._check_order([visit[i] for i in in_order])
        said = []
        for place, i in enumerate(in_order):
            completion = completion_of(self._tokenizer, completion_ids[i], self._ends)
            said.append((self._training.prompts[visit[i]], completion, place % size))
        self.rows = judged(said, "sampled", self._log.steps + 1)
        rewards = self._log.scored(self.rows)
        scored = [reward for reward in rewards if reward is not None]
        self.mean = sum(scored) / len(scored) if scored else None
        by_place = dict(zip(in_order, rewards, strict=True))
        self.returned_at = perf_counter()
        return [by_place[i] for i in range(len(visit))]

    def _check_order(self, visits: list[int]) -> None:
        first = self._log.steps * self._training.groups_per_step
        size = self._training.variant.group_size
        expected = [first + i // size for i in range(self._training.variant.recipe.rollouts_per_step)]
        for found, wanted in zip(visits, expected, strict=False):
            if found != wanted:
                tasks = self._training.prompts
                planned = tasks[wanted]["task_id"] if wanted < len(tasks) else "nothing more"
                raise FailedWork(
                    f"step {self._log.steps + 1}: the trainer visited {tasks[found]['task_id']} (position {found}), "
                    f"where the curriculum has {planned} (position {wanted})"
                )
        if len(visits) != len(expected):
            raise FailedWork(f"step {self._log.steps + 1}: {len(visits)} rollouts, where {len(expected)} were planned")


class _StepLog(TrainerCallback):
    """Writes the lines of a step when TRL logs it."""

    def __init__(self, reward: _Reward, log: TrainingLog) -> None:
        self._reward, self._log = reward, log
        self._began = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called before generation."""
        self._began = perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict | None = None, **_: Any) -> None:
        """Called once a step, and once more at the end with a summary that has no `loss`.

        Raises:
            FailedWork: when TRL trained on other rewards than it was given.
        """
        if not logs or "loss" not in logs:
            return
        if self._reward.mean is not None and abs(logs["reward"] - self._reward.mean) > REWARD_TOLERANCE:
            ours, theirs = self._reward.mean, logs["reward"]
            raise FailedWork(f"step {self._log.steps + 1}: TRL has a mean reward of {theirs}, the rollouts {ours}")
        cost = {
            "trained_tokens": int(logs["num_tokens"]),
            "seconds_generation": round(self._reward.called_at - self._began, 4),
            "seconds_reward": round(self._reward.returned_at - self._reward.called_at, 4),
            "seconds_update": round(perf_counter() - self._reward.returned_at, 4),
        }
        if device() == "cuda":
            cost["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
        self._log.step(self._reward.rows, logs["loss"], logs.get("kl"), logs["grad_norm"], cost)


class _Saver(TrainerCallback):
    """Saves the state now and then, and when it is told to stop."""

    def __init__(self, state: Path, seconds_between_saves: float) -> None:
        self._state, self._seconds = state, seconds_between_saves
        self._saved = perf_counter()
        self.stopped = False

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called after each optimizer step."""
        if self.stopped:
            control.should_training_stop = True
        control.should_save = self.stopped or perf_counter() - self._saved >= self._seconds

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called when a state has been written."""
        mark_complete(self._state / f"checkpoint-{state.global_step}")
        drop_old(self._state)
        self._saved = perf_counter()


@contextmanager
def _stop_on_signals(saver: _Saver) -> Iterator[None]:
    """Lets SIGINT or SIGTERM end the training after the running step, with its state saved.

    Where that step takes too long the process ends at once, with the state that was saved before.
    """
    too_long = threading.Timer(GRACE_SECONDS, os._exit, [INTERRUPTED])
    too_long.daemon = True

    def stop(number: int, frame: Any) -> None:
        if not saver.stopped:  # Ctrl-C comes twice: from the terminal, and passed on by Dagster
            saver.stopped = True
            too_long.start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        too_long.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _save_adapter(model: Any, base_fingerprint: str, folder: Path) -> None:
    """Write the adapter's weights and config; the base is named by its fingerprint, not by a path of this machine."""
    model.peft_config["default"].base_model_name_or_path = base_fingerprint
    model.save_pretrained(folder, save_embedding_layers=False)
    settings = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    settings["target_modules"].sort()  # PEFT writes a set, in another order each time
    write_json(folder / "adapter_config.json", settings)
    for file in folder.iterdir():
        if file.name not in ADAPTER_FILES:
            file.unlink()
