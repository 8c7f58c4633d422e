"""Rewards and their versions."""

import inspect

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.fingerprints import code_fingerprint
from grpo_assets.domain.rewards import REWARDS
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.project import Project


@artifact(group="rewards", kinds={"python"})
def reward(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """The code of one reward; its fingerprint is the version that statistics and checkpoints were made with."""
    name = context.partition_key
    page = f"```python\n{inspect.getsource(REWARDS[name])}```\n"
    (draft.folder / "reward.md").write_text(page, encoding="utf-8")
    draft.facts = {"code_fingerprint": code_fingerprint(name, REWARDS[name]), "summary": inspect.getdoc(REWARDS[name])}
    draft.pages = {"code": "reward.md"}
