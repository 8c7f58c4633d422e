"""Plain prompts and chats, all end tokens, and completions out of tokens."""

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime.language_model import load_base
from grpo_assets.runtime.prompts import completion_of, end_tokens, prompt_of, prompt_tokens
from grpo_assets_tests.builders import task_row

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)
TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}{% if add_generation_prompt %}={% endif %}"


@pytest.fixture
def tokenizer(quick_policy: Path) -> Any:
    return AutoTokenizer.from_pretrained(quick_policy)


def test_a_tokenizer_without_a_template_gets_the_plain_text(tokenizer: Any) -> None:
    """The prompt's own tokens and no others."""
    task = task_row(prompt="rev 482=")

    assert prompt_of(tokenizer, task, SAMPLING) == "rev 482="
    assert tokenizer.decode(prompt_tokens(tokenizer, task, SAMPLING)) == "rev 482="


def test_a_tokenizer_with_a_template_gets_a_chat(tokenizer: Any) -> None:
    """System prompt and task are messages, and the template opens the answer."""
    tokenizer.chat_template = TEMPLATE
    sampling = SAMPLING.model_copy(update={"system_prompt": "sort"})
    task = task_row(prompt="482")

    assert prompt_of(tokenizer, task, sampling) == [
        {"role": "system", "content": "sort"},
        {"role": "user", "content": "482"},
    ]
    assert tokenizer.decode(prompt_tokens(tokenizer, task, sampling)) == "sort 482 ="


def test_a_system_prompt_without_a_template_is_refused(tokenizer: Any) -> None:
    """It would be lost silently."""
    with pytest.raises(UserMistake, match=r"sampling\.system_prompt: 'sort' is not allowed"):
        prompt_of(tokenizer, task_row(), SAMPLING.model_copy(update={"system_prompt": "sort"}))


@pytest.mark.parametrize(("declared", "expected"), [(1, [1]), ([5, 1], [1, 5]), ([5], [1, 5]), (None, [1])], ids=str)
def test_all_end_tokens_end_a_completion(quick_policy: Path, tokenizer: Any, declared: Any, expected: list) -> None:
    """Those that the model declares and the tokenizer's own (huggingface/trl#7039)."""
    model = AutoModelForCausalLM.from_pretrained(quick_policy)
    model.generation_config = GenerationConfig(eos_token_id=declared)

    assert end_tokens(model, tokenizer) == expected


def test_a_model_that_never_ends_is_refused(quick_policy: Path, tokenizer: Any) -> None:
    """Without an end token every completion would be cut off."""
    model = AutoModelForCausalLM.from_pretrained(quick_policy)
    model.generation_config = GenerationConfig()
    tokenizer.eos_token = None

    with pytest.raises(UserMistake, match="no end token"):
        end_tokens(model, tokenizer)


def test_the_models_own_sampler_settings_do_not_hold(quick_policy: Path, tmp_path: Path, tokenizer: Any) -> None:
    """A penalty or a top-k in generation_config.json would make evaluation sample otherwise than training."""
    model = AutoModelForCausalLM.from_pretrained(quick_policy)
    model.generation_config = GenerationConfig(eos_token_id=1, top_k=20, repetition_penalty=1.5, do_sample=True)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)

    loaded, _ = load_base(tmp_path)

    assert loaded.generation_config.to_diff_dict().keys() <= {"eos_token_id", "pad_token_id", "transformers_version"}


@pytest.mark.parametrize(
    ("text", "ended", "expected"),
    [
        ("284", True, ("284", 4, False)),
        ("284", False, ("284", 3, True)),
        ("", True, ("", 1, False)),  # an end token at once
        ("", False, ("", 0, True)),
    ],
)
def test_a_completion_counts_its_end_token(tokenizer: Any, text: str, ended: bool, expected: tuple) -> None:
    """It is truncated exactly where no end token closes it."""
    tokens = tokenizer(text)["input_ids"] + ([tokenizer.eos_token_id] if ended else [])

    assert completion_of(tokenizer, tokens, [tokenizer.eos_token_id])[:3] == expected
