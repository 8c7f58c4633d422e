"""Declared experiments: specs validated and checked against each other, and the matrix of variants."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from pathlib import PurePath
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from grpo_assets.domain.batching import solve
from grpo_assets.domain.curriculum import CURRICULA
from grpo_assets.domain.mistakes import UserMistake, listed, refuse
from grpo_assets.domain.rewards import RANDOM_REWARD, REWARDS
from grpo_assets.domain.specs import (
    NAME_PATTERN,
    SMOKE_RECIPE,
    Catalog,
    DeclaredReward,
    Experiment,
    Matrix,
    Recipe,
    S,
    Spec,
)


class Variant(BaseModel):
    """One cell of the matrix."""

    model_config = ConfigDict(frozen=True)

    seed: int
    group_size: int
    kl_beta: float
    reward: str
    curriculum: str
    recipe: Recipe
    """The experiment's recipe with the variant's own values in it."""
    own: tuple[str, ...] = ()
    """The recipe keys whose value is not the experiment's."""

    @property
    def slug(self) -> str:
        """Name of the variant, the same whatever else stands in the matrix."""
        own = "".join(f"_{key}-{_text(getattr(self.recipe, key))}" for key in self.own)
        return (
            f"{self.reward}_{self.curriculum}_seed-{self.seed}_g-{self.group_size}"
            f"_kl-{self.kl_beta:g}_{self.curriculum}{own}"
        )

    @property
    def configuration(self) -> str:
        """The slug without the seed: what is chosen, where the runs of its seeds are its evidence."""
        return self.slug.replace(f"_seed-{self.seed}_", "_")

    @property
    def visits(self) -> int:
        """Prompts that training visits, one a group."""
        return self.recipe.steps * self.recipe.rollouts_per_step // self.group_size

    def axes(self, experiment: Experiment) -> dict[str, Any]:
        """The value of the variant on each axis of its experiment."""
        five = self.model_dump(exclude={"recipe", "own"})
        return {**five, **{key: getattr(self.recipe, key) for key in recipe_axes(experiment)}}


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def recipe_axes(experiment: Experiment) -> dict[str, list]:
    """The axes of the matrix that are keys of the recipe, sorted by key."""
    return dict(sorted((experiment.matrix.model_extra or {}).items()))


def axis_values(experiment: Experiment) -> dict[str, list]:
    """The values on each axis by the name that variants have it under, controls included."""
    matrix = experiment.matrix
    return {
        "reward": matrix.rewards,
        "curriculum": curricula_of(experiment),
        "seed": matrix.seeds,
        "group_size": matrix.group_sizes,
        "kl_beta": matrix.kl_betas,
        **recipe_axes(experiment),
    }


def curricula_of(experiment: Experiment) -> list[str]:
    """The curricula of an experiment, with the control that an informative order needs."""
    declared = experiment.matrix.curricula
    controlled = experiment.controls == "auto" and "informative" in declared and "random" not in declared
    return [*declared, "random"] if controlled else declared


def contrast_name(contrast: Mapping[str, Any]) -> str:
    """How a declared contrast is called in results."""
    return ", ".join(f"{axis} {_text(value)}" for axis, value in sorted(contrast.items()))


def runs_of(cell: Variant, experiment: Experiment, contrast: Mapping[str, Any]) -> list[str]:
    """The runs, in the order of the seeds, of a variant's configuration, or of its counterpart in a contrast.

    Args:
        contrast: values of axes that replace the variant's own; empty for its own configuration.
    """
    wanted = {**cell.axes(experiment), **contrast, "seed": None}
    found = variants(experiment).items()
    return [slug for slug, variant in found if {**variant.axes(experiment), "seed": None} == wanted]


def is_control(curriculum: str, reward: str, experiment: Experiment) -> bool:
    """Whether a variant is there to be compared with: the random order beside the informative one, a random reward."""
    return (curriculum == "random" and "informative" in experiment.matrix.curricula) or reward == RANDOM_REWARD


def variants(experiment: Experiment) -> dict[str, Variant]:
    """All cells of the matrix by slug, in the order of the axes, controls included."""
    axes, recipe = experiment.matrix, experiment.recipe
    extra = recipe_axes(experiment)
    found = {}
    for reward, mode, seed, group_size, kl_beta, *values in product(
        axes.rewards, curricula_of(experiment), axes.seeds, axes.group_sizes, axes.kl_betas, *extra.values()
    ):
        own_recipe = Recipe.model_validate({**recipe.model_dump(), **dict(zip(extra, values, strict=True))})
        own = tuple(key for key in extra if getattr(own_recipe, key) != getattr(recipe, key))
        five = {"seed": seed, "group_size": group_size, "kl_beta": kl_beta, "reward": reward, "curriculum": mode}
        cell = Variant(**five, recipe=own_recipe, own=own)
        found[cell.slug] = cell
    return found


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
    return str(refuse(where, field, error["input"], _allowed(error)))


def _allowed(error: Any) -> str:
    return error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")


def _fields_at(spec: Any, location: tuple) -> list[str]:
    for part in location:
        if isinstance(part, int):  # an entry of a list, whose spec was found with the list
            continue
        annotation = spec.model_fields[part].annotation
        spec = next((s for s in (annotation, *get_args(annotation)) if hasattr(s, "model_fields")), None)
    return list(spec.model_fields) if spec else []


