"""Our settings as TRL's and PEFT's: the one place where the names change."""

from pathlib import Path
from typing import Any

from peft import LoraConfig
from trl import GRPOConfig

from grpo_assets.domain.batching import solve
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.runtime.language_model import device
from grpo_assets.runtime.training import Training


def config(training: Training, state: Path) -> GRPOConfig:
    """The arguments of TRL's trainer.

    A step is one generation batch of `rollouts_per_step` completions for every group size, so that group sizes
    are compared at the same number of rollouts and of optimizer steps.

    Raises:
        UserMistake: when the rollouts of a step cannot be cut into batches, or vLLM is asked for without a GPU.
    """
    variant, recipe, sampling = training.variant, training.variant.recipe, training.sampling
    try:
        batches = solve(variant.group_size, recipe.rollouts_per_step, recipe.device_batch_size)
    except ValueError as error:
        raise UserMistake(f"recipe.rollouts_per_step: {error}") from None
    return GRPOConfig(
        output_dir=str(state),
        seed=variant.seed,
        num_generations=variant.group_size,
        beta=variant.kl_beta,
        max_steps=recipe.steps,
        learning_rate=recipe.learning_rate,
        loss_type=recipe.loss_type,
        scale_rewards=recipe.scale_rewards,
        epsilon=recipe.epsilon,
        epsilon_high=recipe.epsilon if recipe.epsilon_high is None else recipe.epsilon_high,
        per_device_train_batch_size=batches.per_device,
        gradient_accumulation_steps=batches.accumulation,
        generation_batch_size=batches.generation,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_completion_length=sampling.max_completion_tokens,
        shuffle_dataset=False,
        num_train_epochs=1,
        disable_dropout=True,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",  # the saver decides, by the clock
        report_to="none",
        disable_tqdm=True,
        **hardware(recipe.use_vllm),
    )


def hardware(use_vllm: bool) -> dict[str, Any]:
    """The settings of TRL that depend on where it runs; all of them are here.

    Raises:
        UserMistake: for vLLM without a GPU.
    """
    on_gpu = device() == "cuda"
    if use_vllm and not on_gpu:
        raise UserMistake("recipe.use_vllm: True is not allowed\n  allowed: False, where no GPU is visible")
    vllm = {"use_vllm": True, "vllm_mode": "colocate"} if use_vllm else {}
    return {
        "use_cpu": not on_gpu,
        "bf16": on_gpu,
        "gradient_checkpointing": on_gpu,
        "dataloader_pin_memory": on_gpu,
        **vllm,
    }


def lora(training: Training) -> LoraConfig:
    """LoRA on all linear layers, without dropout, so that the first KL to the base is zero."""
    recipe = training.variant.recipe
    assert recipe.lora_rank is not None
    return LoraConfig(
        r=recipe.lora_rank,
        lora_alpha=2 * recipe.lora_rank if recipe.lora_alpha is None else recipe.lora_alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
