"""A language model is sampled from its own distribution, row by row, and its KL to the base is measured."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from scipy.stats import chisquare
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from grpo_assets.domain.specs import Recipe, Sampling
from grpo_assets.runtime import language_model
from grpo_assets.runtime.rollouts import evaluate, roll_out
from grpo_assets_tests.builders import task_row, training

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)


@pytest.fixture(scope="module")
def adapter(quick_policy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter that changes the model a little."""
    folder = tmp_path_factory.mktemp("adapter")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_pretrained(quick_policy)
        model = get_peft_model(model, LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False))
        model.peft_config["default"].base_model_name_or_path = "base"
        model.save_pretrained(folder, save_embedding_layers=False)
    return folder


def next_token_chances(folder: Path, prompt: str, sampling: Sampling) -> np.ndarray:
    policy = language_model.load(folder, "base", sampling)
    ids = policy.tokenizer(prompt, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = policy.model(ids).logits[0, -1].double() / sampling.temperature
    return torch.softmax(logits, dim=0).numpy()


@pytest.mark.parametrize("sampling", [SAMPLING, Sampling(temperature=0.5, max_completion_tokens=1)])
def test_the_first_token_has_the_chances_of_the_softmax(
    quick_policy: Path, tasks: list[dict], sampling: Sampling
) -> None:
    """Over 4,000 samples each token's count is within five standard errors of its chance."""
    sampling = sampling.model_copy(update={"max_completion_tokens": 1})
    chances = next_token_chances(quick_policy, tasks[0]["prompt"], sampling)
    policy = language_model.load(quick_policy, "base", sampling)

    said = [c.text for c in policy.complete(tasks[:1], 4000, "sampled", "test")[0]]

    for token, index in policy.tokenizer.get_vocab().items():
        text = "" if token.startswith("<") else token
        if text:
            error = np.sqrt(chances[index] * (1 - chances[index]) / 4000)
            assert abs(said.count(text) / 4000 - chances[index]) <= 5 * error + 1e-9


def test_top_k_keeps_the_likeliest_tokens(quick_policy: Path, tasks: list[dict]) -> None:
    """With top-k of 1 a sample is the greedy completion."""
    narrow = language_model.load(quick_policy, "base", SAMPLING.model_copy(update={"top_k": 1}))

    assert narrow.complete(tasks, 1, "sampled", "x") == narrow.complete(tasks, 1, "greedy", "x")


def test_top_p_keeps_the_nucleus(quick_policy: Path, tasks: list[dict]) -> None:
    """With a tiny top-p only the likeliest token is left."""
    narrow = language_model.load(quick_policy, "base", SAMPLING.model_copy(update={"top_p": 1e-6}))

    assert narrow.complete(tasks, 1, "sampled", "x") == narrow.complete(tasks, 1, "greedy", "x")


def test_a_completion_does_not_depend_on_the_others(quick_policy: Path, tasks: list[dict]) -> None:
    """Adding tasks and samples leaves a task's first samples as they were."""
    policy = language_model.load(quick_policy, "base", SAMPLING)
    same_length = [task for task in tasks if task["family"] != "sort"]

    few = policy.complete(same_length[2:4], 2, "sampled", "stream")
    many = policy.complete(same_length, 4, "sampled", "stream")

    assert [[c.text for c in group] for group in few] == [[c.text for c in group[:2]] for group in many[2:4]]


def test_padding_does_not_change_what_is_said(quick_policy: Path, tasks: list[dict]) -> None:
    """A short prompt beside a longer one is completed as it is alone."""
    policy = language_model.load(quick_policy, "base", SAMPLING)
    short = next(task for task in tasks if task["family"] == "rev")
    long = next(task for task in tasks if task["family"] == "sort")

    alone = policy.complete([short], 4, "sampled", "stream")[0]
    beside = policy.complete([short, long], 4, "sampled", "stream")[0]

    assert [c.text for c in alone] == [c.text for c in beside]


def test_truncation_and_token_counts(quick_policy: Path, tasks: list[dict]) -> None:
    """A completion is cut exactly when no end token came within the budget, which the end token counts to."""
    policy = language_model.load(quick_policy, "base", SAMPLING.model_copy(update={"max_completion_tokens": 3}))

    completions = [c for group in policy.complete(tasks, 4, "sampled", "x") for c in group]

    assert {c.truncated for c in completions} == {True, False}
    assert all(c.token_count == 3 for c in completions if c.truncated)
    assert all(1 <= c.token_count <= 3 for c in completions)
    assert all(len(c.text) <= c.token_count - (not c.truncated) for c in completions)


def test_the_base_has_no_divergence_from_itself(quick_policy: Path, tasks: list[dict]) -> None:
    """The KL of the untrained policy is zero."""
    policy = language_model.load(quick_policy, "base", SAMPLING)

    assert {row["kl_to_base"] for row in evaluate(policy, tasks[:4], 2)} == {0.0}


def test_the_divergence_of_an_adapter_is_the_expected_log_ratio(
    quick_policy: Path, adapter: Path, tasks: list[dict]
) -> None:
    """The measured KL of one-token completions is sum p log(p/q) of the two next-token distributions."""
    sampling = SAMPLING.model_copy(update={"max_completion_tokens": 1})
    policy = language_model.load(quick_policy, "base", sampling, adapter)
    ids = policy.tokenizer(tasks[0]["prompt"], return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        now = torch.log_softmax(policy.model(ids).logits[0, -1], dim=0)
        with policy.model.disable_adapter():
            base = torch.log_softmax(policy.model(ids).logits[0, -1], dim=0)
    expected = float((now.exp() * (now - base)).sum())

    [row] = roll_out(policy, tasks[:1], 1, "sampled", "x")

    assert expected > 0.01
    assert row["kl_to_base"] == pytest.approx(expected, rel=1e-4)


def test_switching_adapters_leaves_the_base_as_it_was(quick_policy: Path, adapter: Path, tasks: list[dict]) -> None:
    """The base is loaded once; after an adapter was on it, it says what it said before."""
    before = language_model.load(quick_policy, "base", SAMPLING).complete(tasks[:6], 2, "sampled", "x")

    adapted = language_model.load(quick_policy, "base", SAMPLING, adapter).complete(tasks[:6], 2, "sampled", "x")
    after = language_model.load(quick_policy, "base", SAMPLING).complete(tasks[:6], 2, "sampled", "x")
    again = language_model.load(quick_policy, "base", SAMPLING, adapter).complete(tasks[:6], 2, "sampled", "x")

    assert before == after
    assert adapted == again
    assert adapted != before


@pytest.fixture(scope="module")
def wide_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model with 160 tokens, all of them likely: more than the 50 that a library's default keeps."""
    folder = tmp_path_factory.mktemp("wide")
    vocabulary = {"<end>": 0, **{chr(0x4E00 + i): i + 1 for i in range(159)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=160,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=32,
            eos_token_id=0,
            pad_token_id=0,
            bos_token_id=None,
            initializer_range=0.5,
        )
        LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def test_pilots_training_and_evaluation_sample_from_one_distribution(wide_policy: Path, tmp_path: Path) -> None:
    """First tokens of our sampler and of TRL's agree with the softmax, by chi-square, over a wide vocabulary."""
    from grpo_assets.runtime.trl_training import train_trl

    sampling = Sampling(temperature=0.8, max_completion_tokens=1)
    task = task_row(prompt=chr(0x4E00), answer="x")
    chances = next_token_chances(wide_policy, task["prompt"], sampling)
    policy = language_model.load(wide_policy, "wide", sampling)
    ours = [c.text for c in policy.complete([task], 8000, "sampled", "test")[0]]
    recipe = Recipe(steps=4, rollouts_per_step=2000, learning_rate=1e-12, lora_rank=1)
    spec = training([task], recipe, group_size=2000)
    spec = dataclasses.replace(spec, sampling=sampling)
    said: list[str] = []

    def collect(line: dict) -> None:
        rows = (tmp_path / "state" / "last_rollouts.jsonl").read_text().splitlines()
        said.extend(json.loads(row)["completion"] for row in rows)

    for name in ("state", "out"):
        (tmp_path / name).mkdir()
    train_trl(spec, wide_policy, tmp_path / "out", tmp_path / "state", collect)

    assert len(said) == len(ours) == 8000
    assert (chances > 1e-3).sum() > 50
    for sample in (ours, said):
        assert _fits(sample, chances)


def _fits(sample: list[str], chances: np.ndarray) -> bool:
    """Whether counts of tokens agree with their chances; rare tokens are taken together."""
    counts = np.array([sample.count("" if i == 0 else chr(0x4E00 + i - 1)) for i in range(len(chances))])
    common = chances * len(sample) >= 5
    observed = [*counts[common], counts[~common].sum()]
    expected = [*(chances[common] * len(sample)), chances[~common].sum() * len(sample)]
    return chisquare(observed, np.array(expected) * sum(observed) / sum(expected)).pvalue > 1e-4
