"""The ledger of a suite: every opening of its held-out tasks and every selection on its dev tasks, chained by hash.

A file of JSON lines in the store. An entry holds the hash of the one before it; the first one the name of the suite.
"""

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from filelock import FileLock

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.lineage import CODE, Ref
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.store import DamagedArtifact, Store, read_table

Entry = dict[str, Any]
_ALL = {"number", "suite", "kind", "experiment", "request", "reopened", "time", "previous", "hash"}
FIELDS = {
    "selection": _ALL | {"dev_sha256"},
    "opening": _ALL | {"selection", "why", "policies", "contrasts", "heldout_sha256", "continues"},
}
"""What an entry of each kind has."""
Clock = Callable[[], str]


def entries(store: Store, suite: str) -> list[Entry]:
    """The ledger of a suite from its first entry on, empty where nothing has happened.

    Raises:
        FailedWork: when it does not hold together: an entry was changed, left out or added by hand.
    """
    file = _file(store, suite)
    if not store.fs.exists(file):
        return []
    found: list[Entry] = []
    previous = _genesis(suite)
    for number, line in enumerate(store.fs.cat_file(file).decode("utf-8", "replace").splitlines(), start=1):
        try:
            entry = json.loads(line)
            content = {name: value for name, value in entry.items() if name != "hash"}
            whole = entry["hash"] == fingerprint(content) and entry["number"] == number
            whole = whole and FIELDS[entry["kind"]] <= entry.keys()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise FailedWork(_broken(file, number, "is no entry")) from None
        if number == 1 and whole and entry["suite"] != suite:
            raise FailedWork(_broken(file, number, f"is of the suite {entry['suite']}, not of {suite}"))
        if not whole or entry["previous"] != previous:
            raise FailedWork(_broken(file, number, "is not what was written there, or the one before it is gone"))
        previous = entry["hash"]
        found.append(entry)
    return found


def _broken(file: str, number: int, what: str) -> str:
    return (
        f"{file}: entry {number} {what}\n"
        "  nothing is selected or opened on a ledger that does not hold together; put the last whole copy back"
    )


def _file(store: Store, suite: str) -> str:
    return store.path(f"ledgers/{suite}.jsonl")


def _genesis(suite: str) -> str:
    return fingerprint(["ledger", suite])


@contextmanager
def _locked(store: Store, suite: str) -> Iterator[list[Entry]]:
    (store.scratch / "locks").mkdir(parents=True, exist_ok=True)
    with FileLock(store.scratch / "locks" / f"ledger {suite}.lock"):
        yield entries(store, suite)


def _append(store: Store, suite: str, before: Sequence[Entry], entry: Entry) -> Entry:
    """Write the ledger with one more entry; it is replaced at once, so that a writer that dies leaves a whole one."""
    previous = before[-1]["hash"] if before else _genesis(suite)
    entry = {"number": len(before) + 1, "suite": suite, **entry, "previous": previous}
    entry["hash"] = fingerprint(entry)
    file = _file(store, suite)
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in [*before, entry])
    store.fs.makedirs(posixpath.dirname(file), exist_ok=True)
    store.fs.pipe_file(f"{file}.incoming", text.encode())
    store.fs.mv(f"{file}.incoming", file)
    return entry


def openings(ledger: Sequence[Entry]) -> list[Entry]:
    """The openings that count: a read that goes on with an opening, after it was stopped, is none of its own."""
    return [entry for entry in ledger if entry["kind"] == "opening" and entry["continues"] is None]


def record_selection(
    store: Store, suite: str, experiment: str, request: str, dev_sha256: str, reason: str | None, clock: Clock
) -> dict[str, Any]:
    """Write down that a checkpoint is chosen on the dev tasks of a suite; once a request.

    Args:
        request: what is asked of the decision; the same request is the same selection.
        dev_sha256: identity of the dev tasks.
        reason: why it is made though the held-out tasks of the suite have been opened.

    Returns:
        the state of the ledger at this selection, for its certificate: `openings_before`, `reopened`, and
        `selections_on_these_dev_tasks`, this one included.

    Raises:
        FailedWork: when they have been opened and there is no reason.
    """
    with _locked(store, suite) as ledger:
        own = next((e for e in ledger if e["kind"] == "selection" and e["request"] == request), None)
        if own is None:
            if (opened := openings(ledger)) and not reason:
                raise FailedWork(_closed(suite, opened[-1], "a selection made now could be led by what was seen"))
            content = {"experiment": experiment, "request": request, "dev_sha256": dev_sha256}
            reopened = reason if openings(ledger) else None
            own = _append(store, suite, ledger, {"kind": "selection", **content, "reopened": reopened, "time": clock()})
        before = [entry for entry in ledger if entry["number"] < own["number"]]
        same = {e["request"] for e in before if e["kind"] == "selection" and e["dev_sha256"] == dev_sha256}
        return {
            "openings_before": [opening_line(entry) for entry in openings(before)],
            "reopened": own["reopened"],
            "selections_on_these_dev_tasks": len(same) + 1,
        }


