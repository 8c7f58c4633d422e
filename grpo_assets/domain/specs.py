"""What the YAML files of a data folder may hold: suites, policies and experiments."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from grpo_assets.domain.tasks import Split

NAME_PATTERN = r"^[a-z0-9_-]{1,64}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Count = Annotated[int, Field(strict=True, ge=1)]


def _no_bool(value: object) -> object:
    """Refuse yes and no where a number is needed; pydantic would read them as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a number")
    return value


Number = Annotated[float, BeforeValidator(_no_bool), AfterValidator(lambda value: value + 0.0)]
"""A number; -0.0 becomes 0.0, which is equal and has another name."""


class Spec(BaseModel):
    """A part of a YAML file: unknown keys are refused, values are finite and do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


S = TypeVar("S", bound=Spec)


class Fields(Spec):
    """Which key of a JSONL row holds which part of a task; `null` where the file has no such part."""

    prompt: str = "prompt"
    answer: str = "answer"
    task_id: str | None = None
    family: str | None = None
    candidates: str | None = None


class Suite(Spec):
    """A suite of tasks: generated (`generator`) or read from a JSONL file of the user's (`path`)."""

    generator: Literal["digits"] | None = None
    """Generated suites: the name of the generator, with its seed and the number of tasks to keep."""
    seed: Annotated[int, Field(strict=True, ge=0)] | None = None
    tasks: Count | None = None

    path: str | None = None
    """Suites from a file: JSONL, one task a line; a relative path starts at the data folder."""
    fields: Fields | None = None
    licence: str | None = None

    splits: dict[Split, Annotated[Number, Field(gt=0, lt=1)]] = {"train": 0.6, "dev": 0.2, "heldout": 0.2}

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        generated = (self.generator, self.seed, self.tasks)
        read = (self.path, self.fields, self.licence)
        complete = [all(v is not None for v in origin) for origin in (generated, read)]
        begun = [any(v is not None for v in origin) for origin in (generated, read)]
        if complete != begun or sum(begun) != 1:
            raise ValueError("either generator, seed and tasks, or path, fields and licence")
        if len(self.splits) != 3 or abs(sum(self.splits.values()) - 1) > 1e-9:
            raise ValueError("splits: the shares of train, dev and heldout, which add up to 1")
        return self


class Sampling(Spec):
    """How a policy is sampled, the same for pilots, training and evaluation; nothing is left to a library's default."""

    temperature: Annotated[Number, Field(gt=0, le=10)]
    top_p: Annotated[Number, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(strict=True, ge=0)] = 0
    """Keep the k most likely tokens; 0 keeps all, as in TRL and unlike Hugging Face's default of 50."""
    max_completion_tokens: Count
    system_prompt: str | None = None
    """First message of every chat; only for models whose tokenizer has a chat template."""


class Pretraining(Spec):
    """Supervised training of a built policy."""

    steps: Count = 600
    batch_size: Count = 128
    learning_rate: Annotated[Number, Field(gt=0)] = 3e-3
    seed: Annotated[int, Field(strict=True, ge=0)] = 20260601


class Package(Spec):
    """A Python package that brings a model file."""

    name: str
    version: str
    """The version that was tried; another one is refused, since its weights may differ."""


class Policy(Spec):
    """Where a base policy comes from, and how it is sampled.

    `tabular`: a table of chances over the candidates of each task, for the smoke trainer.
    `built`: a small Llama, pre-trained on prompts of the suite's training side only (`suite`, `pretraining`).
    `folder`: any causal language model in a local folder (`path`).
    `hub`: one on the Hugging Face hub (`path` is owner/name, `revision` a commit).
    `gguf`: a GGUF file (`path`), in the data folder or in an installed package (`package`).
    The last three become an ordinary folder in a trainable `dtype`.
    """

    kind: Literal["tabular", "built", "folder", "hub", "gguf"]
    suite: Name | None = None
    pretraining: Pretraining | None = None
    path: str | None = None
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] | None = None
    package: Package | None = None
    dtype: Literal["float32", "bfloat16"] | None = None
    sampling: Sampling

    @model_validator(mode="after")
    def _fits_kind(self) -> Self:
        given = {key for key in _POLICY_KEYS if getattr(self, key) is not None}
        needed, optional = _KEYS_OF_KIND[self.kind]
        if not needed <= given <= needed | optional:
            keys = [*sorted(needed), *(f"{key} (may be left out)" for key in sorted(optional))]
            raise ValueError(f"kind {self.kind} with {', '.join(keys) or 'none'} of {', '.join(_POLICY_KEYS)}")
        return self


