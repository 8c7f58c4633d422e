"""Curricula: the orders in which training prompts are visited."""

import dagster as dg
import numpy as np

from grpo_assets.assets.resources import artifact
from grpo_assets.domain.curriculum import curriculum as order_of
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.informativeness import expected_groups, fit_prior, value_counts
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.schemas import CURRICULUM
from grpo_assets.runtime.artifacts import Draft, Inputs
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import write_table


@artifact(group="curricula", reads=["prompt_statistics", "train_tasks"], kinds={"python", "parquet"})
def curriculum(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a training prompt at its position in the visiting order; no prompt is dropped."""
    settings = project.graph[Ref("curriculum", context.partition_key)].settings
    statistics = inputs.rows("prompt_statistics")
    if [row["task_key"] for row in statistics] != [row["task_key"] for row in inputs.rows("train_tasks")]:
        raise ValueError("the pilot's prompts are not the training prompts in their original order")
    counts = value_counts(statistics)
    prior = fit_prior(counts)
    rows = order_of(statistics, settings["mode"], settings["group_size"], settings.get("seed", 0), prior)
    write_table(draft.folder / "curriculum.parquet", rows, CURRICULUM)
    once = np.ones(len(rows), dtype=np.int64)
    expected = expected_groups(counts, once, settings["group_size"], prior)
    draft.facts = {
        "rows": len(rows),
        "expected_informative_groups_of_one_pass": round(expected.groups, 2),
        "expected_interval": [round(bound, 2) for bound in expected.interval],
        "order_sha256": fingerprint([row["task_key"] for row in rows]),
        "expected_informative_share": sum(row["p_informative"] for row in rows) / len(rows),
    }
