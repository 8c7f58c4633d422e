"""How a task becomes the prompt of a language model, and a model's tokens a completion.

Pilots, training and evaluation all go through here, so that they see the same prompts and the same ends.
"""

from collections.abc import Sequence
from typing import Any

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime.rollouts import Completion


def prompt_of(tokenizer: Any, task: dict, sampling: Sampling) -> str | list[dict]:
    """The prompt in TRL's form: a chat for a tokenizer with a chat template, else a plain text.

    Raises:
        UserMistake: for a system prompt without a chat template to put it in.
    """
    if tokenizer.chat_template is None:
        if sampling.system_prompt is not None:
            raise UserMistake(
                f"sampling.system_prompt: {sampling.system_prompt!r} is not allowed\n"
                "  allowed: nothing, since the tokenizer has no chat template"
            )
        return task["prompt"]
    system = [{"role": "system", "content": sampling.system_prompt}] if sampling.system_prompt else []
    return [*system, {"role": "user", "content": task["prompt"]}]


def prompt_tokens(tokenizer: Any, task: dict, sampling: Sampling) -> list[int]:
    """The token ids that the model is given, as TRL makes them."""
    prompt = prompt_of(tokenizer, task, sampling)
    if isinstance(prompt, str):
        return tokenizer(prompt)["input_ids"]
    chat = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=True, return_dict=True)
    return chat["input_ids"]


def refuse_long_prompts(model: Any, tokenizer: Any, tasks: Sequence[dict], sampling: Sampling) -> None:
    """Find prompts that leave no room for a whole completion, before anything is generated.

    TRL neither cuts nor drops them; it fails in the middle of a training (huggingface/trl#3180).

    Raises:
        UserMistake: with the ids of the tasks and their lengths.
    """
    context = model.config.max_position_embeddings
    room = context - sampling.max_completion_tokens
    lengths = {task["task_id"]: len(prompt_tokens(tokenizer, task, sampling)) for task in tasks}
    long = [f"{task_id} ({length})" for task_id, length in lengths.items() if length > room]
    if long:
        shown = ", ".join(long[:10]) + (f" and {len(long) - 10} more" if len(long) > 10 else "")
        raise UserMistake(
            f"prompts too long for the model, in tokens: {shown}\n"
            f"  allowed: {room}, the context of {context} less sampling.max_completion_tokens"
        )


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """All tokens that end a completion: those of the model's generation settings, and the tokenizer's own.

    Raises:
        UserMistake: when there is none, so that no completion would ever end.
    """
    declared = model.generation_config.eos_token_id
    ends = declared if isinstance(declared, list) else [declared]
    found = sorted({token for token in [*ends, tokenizer.eos_token_id] if token is not None})
    if not found:
        raise UserMistake("the model has no end token\n  allowed: an eos_token_id in generation_config.json")
    return found


def completion_of(
    tokenizer: Any, tokens: Sequence[int], ends: Sequence[int], kl_to_base: float | None = None
) -> Completion:
    """A completion from the tokens that a model said, up to and with the first end token.

    Args:
        tokens: without padding; truncated where the last one is no end token.
    """
    ended = bool(tokens) and tokens[-1] in ends
    text = tokenizer.decode(tokens[:-1] if ended else tokens, skip_special_tokens=True)
    return Completion(text, len(tokens), not ended, kl_to_base)
