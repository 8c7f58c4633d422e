"""How an artifact is made: once, by one writer, from its declared inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.lineage import Node, Ref, by_content, request
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.runtime.hardware import kind_of_hardware
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import DamagedArtifact, Store, place, read_table
from grpo_assets.runtime.survey import State, lacking, survey


class Inputs:
    """The declared inputs of one artifact, and no others; files are compared with their hashes when opened."""

    def __init__(self, store: Store, node: Node, states: Mapping[Ref, State]) -> None:
        self._store, self._states = store, {ref: states[ref] for ref in node.inputs}

    def all(self, asset: str) -> dict[str, State]:
        """The state of each input of an asset by partition key."""
        return {ref.key: state for ref, state in self._states.items() if ref.asset == asset}

    def key(self, asset: str) -> str:
        """The partition key of the only input of an asset."""
        return self._ref(asset, None).key

    def manifest(self, asset: str, key: str | None = None) -> dict:
        """The manifest of an input; the key may be left out where there is only one of the asset."""
        manifest = self._states[self._ref(asset, key)].manifest
        assert manifest is not None
        return manifest

    def fingerprint(self, asset: str, key: str | None = None) -> str:
        """The fingerprint of an input."""
        return self.manifest(asset, key)["fingerprint"]

    def folder(self, asset: str, key: str | None = None) -> Path:
        """A local folder with the files of an input."""
        ref = self._ref(asset, key)
        if ref.asset == "heldout_tasks":
            raise ValueError("held-out tasks are opened on the record: see ledger.open_heldout")
        return self._store.local_folder(ref, self.manifest(asset, key))

    def rows(self, asset: str, key: str | None = None) -> list[dict]:
        """The rows of an input that is a table."""
        return read_table(self.folder(asset, key) / f"{asset}.parquet")

    def _ref(self, asset: str, key: str | None) -> Ref:
        refs = [Ref(asset, key)] if key else [ref for ref in self._states if ref.asset == asset]
        if len(refs) != 1 or refs[0] not in self._states:
            raise KeyError(f"{asset} {key or ''} is not one of the declared inputs")
        return refs[0]


class Check(NamedTuple):
    """What a check of an artifact found; `facts` is JSON."""

    passed: bool
    facts: dict[str, Any]


class FailedCheck(FailedWork):
    """A check that an artifact must pass, or it is not made."""

    def __init__(self, name: str, facts: dict[str, Any], message: str) -> None:
        """The check of this name failed, on these facts."""
        super().__init__(message)
        self.name, self.facts = name, facts


@dataclass
class Draft:
    """What a body makes: files in `folder`, facts for the manifest, and an identity where content decides it.

    Attributes:
        request: what was asked for, see `lineage.request`.
        same_but_for: the files of the artifact that is there, if it is intact and this setting alone has changed since.
        facts: goes into the manifest and on the asset's page; JSON.
        content: identity of the artifact by what is in it; by default the identity is that of the request.
        pages: files in the folder that hold Markdown for the asset's page, by title.
        checks: what was looked at, by the name of the check.
    """

    folder: Path
    request: str
    open_state: Callable[[], Path]
    same_but_for: Callable[[str], Path | None]
    facts: dict[str, Any] = field(default_factory=dict)
    content: str | None = None
    pages: dict[str, str] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """A folder that outlives an attempt that was stopped, for the next attempt at the same request."""
        return self.open_state()


@dataclass(frozen=True)
class Made:
    """An artifact that is there now; `reused` when it was there before, `pages` its Markdown by title."""

    manifest: dict
    path: str
    reused: bool
    pages: Mapping[str, str]


def make(project: Project, ref: Ref, body: Callable[[Inputs, Draft], None]) -> Made:
    """Make an artifact, or find it already there.

    Raises:
        FailedWork: when an input is not there or not current, or when the body fails; the latter is recorded.
    """
    node, store = project.graph[ref], project.store
    path = store.path(place(ref).folder)
    with store.lock(ref):
        states = survey(project, [ref])
        manifest = states[ref].manifest
        if manifest and _intact(store, ref, manifest):
            return Made(manifest, path, reused=True, pages=store.pages(ref, manifest))
        if absent := lacking(node, states):
            raise FailedWork(_not_ready(ref, absent[0], states[absent[0]]))
        fingerprints = {input_ref: states[input_ref].fingerprint for input_ref in node.inputs}
        asked = request(node, fingerprints)
        with store.draft(ref) as folder:
            before = partial(_same_but_for, store, node, fingerprints)
            draft = Draft(folder, asked, partial(store.state, ref, asked), before)
            try:
                body(Inputs(store, node, states), draft)
                manifest = store.commit(ref, folder, _manifest(project, node, fingerprints, asked, draft))
            except Exception as error:
                reason = _reason(error)
                try:
                    store.record_failure(ref, {"request": asked, "reason": reason})
                except OSError as unrecorded:  # such as a full disk, which may be the first error too
                    reason += f"\n  and this could not be recorded: {unrecorded}"
                raise FailedWork(f"{ref}: {reason}") from error
        store.drop_states(ref)
        return Made(manifest, path, reused=False, pages=store.pages(ref, manifest))


def _manifest(
    project: Project, node: Node, fingerprints: Mapping[Ref, str], asked: str, draft: Draft
) -> dict[str, Any]:
    """What the manifest says beside the files: what was asked for, from what it was made, and what came out."""
    return {
        "asset": node.ref.asset,
        "partition": node.ref.key,
        "request": asked,
        "fingerprint": by_content(node.ref, draft.content) if draft.content else asked,
        "inputs": {str(ref): value for ref, value in fingerprints.items()},
        "settings": node.settings,
        "declared": dict(node.declared),
        "facts": draft.facts,
        "pages": draft.pages,
        "checks": {name: check._asdict() for name, check in draft.checks.items()},
        "versions": {"grpo_assets": version("grpo-assets"), **project.catalog.libraries},
        "hardware": kind_of_hardware(),
    }


def _intact(store: Store, ref: Ref, manifest: dict) -> bool:
    try:
        store.check(ref, manifest)
    except DamagedArtifact:
        return False
    return True


def _same_but_for(store: Store, node: Node, fingerprints: Mapping[Ref, str], setting: str) -> Path | None:
    def rest(inputs: Mapping[Ref, str] | Mapping[str, str], settings: Mapping[str, Any]) -> str:
        others = {name: value for name, value in settings.items() if name != setting}
        return fingerprint([{str(ref): value for ref, value in inputs.items()}, others])

    try:
        manifest = store.manifest(node.ref)
        if manifest and rest(manifest["inputs"], manifest["settings"]) == rest(fingerprints, node.settings):
            return store.local_folder(node.ref, manifest)
    except DamagedArtifact:
        pass
    return None


def _not_ready(ref: Ref, absent: Ref, state: State) -> str:
    return (
        f"{ref}: its input {absent} is {state.condition}: {state.reason}\n"
        f"  make it first: dagster asset materialize -m grpo_assets.definitions"
        f" --select {absent.asset} --partition '{absent.key}'\n"
        "  or let grpo-assets run EXPERIMENT make all that is needed"
    )


def _reason(error: Exception) -> str:
    foreseen = isinstance(error, UserMistake | FailedWork | DamagedArtifact)
    return str(error) if foreseen else f"{type(error).__name__}: {error}"
