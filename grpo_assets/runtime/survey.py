"""Which artifacts are there, which are not or no longer, and why: read from manifests alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from grpo_assets.domain.lineage import Node, Ref, ancestors, request
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import DamagedArtifact, Store

Condition = Literal["fresh", "missing", "stale", "damaged", "failed"]


@dataclass(frozen=True)
class State:
    """How an artifact stands to what the specs ask for now.

    Attributes:
        reason: one line on why it is not fresh.
        manifest: that of a fresh artifact, else None.
    """

    condition: Condition
    reason: str = ""
    manifest: dict | None = None

    @property
    def fingerprint(self) -> str:
        """What the artifact counts as when it is an input; without it, how it is lacking."""
        return self.manifest["fingerprint"] if self.manifest else f"{self.condition}: {self.reason}"

    @property
    def summary(self) -> dict[str, Any]:
        """Condition, reason and manifest, as values that the domain takes."""
        return {"condition": self.condition, "reason": self.reason, "manifest": self.manifest}


def survey(project: Project, targets: Iterable[Ref], hashes: bool = False) -> dict[Ref, State]:
    """The states of the targets and of all that they are made from, each after its inputs.

    Args:
        hashes: compare file contents with the manifests, not only presence and size.
    """
    states: dict[Ref, State] = {}
    for node in ancestors(project.graph, targets):
        states[node.ref] = _examine(project.store, node, states, hashes)
    return states


def _examine(store: Store, node: Node, states: Mapping[Ref, State], hashes: bool) -> State:
    try:
        failure, manifest = store.failure(node.ref), store.manifest(node.ref)
    except DamagedArtifact as damage:
        return State("damaged", str(damage))
    absent = lacking(node, states)
    asked = request(node, {ref: states[ref].fingerprint for ref in node.inputs})
    if failure and failure["request"] == asked:
        return State("failed", failure["reason"])
    if manifest is None:
        return State("missing", "not made yet")
    if absent:
        return State("stale", f"input {absent[0]} is {states[absent[0]].condition}")
    if manifest["request"] != asked:
        return State("stale", _difference(node, manifest, states))
    try:
        store.check(node.ref, manifest, hashes)
    except DamagedArtifact as damage:
        return State("damaged", str(damage))
    return State("fresh", manifest=manifest)


def lacking(node: Node, states: Mapping[Ref, State]) -> list[Ref]:
    """The inputs that are not fresh and without which the node cannot be made."""
    return [ref for ref in node.inputs if states[ref].condition != "fresh" and ref not in node.may_miss]


def _difference(node: Node, manifest: dict, states: Mapping[Ref, State]) -> str:
    """The first input or setting in which a node differs from the artifact that is there."""
    now = {str(ref): states[ref].fingerprint for ref in node.inputs}
    for name in sorted(now.keys() | manifest["inputs"].keys()):
        if now.get(name) != manifest["inputs"].get(name):
            return f"input {name} changed"
    before = _leaves("", manifest["settings"])
    after = _leaves("", dict(node.settings))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            return f"{name} changed from {before.get(name)!r} to {after.get(name)!r}"
    return "its manifest is of another version"


def _leaves(prefix: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: list(value) if isinstance(value, tuple) else value}
    parts = ((f"{prefix}.{key}".lstrip("."), part) for key, part in value.items())
    return {name: leaf for key, part in parts for name, leaf in _leaves(key, part).items()}
