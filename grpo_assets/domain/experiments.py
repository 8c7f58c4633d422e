"""Declared experiments: specs validated and checked against each other, and the matrix of variants."""

import re
from collections import Counter
from itertools import product
from math import prod
from pathlib import PurePath
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from grpo_assets.domain.curriculum import CURRICULA
from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.rewards import REWARDS
from grpo_assets.domain.specs import NAME_PATTERN, Catalog, Experiment, S, Spec


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
