"""Loads rewards: functions by the path under which they can be imported."""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import FunctionType

from grpo_assets.domain.code_identity import code_fingerprint
from grpo_assets.domain.experiments import declared_rewards
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.domain.rewards import GOLD, REWARDS, Reward
from grpo_assets.domain.specs import Experiment, LoadedReward


def rewards_of(experiments: Mapping[str, Experiment], folder: Path) -> dict[str, LoadedReward]:
    """The shipped rewards and those that experiments declare, whose modules may lie in the data folder.

    One that cannot be loaded has the reason in the place of its version, and stops nothing else.

    Raises:
        UserMistake: for a name that means different things.
    """
    declared = declared_rewards(experiments)
    if declared:
        import_also_from(folder)
    shipped = {name: (f"{function.__module__}:{function.__name__}", GOLD[name]) for name, function in REWARDS.items()}
    own = {name: (reward.path, tuple(reward.gold)) for name, reward in declared.items()}
    found = {}
    for name, (path, gold) in (shipped | own).items():
        try:
            function = function_at(path)
            found[name] = LoadedReward(path, gold, code_fingerprint(name, function), function)
        except UserMistake as mistake:
            found[name] = LoadedReward(path, gold, str(mistake), None)
    return found


def import_also_from(folder: Path) -> None:
    """Let modules be imported from a data folder, after all that is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def function_at(path: str) -> Reward:
    """The function of a path `module:function`.

    Raises:
        UserMistake: when it cannot be imported, for whatever reason, or is no function.
    """
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        raise UserMistake(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(found, FunctionType):
        raise UserMistake(f"{path}: is a {type(found).__name__}\n  allowed: a function written with def")
    return found


def expect_version(path: str, name: str, version: str) -> None:
    """Find out whether a function is still the one that was asked for.

    Raises:
        FailedWork: when its code was changed in the meantime.
    """
    if code_fingerprint(name, function_at(path)) != version:
        raise FailedWork(f"{path} was changed since this run began\n  start it again, to train on the reward as it is")
