"""Declared experiments: the validated specs of suites, policies and experiments, and the matrix of variants."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from grpo_assets.domain.curriculum import CURRICULA
from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.rewards import REWARDS
from grpo_assets.domain.tasks import Split

NAME_PATTERN = r"^[a-z0-9_-]{1,64}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Count = Annotated[int, Field(strict=True, ge=1)]


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

    splits: dict[Split, Annotated[float, Field(gt=0, lt=1)]] = {"train": 0.6, "dev": 0.2, "heldout": 0.2}

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

    temperature: Annotated[float, Field(gt=0, le=10)]
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(strict=True, ge=0)] = 0
    """Keep the k most likely tokens; 0 keeps all, as in TRL and unlike Hugging Face's default of 50."""
    max_completion_tokens: Count


class Pretraining(Spec):
    """Supervised training of a built policy."""

    steps: Count = 600
    batch_size: Count = 128
    learning_rate: Annotated[float, Field(gt=0)] = 3e-3
    seed: Annotated[int, Field(strict=True, ge=0)] = 20260601


class Policy(Spec):
    """Where a base policy comes from, and how it is sampled.

    `tabular`: a table of chances over the candidates of each task, for the smoke trainer.
    `built`: a small Llama, pre-trained on prompts of the suite's training side only.
    """

    kind: Literal["tabular", "built"]
    suite: Name | None = None
    pretraining: Pretraining | None = None
    sampling: Sampling

    @model_validator(mode="after")
    def _fits_kind(self) -> Self:
        if (self.kind == "built") != (self.suite is not None):
            raise ValueError("suite goes with kind built, and only with it")
        if self.kind != "built" and self.pretraining is not None:
            raise ValueError("pretraining goes with kind built only")
        return self


class Pilot(Spec):
    """Rollouts of the base policy before training; a new round is a fresh pilot."""

    samples_per_prompt: Annotated[int, Field(strict=True, ge=1, le=1024)]
    round: Count = 1


class Recipe(Spec):
    """Settings held fixed across the matrix."""

    steps: Count
    rollouts_per_step: Annotated[int, Field(strict=True, ge=2)]
    """Fixed for all group sizes, so that they are compared at an equal rollout budget."""
    learning_rate: Annotated[float, Field(gt=0)]
    lora_rank: Count | None = None


class Matrix(Spec):
    """The axes; the variants are their cross product."""

    seeds: Annotated[list[Annotated[int, Field(strict=True, ge=0, lt=2**32)]], Field(min_length=1)]
    group_sizes: Annotated[list[Annotated[int, Field(strict=True, ge=2)]], Field(min_length=1)]
    kl_betas: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)]
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


class Variant(BaseModel):
    """One cell of the matrix."""

    model_config = ConfigDict(frozen=True)

    seed: int
    group_size: int
    kl_beta: float
    reward: str
    curriculum: str

    @property
    def slug(self) -> str:
        """Name of the variant, the same whatever else stands in the matrix."""
        return (
            f"{self.reward}_{self.curriculum}_seed-{self.seed}_g-{self.group_size}"
            f"_kl-{self.kl_beta:g}_{self.curriculum}"
        )


class Catalog(BaseModel):
    """All specs of a data folder by name, and what else decides a number: file contents, library versions."""

    model_config = ConfigDict(frozen=True)

    suites: Mapping[str, Suite]
    policies: Mapping[str, Policy]
    experiments: Mapping[str, Experiment]
    suite_sources: Mapping[str, str]
    """sha256 of the task file, for suites that are read from one."""
    libraries: Mapping[str, str]


def variants(experiment: Experiment) -> dict[str, Variant]:
    """All cells of the matrix by slug, in the order of the axes."""
    axes = experiment.matrix
    cells = product(axes.rewards, axes.curricula, axes.seeds, axes.group_sizes, axes.kl_betas)
    return {
        cell.slug: cell
        for cell in (
            Variant(seed=seed, group_size=group_size, kl_beta=kl_beta, reward=reward, curriculum=mode)
            for reward, mode, seed, group_size, kl_beta in cells
        )
    }


def parse(spec: type[S], content: object, where: str) -> S:
    """Validate what a YAML file holds.

    Args:
        where: the file, for the message; its stem is the name of what it declares.

    Raises:
        UserMistake: naming the file, each wrong field, its value and what is allowed.
    """
    if not re.fullmatch(NAME_PATTERN, PurePath(where).stem):
        raise refuse(where, "file name", PurePath(where).stem, "1 to 64 of the characters a-z 0-9 _ -")
    if not isinstance(content, dict):
        raise refuse(where, "the file", content, f"a mapping with the keys {listed(spec.model_fields)}")
    try:
        return spec.model_validate(content)
    except ValidationError as error:
        raise UserMistake("\n".join(_explained(spec, where, e) for e in error.errors())) from None


def _explained(spec: type[Spec], where: str, error: Any) -> str:
    """One wrong field as a message; for an unknown or a missing key the keys of its level are what is allowed."""
    field = ".".join(str(part) for part in error["loc"]) or "the file"
    if error["type"] == "extra_forbidden":
        known = _fields_at(spec, error["loc"][:-1])
        return str(refuse(where, field, error["loc"][-1], f"the keys {listed(known)}"))
    if error["type"] == "missing":
        return f"{where}: {field}: is missing\n  the keys of this level: {listed(_fields_at(spec, error['loc'][:-1]))}"
    allowed = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return str(refuse(where, field, error["input"], allowed))


def _fields_at(spec: Any, location: tuple) -> list[str]:
    for part in location:
        annotation = spec.model_fields[part].annotation
        spec = next((s for s in (annotation, *get_args(annotation)) if hasattr(s, "model_fields")), None)
    return list(spec.model_fields) if spec else []


def check_experiment(name: str, experiment: Experiment, catalog: Catalog) -> None:
    """Refuse an experiment whose parts do not fit together or name what does not exist.

    Raises:
        UserMistake: naming the file, the field, the value and what is allowed.
    """
    where = f"experiments/{name}.yaml"
    known = {
        "suite": ([experiment.suite], catalog.suites),
        "policy": ([experiment.policy], catalog.policies),
        "matrix.rewards": (experiment.matrix.rewards, REWARDS),
        "matrix.curricula": (experiment.matrix.curricula, CURRICULA),
    }
    for field, (names, allowed) in known.items():
        for unknown in set(names) - set(allowed):
            raise refuse(where, field, unknown, f"one of {listed(allowed)}")
    axes: dict[str, list] = dict(experiment.matrix)
    for axis, values in axes.items():
        for value, count in Counter(values).items():
            if count > 1:
                raise refuse(where, f"matrix.{axis}", value, "each value once")
    if len(variants(experiment)) < prod(map(len, axes.values())):
        raise refuse(where, "matrix.kl_betas", experiment.matrix.kl_betas, "values that differ in six digits")

    policy = catalog.policies[experiment.policy]
    trainer = "smoke" if policy.kind == "tabular" else "trl"
    if experiment.trainer != trainer:
        raise refuse(where, "trainer", experiment.trainer, f"{trainer}, for a policy of kind {policy.kind}")
    if (experiment.recipe.lora_rank is None) != (trainer == "smoke"):
        raise refuse(
            where, "recipe.lora_rank", experiment.recipe.lora_rank, "a whole number with trl, nothing with smoke"
        )
    for group_size in experiment.matrix.group_sizes:
        if experiment.recipe.rollouts_per_step % group_size:
            raise refuse(
                where,
                "matrix.group_sizes",
                group_size,
                f"divisors of recipe.rollouts_per_step, which is {experiment.recipe.rollouts_per_step}",
            )
