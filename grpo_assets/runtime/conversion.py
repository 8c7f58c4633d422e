"""Makes an ordinary, trainable Hugging Face folder of a model from elsewhere."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Policy
from grpo_assets.runtime.language_model import load_tokenizer
from grpo_assets.runtime.prompts import end_tokens


def convert(policy: Policy, source: Path | None, folder: Path) -> dict:
    """Write the model of a policy of kind `folder`, `hub` or `gguf` in its dtype, with its tokenizer.

    Args:
        source: what the policy's path names; None for a hub's.

    Returns:
        facts: parameters, dtype, context length, end tokens, and whether there is a chat template.

    Raises:
        UserMistake: when there is no such model or no tokenizer.
    """
    model, tokenizer = _read(policy, source)
    ends = end_tokens(model, tokenizer)
    model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=tokenizer.pad_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {
        "parameters": model.num_parameters(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "context": model.config.max_position_embeddings,
        "end_tokens": tokenizer.convert_ids_to_tokens(ends),
        "chat_template": tokenizer.chat_template is not None,
        "revision": policy.revision,
    }


def _read(policy: Policy, source: Path | None) -> tuple[Any, Any]:
    dtype = getattr(torch, policy.dtype or "float32")
    if policy.kind == "gguf":
        assert source is not None
        return _read_gguf(source, dtype)
    origin: str | Path | None = source or policy.path
    assert origin is not None
    try:
        model = AutoModelForCausalLM.from_pretrained(origin, revision=policy.revision or "main", dtype=dtype)
    except (OSError, ValueError) as error:
        raise UserMistake(f"{origin}: no language model: {error}\n  allowed: a causal language model") from error
    return model, load_tokenizer(origin, revision=policy.revision or "main")


def _read_gguf(file: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """A dense model of a GGUF file.

    transformers 5.24 marks what it reads from GGUF as quantized even after it has dequantized it, and then neither
    saves nor trains it; so its weights go into a model built from the config.
    """
    try:
        read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=dtype)
        tokenizer = load_tokenizer(file.parent, gguf_file=file.name)
    except (OSError, ValueError, KeyError) as error:
        raise UserMistake(f"{file}: cannot be read: {error}\n  allowed: a GGUF file of a known model") from error
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.load_state_dict(read.state_dict())
    model.generation_config = read.generation_config
    return model, tokenizer
