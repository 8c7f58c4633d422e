"""Builds the policy `tiny-digits`: a small Llama that knows the answers but does not always give them.

It is pre-trained on prompts whose cluster the split function assigns to training, so that it has seen no dev and
no held-out prompt.
A share of the labels is wrong, by the first digit of the prompt: the chance of a right answer is then spread over
[0, 1], as that of a real model is.
The wrong label is the consistent answer of another rule, so beyond a share of one half it is the model's first
choice, and GRPO has to teach and not only to sharpen.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from grpo_assets.domain.specs import Pretraining
from grpo_assets.domain.tasks import Split, Task, cluster_of, split_of
from grpo_assets.runtime.digits import DIGITS_RULES, all_digits_tasks
from grpo_assets.runtime.language_model import one_thread

WRONG_SHARE = (0.05, 0.05, 0.1, 0.3, 0.4, 0.55, 0.65, 0.75, 0.85, 0.95)
"""Share of wrong labels by the first digit of the prompt."""

CHARACTERS = "0123456789 =aemorstvx"
PAD, END, UNKNOWN = "<pad>", "<end>", "<unknown>"
IGNORED = -100  # the label that the loss of transformers leaves out


def build(settings: Pretraining, shares: Mapping[Split, float], folder: Path) -> dict:
    """Pre-train the model and write an ordinary Hugging Face folder; the same settings give the same weights.

    Args:
        shares: those of the suite's splits.

    Returns:
        `parameters` and the mean `loss` of the last tenth of the steps, in nats a token.
    """
    tasks = [task for task in all_digits_tasks() if split_of(cluster_of(task.prompt), dict(shares)) == "train"]
    tokenizer = character_tokenizer()
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=96,
                intermediate_size=256,
                num_hidden_layers=3,
                num_attention_heads=4,
                max_position_embeddings=64,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
                bos_token_id=None,
            )
        )
        losses = _pretrain(model, tokenizer, tasks, settings)
    model.generation_config = GenerationConfig(pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    last = losses[-max(1, len(losses) // 10) :]
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "loss": round(sum(last) / len(last), 6),
    }


def character_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer with one token a character."""
    vocabulary = {token: index for index, token in enumerate([PAD, END, UNKNOWN, *CHARACTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _pretrain(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, tasks: list[Task], settings: Pretraining
) -> list[float]:
    right = [_example(tokenizer, task.prompt, task.answer) for task in tasks]
    wrong = [_example(tokenizer, task.prompt, _wrong_label(task)) for task in tasks]
    inputs, labels = (
        torch.stack([torch.stack([r[part], w[part]]) for r, w in zip(right, wrong, strict=True)]) for part in (0, 1)
    )
    shares = torch.tensor([WRONG_SHARE[int(_digits(task)[0])] for task in tasks])

    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=settings.learning_rate, total_steps=settings.steps)
    losses = []
    model.train()
    for _ in range(settings.steps):
        picked = torch.randint(len(tasks), (settings.batch_size,))
        side = (torch.rand(settings.batch_size) < shares[picked]).long()
        batch = inputs[picked, side]
        loss = model(input_ids=batch, attention_mask=batch != tokenizer.pad_token_id, labels=labels[picked, side]).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return losses


def _digits(task: Task) -> str:
    return task.prompt.split()[1].rstrip("=")


def _wrong_label(task: Task) -> str:
    return DIGITS_RULES[task.family][1](_digits(task))


def _example(tokenizer: PreTrainedTokenizerFast, prompt: str, label: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels of one example, each of the same length; the loss counts the answer and its end."""
    length = 14
    prompt_ids = tokenizer(prompt)["input_ids"]
    answer_ids = [*tokenizer(label)["input_ids"], tokenizer.eos_token_id]
    padding = length - len(prompt_ids) - len(answer_ids)
    return (
        torch.tensor([*[tokenizer.pad_token_id] * padding, *prompt_ids, *answer_ids]),
        torch.tensor([*[IGNORED] * (padding + len(prompt_ids)), *answer_ids]),
    )