_POLICY_KEYS = ("suite", "pretraining", "path", "revision", "package", "dtype")
_KEYS_OF_KIND: dict[str, tuple[set[str], set[str]]] = {
    "tabular": (set(), set()),
    "built": ({"suite"}, {"pretraining"}),
    "folder": ({"path", "dtype"}, set()),
    "hub": ({"path", "dtype", "revision"}, set()),
    "gguf": ({"path", "dtype"}, {"package"}),
}
"""The keys that a kind of policy needs, and those that it may have."""


class Pilot(Spec):
    """Rollouts of the base policy before training; a new round is a fresh pilot."""

    samples_per_prompt: Annotated[int, Field(strict=True, ge=1, le=1024)]
    round: Count = 1


class Recipe(Spec):
    """How a variant is trained: fixed across the matrix, unless the matrix has the key as an axis of its own."""

    steps: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
    rollouts_per_step: Annotated[int, Field(strict=True, ge=2, le=100_000)]
    """Fixed for all group sizes, so that they are compared at an equal rollout budget."""
    learning_rate: Annotated[Number, Field(gt=0)]
    lora_rank: Count | None = None
    lora_alpha: Annotated[Number, Field(gt=0)] | None = None
    """Twice the rank when it is left out."""
    loss_type: Literal["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"] = "dapo"
    scale_rewards: Literal["group", "batch", "none"] = "group"
    epsilon: Annotated[Number, Field(gt=0, lt=1)] = 0.2
    epsilon_high: Annotated[Number, Field(gt=0)] | None = None
    """Upper bound of the clipped ratio; the same as `epsilon` when it is left out."""
    device_batch_size: Count | None = None
    """The most completions that one device takes through a backward pass; all of a step when it is left out."""
    use_vllm: Annotated[bool, Field(strict=True)] = False
    """Generate with vLLM in the training process; needs a GPU."""


SMOKE_RECIPE = frozenset({"steps", "rollouts_per_step", "learning_rate"})
"""The keys of a recipe that the smoke trainer has a use for."""


class Matrix(Spec):
    """The axes; the variants are their cross product.

    Any key of the recipe may be an axis too, with a list of values in place of the recipe's one.
    """

    model_config = ConfigDict(extra="allow")

    seeds: Annotated[list[Annotated[int, Field(strict=True, ge=0, lt=2**32)]], Field(min_length=1)]
    group_sizes: Annotated[list[Annotated[int, Field(strict=True, ge=2)]], Field(min_length=1)]
    kl_betas: Annotated[list[Annotated[Number, Field(ge=0)]], Field(min_length=1)]
    rewards: Annotated[list[Name], Field(min_length=1)]
    curricula: Annotated[list[Name], Field(min_length=1)]


class Evaluation(Spec):
    """Sampled completions of each dev task; one greedy completion always stands beside them."""

    samples_per_task: Annotated[int, Field(strict=True, ge=1, le=1024)]


class Selection(Spec):
    """The rule by which a checkpoint is chosen; it reads dev metrics only."""

    metric: Literal["dev_pass_rate"]
    min_informative_prompts: Annotated[int, Field(strict=True, ge=0)]
    """Distinct prompts that were informative by correctness, counted over the scope."""
    informative_scope: Literal["training", "final_step"] = "training"


class Experiment(Spec):
    """One experiment as its YAML file declares it."""

    suite: Name
    policy: Name
    trainer: Literal["smoke", "trl"]
    pilot: Pilot
    recipe: Recipe
    matrix: Matrix
    evaluation: Evaluation
    selection: Selection


class Catalog(BaseModel):
    """All specs of a data folder by name, and what else decides a number: file contents, library versions."""

    model_config = ConfigDict(frozen=True)

    suites: Mapping[str, Suite]
    policies: Mapping[str, Policy]
    experiments: Mapping[str, Experiment]
    suite_sources: Mapping[str, str]
    """sha256 of the task file, for suites that are read from one."""
    policy_sources: Mapping[str, str]
    """sha256 of the model's files, for policies that are made from files that are there."""
    libraries: Mapping[str, str]
