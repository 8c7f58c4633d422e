"""Partition definitions and mappings, generated from the project's graph, so that Dagster sees the same edges."""

from collections import defaultdict

import dagster as dg

from grpo_assets.domain.lineage import GRAIN
from grpo_assets.runtime.project import open_project

PROJECT = open_project()


def _keys_by_grain() -> dict[str, list[str]]:
    keys: dict[str, dict[str, None]] = {grain: {} for grain in GRAIN.values()}
    for ref in PROJECT.graph:
        keys[GRAIN[ref.asset]][ref.key] = None
    return {grain: list(found) for grain, found in keys.items()}


PARTITIONS = {grain: dg.StaticPartitionsDefinition(keys) for grain, keys in _keys_by_grain().items()}


def partitions_of(asset: str) -> dg.StaticPartitionsDefinition:
    """The partitions of an asset; assets of the same grain share them, so that one run can make both."""
    return PARTITIONS[GRAIN[asset]]


def inputs_of(asset: str, *upstream: str) -> list[dg.AssetDep]:
    """The declared inputs of an asset, each with its mapping from partition to partition.

    Raises:
        ValueError: when the domain's graph has other inputs; a leak cannot be declared by accident.
    """
    pairs: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in upstream}
    for ref, node in PROJECT.graph.items():
        if ref.asset == asset:
            for source in node.inputs:
                if source.asset not in pairs:
                    raise ValueError(f"{asset} reads {source.asset}, which it does not declare")
                pairs[source.asset][source.key].add(ref.key)
    if PROJECT.catalog.experiments and (unread := [name for name, found in pairs.items() if not found]):
        raise ValueError(f"{asset} declares {unread}, which it does not read")
    return [dg.AssetDep(name, partition_mapping=_mapping(asset, name, pairs[name])) for name in upstream]


def _mapping(asset: str, upstream: str, pairs: dict[str, set[str]]) -> dg.PartitionMapping:
    if GRAIN[asset] == GRAIN[upstream]:
        return dg.IdentityPartitionMapping()
    return dg.StaticPartitionMapping({source: sorted(targets) for source, targets in pairs.items()})
