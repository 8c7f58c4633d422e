"""Dagster's graph: the assets of the design, no way from held-out tasks to the decision, GPU steps marked."""

from collections.abc import Iterator

import dagster as dg
import pytest

from grpo_assets.assets.partitions import PROJECT, inputs_of
from grpo_assets.assets.resources import GPU_OP_TAGS
from grpo_assets.definitions import defs
from grpo_assets.domain.lineage import GRAIN, Ref

GRAPH = defs.resolve_asset_graph()

EXPECTED = {
    "tasks": ("tasks", set()),
    "train_tasks": ("tasks", {"tasks"}),
    "dev_tasks": ("tasks", {"tasks"}),
    "heldout_tasks": ("tasks", {"tasks"}),
    "base_policy": ("policies", set()),
    "reward": ("rewards", set()),
    "pilot_rollouts": ("pilots", {"base_policy", "train_tasks"}),
    "prompt_statistics": ("pilots", {"pilot_rollouts", "reward"}),
    "curriculum": ("curricula", {"prompt_statistics", "train_tasks"}),
    "experiment_spec": ("experiments", set()),
    "experiment_plan": ("experiments", {"experiment_spec", "base_policy", "train_tasks", "prompt_statistics"}),
    "baseline_evaluation": ("training", {"base_policy", "dev_tasks"}),
    "checkpoint": ("training", {"curriculum", "train_tasks", "reward", "base_policy"}),
    "dev_evaluation": ("training", {"checkpoint", "base_policy", "dev_tasks"}),
    "experiment_table": (
        "experiments",
        {"experiment_spec", "dev_tasks", "baseline_evaluation", "reward", "checkpoint", "dev_evaluation"},
    ),
    "selected_checkpoint": ("experiments", {"experiment_table", "experiment_plan"}),
    "heldout_evaluation": ("heldout", {"selected_checkpoint", "heldout_tasks", "base_policy", "checkpoint"}),
}


def test_the_assets_are_those_of_the_design() -> None:
    """Each asset stands in its group and depends on what the design says, on nothing else."""
    found = {
        key.to_user_string(): (GRAPH.get(key).group_name, {up.to_user_string() for up in GRAPH.get(key).parent_keys})
        for key in GRAPH.get_all_asset_keys()
    }

    assert found == EXPECTED
    assert set(EXPECTED) == set(GRAIN)


def test_only_the_splits_read_the_undivided_tasks() -> None:
    """Nothing that is trained or compared can see a task of another split."""
    readers = {key.to_user_string() for key in GRAPH.get(dg.AssetKey("tasks")).child_keys}

    assert readers == {"train_tasks", "dev_tasks", "heldout_tasks"}


def test_no_asset_leads_from_heldout_tasks_to_the_decision() -> None:
    """On the level of assets, held-out tasks are no ancestor of the selected checkpoint."""
    ancestors = GRAPH.get_ancestor_asset_keys(dg.AssetKey("selected_checkpoint"))

    assert dg.AssetKey("dev_tasks") in ancestors
    assert dg.AssetKey("heldout_tasks") not in ancestors


def partition_ancestors(key: dg.AssetKey, partition: str) -> Iterator[tuple[str, str]]:
    """All (asset, partition) pairs above one partition, as Dagster resolves its mappings."""
    pending, seen = [(key, partition)], set()
    while pending:
        child, child_partition = pending.pop()
        for parent in GRAPH.get(child).parent_keys:
            mapped = GRAPH.get_parent_partition_keys_for_child(child_partition, parent, child)
            for parent_partition in mapped.partitions_subset.get_partition_keys():
                if (parent, parent_partition) not in seen:
                    seen.add((parent, parent_partition))
                    pending.append((parent, parent_partition))
                    yield parent.to_user_string(), parent_partition


@pytest.mark.parametrize("experiment", sorted(PROJECT.catalog.experiments))
def test_no_partition_leads_from_heldout_tasks_to_the_decision(experiment: str) -> None:
    """On the level of partitions, Dagster's ancestors of a decision are those of the domain's graph."""
    found = set(partition_ancestors(dg.AssetKey("selected_checkpoint"), experiment))

    expected, pending = set(), [Ref("selected_checkpoint", experiment)]
    while pending:
        inputs = set(PROJECT.graph[pending.pop()].inputs) - expected
        expected |= inputs
        pending += inputs
    assert found == {tuple(ref) for ref in expected}
    assert "heldout_tasks" not in {asset for asset, _ in found}


def test_an_edge_that_the_domain_does_not_know_cannot_be_declared() -> None:
    """An asset that declares held-out tasks beside its inputs fails when it is loaded."""
    with pytest.raises(ValueError, match="selected_checkpoint declares \\['heldout_tasks'\\], which it does not read"):
        inputs_of("selected_checkpoint", "experiment_table", "experiment_plan", "heldout_tasks")


def test_an_edge_of_the_domain_cannot_be_left_out() -> None:
    """An asset that does not declare what it reads fails when it is loaded."""
    with pytest.raises(ValueError, match=r"checkpoint reads .*, which it does not declare"):
        inputs_of("checkpoint", "curriculum", "train_tasks", "reward")


def test_gpu_steps_share_a_pool_and_carry_every_executors_tag() -> None:
    """Steps that load a model take a slot of the GPU pool; the others take none."""
    on_gpu = {"base_policy", "pilot_rollouts", "checkpoint", "baseline_evaluation", "dev_evaluation"}
    on_gpu.add("heldout_evaluation")

    for key in GRAPH.get_all_asset_keys():
        op = defs.resolve_assets_def(key).op
        expected = ("gpu", GPU_OP_TAGS) if key.to_user_string() in on_gpu else (None, {})
        tags = {name: value for name, value in op.tags.items() if name in GPU_OP_TAGS}
        assert op.pool == expected[0]
        assert set(tags) == set(expected[1])


def test_partition_keys_are_those_of_the_design() -> None:
    """Keys are readable, and those of variants are experiment and slug."""
    keys = {
        name: set(GRAPH.get(dg.AssetKey(name)).partitions_def.get_partition_keys())
        for name in ("pilot_rollouts", "prompt_statistics", "curriculum", "checkpoint", "baseline_evaluation")
    }

    assert "tiny-digits.digits.k8.r1" in keys["pilot_rollouts"]
    assert "tiny-digits.digits.k8.r1.reward_v0_correctness" in keys["prompt_statistics"]
    assert "tiny-digits.digits.k8.r1.reward_v0_correctness.informative.g4" in keys["curriculum"]
    assert "tabular.few.k4.r1.reward_v0_correctness.random.g2.s1" in keys["curriculum"]
    assert "tiny/reward_v0_correctness_static_seed-20260601_g-4_kl-0.02_static" in keys["checkpoint"]
    assert "tiny-digits.digits.k4" in keys["baseline_evaluation"]


def test_every_asset_says_what_a_row_of_it_is() -> None:
    """The catalogue text of each asset is there for the UI."""
    assert all(len(GRAPH.get(key).description or "") > 40 for key in GRAPH.get_all_asset_keys())
