"""Causal language models as policies: load, attach an adapter, sample, measure the KL to the base."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.utils import logging

from grpo_assets.domain.fingerprints import seed_of
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime.rollouts import Completion, Decoding

BATCH = 256

logging.disable_progress_bar()  # they would break the bar of the command line, once a load


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread: faster than two for small models, and the same sums on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def load(folder: Path, sampling: Sampling, adapter: Path | None = None) -> "LanguageModel":
    """Load a model folder, with an adapter on it where one is given.

    Raises:
        OSError: when a folder holds no model or no tokenizer.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return LanguageModel(model.to(device).eval(), tokenizer, sampling)


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model with its one sampler."""

    model: Any
    tokenizer: Any
    sampling: Sampling

    def complete(self, tasks: Sequence[dict], samples: int, decoding: Decoding, seed: str) -> list[list[Completion]]:
        """See `rollouts.Policy`."""
        requests = [(task, index) for task in tasks for index in range(samples)]
        completions: list[Completion] = []
        with one_thread(), torch.inference_mode():
            for start in range(0, len(requests), BATCH):
                completions += self._complete(requests[start : start + BATCH], decoding, seed)
        return [completions[i * samples : (i + 1) * samples] for i in range(len(tasks))]

    def _complete(self, requests: list[tuple[dict, int]], decoding: Decoding, seed: str) -> list[Completion]:
        prompts = self.tokenizer([task["prompt"] for task, _ in requests], return_tensors="pt", padding=True)
        prompts = prompts.to(self.model.device)
        processors = LogitsProcessorList()
        if decoding == "sampled":
            keys = [seed_of(seed, task["task_key"], index) for task, index in requests]
            processors = LogitsProcessorList([*warpers(self.sampling), GumbelNoise(keys)])
        output = self.model.generate(
            input_ids=prompts["input_ids"],
            attention_mask=prompts["attention_mask"],
            do_sample=False,
            logits_processor=processors,
            max_new_tokens=self.sampling.max_completion_tokens,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        said = output[:, prompts["input_ids"].shape[1] :]
        ends = torch.tensor(end_tokens(self.model), device=said.device)
        is_end = torch.isin(said, ends)
        ended = is_end.any(dim=1)
        counts = torch.where(ended, is_end.int().argmax(dim=1) + 1, said.shape[1])
        divergences = self._kl_to_base(output, prompts, counts)
        return [
            Completion(
                self.tokenizer.decode(tokens[: count - int(has_end)], skip_special_tokens=True),
                int(count),
                not has_end,
                divergence,
            )
            for tokens, count, has_end, divergence in zip(
                said, counts.tolist(), ended.tolist(), divergences, strict=True
            )
        ]

    def _kl_to_base(self, output: Any, prompts: Any, counts: torch.Tensor) -> list[float]:
        """KL to the base of each completion, summed over its positions, each exact over the vocabulary.

        Its mean over sampled completions estimates the KL of the sequences without bias and is never negative
        (Amini, Vieira and Cotterell, arXiv 2504.10637).
        """
        if not isinstance(self.model, PeftModel):
            return [0.0] * len(output)  # this is the base
        start = prompts["input_ids"].shape[1]
        length = output.shape[1] - start
        attended = torch.cat([prompts["attention_mask"], torch.ones_like(output[:, start:])], dim=1)
        now = self._log_chances(output, attended, start)
        with self.model.disable_adapter():
            base = self._log_chances(output, attended, start)
        by_position = (now.exp() * (now - base)).sum(dim=-1)
        said = torch.arange(length, device=output.device)[None, :] < counts[:, None]
        return (by_position * said).sum(dim=1).tolist()

    def _log_chances(self, output: Any, attended: torch.Tensor, start: int) -> torch.Tensor:
        positions = (attended.cumsum(dim=1) - 1).clamp(min=0)
        logits = self.model(input_ids=output, attention_mask=attended, position_ids=positions).logits
        return torch.log_softmax(logits[:, start - 1 : -1].float() / self.sampling.temperature, dim=-1)


def end_tokens(model: Any) -> list[int]:
    """All tokens that end a completion, as the generation settings of the model have them."""
    ends = model.generation_config.eos_token_id
    return ends if isinstance(ends, list) else [ends]


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
        return scores + torch.from_numpy(noise).to(scores)
