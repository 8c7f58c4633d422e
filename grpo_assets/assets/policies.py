"""Base policies."""

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.policies import build_policy
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import file_hashes


@artifact(group="policies", kinds={"python", "huggingface"}, gpu=True)
def base_policy(project: Project, policy: str, inputs: Inputs, draft: Draft) -> None:
    """A model folder of the untrained policy; its identity is that of the files."""
    draft.facts = build_policy(policy, project.catalog, draft.folder)
    draft.content = fingerprint(file_hashes(draft.folder))
