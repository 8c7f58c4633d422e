"""tiny-digits is built the same way each time, from training prompts only."""

from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_assets.domain.specs import Pretraining
from grpo_assets.domain.tasks import cluster_of, split_of
from grpo_assets.runtime import tiny_digits
from grpo_assets.runtime.store import file_hashes
from grpo_assets_tests.runtime.conftest import QUICK, SUITE


def test_the_same_settings_give_the_same_files(quick_policy: Path, tmp_path: Path) -> None:
    """Two builds are equal byte for byte."""
    tiny_digits.build(QUICK, SUITE.splits, tmp_path)

    assert file_hashes(tmp_path) == file_hashes(quick_policy)


def test_another_seed_gives_other_weights(quick_policy: Path, tmp_path: Path) -> None:
    """The seed of the pre-training bites."""
    tiny_digits.build(QUICK.model_copy(update={"seed": 7}), SUITE.splits, tmp_path)

    assert file_hashes(tmp_path)["model.safetensors"] != file_hashes(quick_policy)["model.safetensors"]


def test_no_dev_or_heldout_prompt_is_seen(tmp_path: Path, monkeypatch) -> None:
    """Pre-training is handed prompts whose split is training, of all 3,000."""
    seen: list[str] = []

    def spy(model: object, tokenizer: object, tasks: list, settings: object) -> list[float]:
        seen.extend(task.prompt for task in tasks)
        return [0.0]

    monkeypatch.setattr(tiny_digits, "_pretrain", spy)
    tiny_digits.build(Pretraining(steps=1), SUITE.splits, tmp_path)

    assert {split_of(cluster_of(prompt), dict(SUITE.splits)) for prompt in seen} == {"train"}
    assert 1700 < len(seen) < 1900


def test_the_folder_is_an_ordinary_one(quick_policy: Path) -> None:
    """Auto classes load it, the tokenizer has a token a character, and the end token is known."""
    tokenizer = AutoTokenizer.from_pretrained(quick_policy)
    model = AutoModelForCausalLM.from_pretrained(quick_policy)

    assert tokenizer.decode(tokenizer("sort 482=")["input_ids"]) == "sort 482="
    assert len(tokenizer("rev 482=")["input_ids"]) == 8
    assert tokenizer.unk_token_id not in tokenizer("max rev sort 0123456789=")["input_ids"]
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    assert 300_000 < model.num_parameters() < 400_000