def open_heldout(
    store: Store, suite: str, manifest: dict, entry: Entry, reason: str | None, clock: Clock
) -> tuple[list[dict], Entry]:
    """Write down an opening of the held-out tasks of a suite, and only then hand them out.

    Args:
        manifest: of the held-out tasks.
        entry: `experiment`, `request` and `selection` (the requests of the evaluation and of the decision), `why`,
            `policies` and `contrasts`.
        reason: why it is opened again.

    Returns:
        the rows of the tasks, and the entry.

    Raises:
        FailedWork: when the tasks have been opened for this experiment, or before its selection, and there is no
            reason; the same request goes on with its own opening.
    """
    ref = Ref("heldout_tasks", suite)
    with _locked(store, suite) as ledger:
        counted = openings(ledger)
        same = next((e for e in counted if e["request"] == entry["request"]), None)
        own = [e for e in counted if e["experiment"] == entry["experiment"]]
        if same is None and own and not reason:
            raise FailedWork(_closed(suite, own[-1], "a second look makes the first one part of the search"))
        made = next(
            (e for e in ledger if e["kind"] == "selection" and e["request"] == entry["selection"]),
            None,
        )
        if made is None:
            raise FailedWork(f"the ledger of {suite} has no entry of this selection; make the decision again")
        earlier = [e for e in counted if e["number"] < made["number"]]
        if same is None and earlier and not (made["reopened"] or reason):
            raise FailedWork(_closed(suite, earlier[-1], "the selection was made after it"))
        written = {
            "kind": "opening",
            **entry,
            "heldout_sha256": manifest["fingerprint"],
            "continues": same["number"] if same else None,
            "reopened": same["reopened"] if same else (reason or made["reopened"]) if own or earlier else None,
            "time": clock(),
        }
        recorded = _append(store, suite, ledger, written)
    folder = store.local_folder(ref, manifest)
    return read_table(folder / "heldout_tasks.parquet"), recorded


def opening_line(entry: Entry) -> dict[str, Any]:
    """What later summaries say of an opening."""
    return {name: entry[name] for name in ("number", "experiment", "why", "reopened")}


def _closed(suite: str, opening: Entry, why: str) -> str:
    return (
        f"the held-out tasks of {suite} were opened for {opening['experiment']} ({opening['time']}): {why}\n"
        '  what was decided stays; to go on all the same, on the record: --reopen "REASON"'
    )


def missing_in_store(project: Project, suite: str) -> tuple[int, int, str]:
    """Look a ledger over, also against what lies in the store: the end of one that was cut off leaves no other trace.

    Returns:
        its entries, the openings that count, and what is wrong with it, "" where nothing is.
    """
    try:
        return _looked_over(project, suite)
    except (FailedWork, DamagedArtifact) as broken:
        return 0, 0, str(broken)


def _looked_over(project: Project, suite: str) -> tuple[int, int, str]:
    ledger = entries(project.store, suite)
    recorded = {(entry["kind"], entry["request"]) for entry in ledger}
    for name, experiment in project.catalog.experiments.items():
        for kind, asset in (("selection", "selected_checkpoint"), ("opening", "heldout_evaluation")):
            manifest = project.store.manifest(Ref(asset, name)) if experiment.suite == suite else None
            if manifest and manifest["settings"]["code"] < CODE[asset]:
                continue  # older than ledgers are
            if manifest and (kind, manifest["request"]) not in recorded:
                return len(ledger), len(openings(ledger)), f"it has no entry of the {kind} of {name}: its end is gone"
    return len(ledger), len(openings(ledger)), ""
