"""Causal language models as policies: load, attach an adapter, sample, measure the KL to the base."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.utils import logging

from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime.prompts import completion_of, end_tokens, prompt_tokens, refuse_long_prompts
from grpo_assets.runtime.rollouts import Completion, Decoding

TOKENS_AT_ONCE = 8192  # of prompts and completions in one batch of generation

logging.disable_progress_bar()  # they would break the bar of the command line, once a load
logging.set_verbosity_error()  # it warns of what is done on purpose: GGUF in another dtype, our own end tokens


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread: faster than two for small models, and the same sums on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device() -> str:
    """Where models run: the GPU that `CUDA_VISIBLE_DEVICES` leaves visible, else the CPU."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def load_base(folder: Path) -> tuple[Any, Any]:
    """The model and the tokenizer of a base policy's folder, in the dtype in which it was saved.

    Whatever else the model's own generation settings say, such as a penalty or a top-k, does not hold here:
    the policy's sampling is the whole sampler.

    Raises:
        UserMistake: when the folder holds no tokenizer or no model.
    """
    tokenizer = load_tokenizer(folder)
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    except (OSError, ValueError) as error:
        raise UserMistake(f"{folder}: no language model: {error}\n  allowed: a folder of Hugging Face's") from error
    model.generation_config = GenerationConfig(
        eos_token_id=end_tokens(model, tokenizer), pad_token_id=tokenizer.pad_token_id
    )
    return model, tokenizer


