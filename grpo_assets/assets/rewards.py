"""Rewards and their versions."""

import inspect

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.rewards import REWARDS, reward_fingerprint
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.project import Project


@artifact(group="rewards", kinds={"python"})
def reward(project: Project, name: str, inputs: Inputs, draft: Draft) -> None:
    """The code of one reward; its fingerprint is the version that statistics and checkpoints were made with."""
    page = f"```python\n{inspect.getsource(REWARDS[name])}```\n"
    (draft.folder / "reward.md").write_text(page, encoding="utf-8")
    draft.facts = {"code_fingerprint": reward_fingerprint(REWARDS[name]), "summary": inspect.getdoc(REWARDS[name])}
    draft.pages = {"code": "reward.md"}
