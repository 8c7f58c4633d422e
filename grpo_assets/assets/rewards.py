"""Rewards and their versions."""

import inspect

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.gold import misses, refusal
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.artifacts import Check, Draft, FailedCheck, Inputs
from grpo_assets.runtime.project import Project

CHECKS = {"gold_cases": "the reward is what it must be of declared rollouts, in whatever order they are scored"}


@artifact(group="rewards", kinds={"python"}, checks=CHECKS, blocking={"gold_cases"})
def reward(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One reward that holds its gold cases; the fingerprint of its code is the version that others are made with."""
    name = context.partition_key
    reward = project.catalog.rewards[name]
    if reward.function is None:
        raise FailedWork(reward.version)
    if missed := misses(reward.function, reward.gold):
        seen = {"cases": len(reward.gold), "refused": [miss._asdict() for miss in missed]}
        raise FailedCheck("gold_cases", seen, refusal(name, reward.gold, missed))
    page = f"```python\n{inspect.getsource(reward.function)}```\n"
    (draft.folder / "reward.md").write_text(page, encoding="utf-8")
    draft.content = reward.version  # more gold cases are checked, and change nothing that was scored
    draft.facts = {"code_fingerprint": reward.version, "path": reward.path, "summary": inspect.getdoc(reward.function)}
    draft.pages = {"code": "reward.md"}
    draft.checks = {"gold_cases": Check(True, {"cases": len(reward.gold)})}