def check_experiment(name: str, experiment: Experiment, catalog: Catalog) -> None:
    """Refuse an experiment whose parts do not fit together or name what does not exist.

    Raises:
        UserMistake: naming the file, the field, the value and what is allowed.
    """
    where = f"experiments/{name}.yaml"
    _check_names(where, experiment, catalog)
    _check_axes(where, experiment)
    _check_trainer(where, experiment, catalog.policies[experiment.policy].kind)
    _check_contrasts(where, experiment)
    for recipe, group_size in {(variant.recipe, variant.group_size) for variant in variants(experiment).values()}:
        try:
            solve(group_size, recipe.rollouts_per_step, recipe.device_batch_size)
        except ValueError as error:
            raise refuse(where, "matrix.group_sizes", group_size, str(error)) from None
    if len(experiment.matrix.seeds) < 2:
        allowed = "two seeds or more: with one nothing tells a configuration from the luck of its run"
        raise refuse(where, "matrix.seeds", experiment.matrix.seeds, allowed)


def declared_rewards(experiments: Mapping[str, Experiment]) -> dict[str, DeclaredReward]:
    """The rewards of the user's by name.

    Raises:
        UserMistake: for the name of a shipped reward, or one that means different things in different places.
    """
    found: dict[str, tuple[str, DeclaredReward]] = {}
    for experiment_name, experiment in experiments.items():
        where = f"experiments/{experiment_name}.yaml"
        for reward in experiment.rewards:
            if reward.name in REWARDS:
                raise refuse(where, "rewards.name", reward.name, f"other names than the shipped {listed(REWARDS)}")
            first, same = found.setdefault(reward.name, (where, reward))
            if same is not reward and first == where:
                raise refuse(where, "rewards.name", reward.name, "each name once")
            if same != reward:
                allowed = f"the path and the gold cases that it has in {first}, or another name"
                raise refuse(where, "rewards.name", reward.name, allowed)
    return {name: reward for name, (_, reward) in found.items()}


def _check_names(where: str, experiment: Experiment, catalog: Catalog) -> None:
    known: dict[str, tuple[list[str], Iterable[str]]] = {
        "suite": ([experiment.suite], catalog.suites),
        "policy": ([experiment.policy], catalog.policies),
        "matrix.rewards": (experiment.matrix.rewards, {*REWARDS, *(reward.name for reward in experiment.rewards)}),
        "matrix.curricula": (experiment.matrix.curricula, CURRICULA),
    }
    for field, (names, allowed) in known.items():
        for unknown in sorted(set(names) - set(allowed)):
            raise refuse(where, field, unknown, f"one of {listed(allowed)}")


def _check_axes(where: str, experiment: Experiment) -> None:
    extra = recipe_axes(experiment)
    for axis, values in extra.items():
        if axis not in Recipe.model_fields:
            allowed = f"the axes {listed(Matrix.model_fields)} and the keys of the recipe {listed(Recipe.model_fields)}"
            raise refuse(where, f"matrix.{axis}", axis, allowed)
        if not isinstance(values, list) or not values:
            raise refuse(where, f"matrix.{axis}", values, "a list with at least one value")
        for value in values:
            try:
                Recipe.model_validate({**experiment.recipe.model_dump(), axis: value})
            except ValidationError as error:
                raise refuse(where, f"matrix.{axis}", value, _allowed(error.errors()[0])) from None
    axes: dict[str, list] = {axis: getattr(experiment.matrix, axis) for axis in Matrix.model_fields} | extra
    for axis, values in axes.items():
        for value, count in Counter(values).items():
            if count > 1:
                raise refuse(where, f"matrix.{axis}", value, "each value once")
    axes["curricula"] = curricula_of(experiment)
    if len(variants(experiment)) < prod(map(len, axes.values())):
        raise refuse(
            where, "matrix", {a: v for a, v in axes.items() if len(v) > 1}, "numbers that differ in six digits"
        )


def _check_contrasts(where: str, experiment: Experiment) -> None:
    values = {axis: found for axis, found in axis_values(experiment).items() if axis != "seed"}
    contrasts = experiment.heldout.contrasts
    for contrast in contrasts:
        for axis, value in contrast.items():
            if axis not in values:
                raise refuse(where, "heldout.contrasts", axis, f"one of the axes {listed(values)}")
            if value not in values[axis]:
                raise refuse(
                    where, f"heldout.contrasts.{axis}", value, f"one of {listed(values[axis])}, as in the matrix"
                )
        if contrasts.count(contrast) > 1:
            raise refuse(where, "heldout.contrasts", contrast, "each contrast once")


def _check_trainer(where: str, experiment: Experiment, kind: str) -> None:
    trainer = "smoke" if kind == "tabular" else "trl"
    if experiment.trainer != trainer:
        raise refuse(where, "trainer", experiment.trainer, f"{trainer}, for a policy of kind {kind}")
    given = {key: getattr(experiment.recipe, key) for key in experiment.recipe.model_fields_set}
    given |= recipe_axes(experiment)
    if trainer == "smoke":
        for key in sorted(given.keys() - SMOKE_RECIPE):
            raise refuse(where, f"recipe.{key}", given[key], f"with smoke only {listed(SMOKE_RECIPE)}")
    elif any(variant.recipe.lora_rank is None for variant in variants(experiment).values()):
        raise refuse(where, "recipe.lora_rank", None, "a whole number of 1 or more, with trl")