def load_tokenizer(source: str | Path, **options: Any) -> Any:
    """A tokenizer that pads on the left, with its end token where it has no pad token.

    Raises:
        UserMistake: when there is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left", **options)
    except (OSError, ValueError, TypeError) as error:
        raise UserMistake(f"{source}: no tokenizer: {error}\n  allowed: a model with its tokenizer's files") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


@dataclass
class _Base:
    """A base model that is loaded, and the adapter that is on it."""

    model: Any
    tokenizer: Any
    adapted: PeftModel | None = None


@lru_cache(maxsize=1)
def _loaded_once(folder: Path, fingerprint: str) -> _Base:
    model, tokenizer = load_base(folder)
    return _Base(model.to(device()).eval(), tokenizer)


def load(folder: Path, fingerprint: str, sampling: Sampling, adapter: Path | None = None) -> "LanguageModel":
    """The policy of a base folder, with an adapter on it where one is given.

    The base is loaded once a process and the adapters are switched on it, so an earlier policy of the same base
    must not be used once another one is loaded.

    Args:
        fingerprint: that of the base policy; an adapter names the one that it was trained on.

    Raises:
        FailedWork: for an adapter of another base.
    """
    base = _loaded_once(folder, fingerprint)
    if base.adapted is not None:
        base.model, base.adapted = base.adapted.unload(), None
    if adapter is None:
        return LanguageModel(base.model, base.tokenizer, sampling)
    named = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
    if named != fingerprint:
        raise FailedWork(f"{adapter}: it was trained on the base policy {named}, not on {fingerprint}")
    base.adapted = PeftModel.from_pretrained(base.model, adapter).eval()
    return LanguageModel(base.adapted, base.tokenizer, sampling)


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model with its one sampler."""

    model: Any
    tokenizer: Any
    sampling: Sampling

    def complete(self, tasks: Sequence[dict], samples: int, decoding: Decoding, seed: str) -> list[list[Completion]]:
        """See `rollouts.Policy`; prompts of like length go together."""
        refuse_long_prompts(self.model, self.tokenizer, tasks, self.sampling)
        prompts = [prompt_tokens(self.tokenizer, task, self.sampling) for task in tasks]
        requests = [(number, index) for number in range(len(tasks)) for index in range(samples)]
        by_length = sorted(requests, key=lambda request: len(prompts[request[0]]))
        said: dict[tuple[int, int], Completion] = {}
        with one_thread(), torch.inference_mode():
            while by_length:
                batch = by_length[-self._batch_size(len(prompts[by_length[-1][0]])) :]
                del by_length[-len(batch) :]
                seeds = [seed_of(seed, tasks[number]["task_key"], index) for number, index in batch]
                said |= zip(batch, self._complete([prompts[n] for n, _ in batch], decoding, seeds), strict=True)
        return [[said[number, index] for index in range(samples)] for number in range(len(tasks))]

    def _batch_size(self, longest_prompt: int) -> int:
        return max(1, TOKENS_AT_ONCE // (longest_prompt + self.sampling.max_completion_tokens))

    def _complete(self, prompts: list[list[int]], decoding: Decoding, seeds: list[int]) -> list[Completion]:
        inputs = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt").to(self.model.device)
        processors = LogitsProcessorList()
        if decoding == "sampled":
            processors = LogitsProcessorList([*warpers(self.sampling), GumbelNoise(seeds)])
        output = self.model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            do_sample=False,
            logits_processor=processors,
            max_new_tokens=self.sampling.max_completion_tokens,
        )
        start = inputs["input_ids"].shape[1]
        ends = self.model.generation_config.eos_token_id
        is_end = torch.isin(output[:, start:], torch.tensor(ends, device=output.device))
        counts = torch.where(is_end.any(dim=1), is_end.int().argmax(dim=1) + 1, output.shape[1] - start)
        divergences = self._kl_to_base(output, inputs["attention_mask"], counts)
        return [
            completion_of(self.tokenizer, tokens[:count].tolist(), ends, divergence)._replace(prompt_tokens=len(prompt))
            for prompt, tokens, count, divergence in zip(
                prompts, output[:, start:], counts.tolist(), divergences, strict=True
            )
        ]

    def _kl_to_base(self, output: Any, attended: Any, counts: torch.Tensor) -> list[float]:
        """KL to the base of each completion, summed over its positions, each exact over the vocabulary.

        Its mean over sampled completions estimates the KL of the sequences without bias and is never negative
        (Amini, Vieira and Cotterell, arXiv 2504.10637).
        """
        if not isinstance(self.model, PeftModel):
            return [0.0] * len(output)  # this is the base
        start = attended.shape[1]
        mask = torch.cat([attended, torch.ones_like(output[:, start:])], dim=1)
        now = self._log_chances(output, mask, start)
        with self.model.disable_adapter():
            base = self._log_chances(output, mask, start)
        by_position = (now.exp() * (now - base)).sum(dim=-1)
        said = torch.arange(output.shape[1] - start, device=output.device)[None, :] < counts[:, None]
        return (by_position * said).sum(dim=1).tolist()

    def _log_chances(self, output: Any, mask: torch.Tensor, start: int) -> torch.Tensor:
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        logits = self.model(
            input_ids=output,
            attention_mask=mask,
            position_ids=positions,
            logits_to_keep=output.shape[1] - start + 1,
        ).logits
        return torch.log_softmax(logits[:, :-1].float() / self.sampling.temperature, dim=-1)


def warpers(sampling: Sampling) -> list[LogitsProcessor]:
    """Temperature, top-k and top-p as Hugging Face's sampling applies them, in its order."""
    found: list[LogitsProcessor] = []
    if sampling.temperature != 1.0:
        found.append(TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k:
        found.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1.0:
        found.append(TopPLogitsWarper(sampling.top_p))
    return found


class GumbelNoise(LogitsProcessor):
    """Sampling as an argmax: adds Gumbel noise to the logits, from one generator for each row.

    The largest of logits plus standard Gumbel noise is a draw from their softmax (Gumbel, 1954), so a completion
    depends on its own row's seed and not on who shares the batch.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        """Noise for a batch whose rows have these seeds."""
        self._generators = [np.random.default_rng(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores of the next token with noise on them, shape (rows, vocabulary)."""
        noise = np.stack([generator.gumbel(size=scores.shape[-1]) for generator in self._generators])
        return scores.float() + torch.from_numpy(noise).to(scores.device, torch.float32)
