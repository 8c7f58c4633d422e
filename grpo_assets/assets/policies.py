"""Base policies."""

import dagster as dg

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.policies import build_policy
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import file_hashes


@artifact(group="policies", kinds={"python", "huggingface"}, gpu=True)
def base_policy(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """A model folder of the untrained policy; its identity is that of the files."""
    draft.facts = build_policy(project, context.partition_key, draft.folder)
    draft.content = fingerprint(file_hashes(draft.folder))
