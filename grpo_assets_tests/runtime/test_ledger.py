"""The ledger keeps every opening and every selection, refuses what comes too late, and shows when it was touched."""

import json
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.lineage import CODE, Ref
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.schemas import TASKS
from grpo_assets.runtime.ledger import (
    entries,
    missing_in_store,
    open_heldout,
    opening_line,
    openings,
    record_selection,
)
from grpo_assets.runtime.store import DamagedArtifact, Store, place, write_table
from grpo_assets_tests.builders import LAW, task_row

SUITE = "few"
DEV = "d" * 64
PARTS = {"request": "r", "inputs": {}, "settings": {}, "facts": {}, "pages": {}, "checks": {}}
ROWS = [task_row(name, split="heldout") for name in ("rev-1", "rev-2")]


class Suite(NamedTuple):
    """A store with held-out tasks, and what a test does on its ledger, a second apart."""

    store: Store
    manifest: dict
    clock: Callable[[], str]

    def select(self, experiment: str, request: str = "", reason: str | None = None, dev: str = DEV) -> dict[str, Any]:
        """Record a selection; its request is called for the experiment."""
        asked = request or f"select {experiment}"
        return record_selection(self.store, SUITE, experiment, asked, dev, reason, self.clock)

    def open(
        self, experiment: str, request: str = "", reason: str | None = None, selection: str = ""
    ) -> tuple[list[dict], dict]:
        """Open the held-out tasks for an experiment."""
        entry = {
            "experiment": experiment,
            "request": request or f"open {experiment}",
            "selection": selection or f"select {experiment}",
            "why": f"final evaluation of {experiment}",
            "policies": ["untrained", "a"],
            "contrasts": [],
        }
        return open_heldout(self.store, SUITE, self.manifest, entry, reason, self.clock)

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The entries."""
        return entries(self.store, SUITE)

    @property
    def file(self) -> Path:
        """Where they lie, on a local disk."""
        return Path(self.store.path(f"ledgers/{SUITE}.jsonl"))


def suite(store: Store) -> Suite:
    """A suite whose held-out tasks are in the store."""
    ref = Ref("heldout_tasks", SUITE)
    with store.draft(ref) as draft:
        write_table(draft / "heldout_tasks.parquet", ROWS, TASKS)
        manifest = store.commit(ref, draft, {**PARTS, "fingerprint": "held out"})
    seconds = count()
    return Suite(store, manifest, lambda: f"2026-12-01T00:00:{next(seconds):02}+00:00")


@pytest.fixture
def few(tmp_path: Path) -> Suite:
    """A suite on disk."""
    return suite(Store(str(tmp_path / "store"), tmp_path / "scratch"))


@pytest.fixture(params=["disk", "memory"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Suite:
    """A suite on either file system."""
    root = str(tmp_path / "store") if request.param == "disk" else f"memory://{tmp_path.name}"
    return suite(Store(root, tmp_path / "scratch"))


def kinds(ledger: Sequence[dict]) -> list[tuple[str, str]]:
    return [(entry["kind"], entry["experiment"]) for entry in ledger]


# Selections.


def test_where_nothing_has_happened_the_ledger_is_empty(anywhere: Suite) -> None:
    """A suite without a file has no entries, and looking makes none."""
    assert anywhere.ledger == []
    assert not anywhere.store.fs.exists(anywhere.store.path("ledgers"))


def test_a_selection_is_written_down(anywhere: Suite) -> None:
    """Its entry says what was selected on which dev tasks and when, and is chained to the name of the suite."""
    told = anywhere.select("mini")

    assert told == {"openings_before": [], "reopened": None, "selections_on_these_dev_tasks": 1}
    (entry,) = anywhere.ledger
    assert entry == {
        "number": 1,
        "suite": SUITE,
        "kind": "selection",
        "experiment": "mini",
        "request": "select mini",
        "dev_sha256": DEV,
        "reopened": None,
        "time": "2026-12-01T00:00:00+00:00",
        "previous": fingerprint(["ledger", SUITE]),
        "hash": entry["hash"],
    }
    assert entry["hash"] == fingerprint({name: value for name, value in entry.items() if name != "hash"})


def test_each_entry_holds_the_hash_of_the_one_before(few: Suite) -> None:
    """A chain from the first entry to the last one."""
    for name in "abc":
        few.select(name)

    ledger = few.ledger
    assert [entry["number"] for entry in ledger] == [1, 2, 3]
    assert [entry["previous"] for entry in ledger[1:]] == [entry["hash"] for entry in ledger[:2]]
    assert [entry["time"][-8:-6] for entry in ledger] == ["00", "01", "02"]


def test_the_same_request_is_one_selection(few: Suite) -> None:
    """Made again it writes nothing and is told the same, whatever happened since."""
    first = few.select("mini")
    few.select("other")
    few.open("other")

    assert few.select("mini") == first
    assert kinds(few.ledger) == [("selection", "mini"), ("selection", "other"), ("opening", "other")]


def test_selections_are_counted_on_the_same_dev_tasks(few: Suite) -> None:
    """Each request that was decided on these dev tasks counts, of whatever experiment, and no other one."""
    counts = [
        few.select("a")["selections_on_these_dev_tasks"],
        few.select("b", dev="another")["selections_on_these_dev_tasks"],
        few.select("c")["selections_on_these_dev_tasks"],
        few.select("a", "changed")["selections_on_these_dev_tasks"],
        few.select("a")["selections_on_these_dev_tasks"],  # the first one again
    ]

    assert counts == [1, 1, 2, 3, 1]


def test_suites_have_ledgers_of_their_own(few: Suite) -> None:
    """What happens on one says nothing of another."""
    few.select("mini")

    assert entries(few.store, "another") == []


def test_a_selection_after_an_opening_is_refused_without_a_reason(few: Suite) -> None:
    """What was seen could lead it; the ledger stays as it was, and the way on is named."""
    few.select("mini")
    few.open("mini")
    before = few.file.read_bytes()

    with pytest.raises(FailedWork) as refused:
        few.select("mini", "changed")

    assert "the held-out tasks of few were opened for mini (2026-12-01T00:00:01+00:00)" in str(refused.value)
    assert '--reopen "REASON"' in str(refused.value)
    assert few.file.read_bytes() == before


def test_a_selection_after_an_opening_is_made_with_a_reason_that_stays(few: Suite) -> None:
    """The reason is in the entry and in what the certificate says, also when it is made again without one."""
    few.select("mini")
    _, opening = few.open("mini")

    told = few.select("mini", "changed", reason="the verifier was wrong")

    assert few.ledger[-1]["reopened"] == "the verifier was wrong"
    assert told == {
        "openings_before": [opening_line(opening)],
        "reopened": "the verifier was wrong",
        "selections_on_these_dev_tasks": 2,
    }
    assert few.select("mini", "changed") == told


@pytest.mark.parametrize("reason", [None, ""])
def test_an_empty_reason_is_none(few: Suite, reason: str | None) -> None:
    """Saying nothing is no reason."""
    few.select("mini")
    few.open("mini")

    with pytest.raises(FailedWork):
        few.select("other", reason=reason)
    with pytest.raises(FailedWork):
        few.open("mini", "again", reason=reason)


def test_a_reason_that_was_not_needed_is_not_kept(few: Suite) -> None:
    """Without an opening before it nothing was reopened."""
    assert few.select("mini", reason="just in case")["reopened"] is None
    assert few.open("mini", reason="just in case")[1]["reopened"] is None
    assert [entry["reopened"] for entry in few.ledger] == [None, None]


# Openings.


def test_an_opening_hands_out_the_tasks_and_is_written_down(anywhere: Suite) -> None:
    """The entry says for what, with which policies and of which tasks."""
    anywhere.select("mini")

    rows, entry = anywhere.open("mini")

    assert rows == ROWS
    assert entry == anywhere.ledger[-1]
    told = {
        "number": 2,
        "suite": SUITE,
        "kind": "opening",
        "experiment": "mini",
        "request": "open mini",
        "selection": "select mini",
        "why": "final evaluation of mini",
        "policies": ["untrained", "a"],
        "contrasts": [],
        "heldout_sha256": "held out",
        "continues": None,
        "reopened": None,
        "time": "2026-12-01T00:00:01+00:00",
    }
    assert {name: entry[name] for name in told} == told
    assert opening_line(entry) == {
        "number": 2,
        "experiment": "mini",
        "why": "final evaluation of mini",
        "reopened": None,
    }


def test_an_opening_needs_its_selection(few: Suite) -> None:
    """Without an entry of the decision nothing is opened or written, whatever the reason is."""
    few.select("other")

    for reason in (None, "because"):
        with pytest.raises(FailedWork, match="the ledger of few has no entry of this selection"):
            few.open("mini", reason=reason)
    assert kinds(few.ledger) == [("selection", "other")]


def test_a_second_opening_for_an_experiment_is_refused_without_a_reason(few: Suite) -> None:
    """A second look makes the first one part of the search."""
    few.select("mini")
    few.open("mini")

    with pytest.raises(FailedWork, match="a second look makes the first one part of the search"):
        few.open("mini", "with more samples")
    assert len(few.ledger) == 2


def test_a_second_opening_with_a_reason_counts_and_keeps_it(few: Suite) -> None:
    """Both openings are told from then on."""
    few.select("mini")
    few.open("mini")

    rows, entry = few.open("mini", "with more samples", reason="power was too low")

    assert rows == ROWS
    assert entry["reopened"] == "power was too low"
    assert [opening["number"] for opening in openings(few.ledger)] == [2, 3]


def test_the_same_request_goes_on_with_its_opening(few: Suite) -> None:
    """A read after a stop needs no reason, is written down, keeps the reason of its opening and is not counted."""
    few.select("mini")
    few.open("mini")
    few.open("mini", "again", reason="a reason")

    first, second = few.open("mini")[1], few.open("mini", "again")[1]

    assert (first["continues"], first["reopened"]) == (2, None)
    assert (second["continues"], second["reopened"]) == (3, "a reason")
    assert len(few.ledger) == 5
    assert [opening["number"] for opening in openings(few.ledger)] == [2, 3]


def test_what_goes_on_is_no_opening_before_a_selection(few: Suite) -> None:
    """The certificate of a later selection tells the opening once."""
    few.select("mini")
    few.open("mini")
    few.open("mini")

    told = few.select("mini", "changed", reason="why")

    assert [line["number"] for line in told["openings_before"]] == [2]


def test_experiments_that_were_both_decided_before_are_both_opened(few: Suite) -> None:
    """What was decided before anything was seen needs no reason, though another one was opened first."""
    few.select("a")
    few.select("b")
    few.open("a")

    rows, entry = few.open("b")

    assert rows == ROWS
    assert entry["reopened"] is None
    assert len(openings(few.ledger)) == 2


def test_a_selection_that_was_made_after_an_opening_carries_its_reason_to_its_own(few: Suite) -> None:
    """The reason that was given when it was selected is the reason of its opening."""
    few.select("a")
    few.open("a")
    few.select("b", reason="another question")

    _, entry = few.open("b")

    assert entry["reopened"] == "another question"


def test_a_reason_at_the_opening_comes_before_that_of_the_selection(few: Suite) -> None:
    """The later one is nearer to what is done."""
    few.select("a")
    few.open("a")
    few.select("b", reason="another question")

    assert few.open("b", reason="said again")[1]["reopened"] == "said again"


def test_the_reason_of_a_selection_is_none_for_a_second_look(few: Suite) -> None:
    """An experiment that was opened, and selected again with a reason, is opened again with one of its own."""
    few.select("mini")
    few.open("mini")
    few.select("mini", "select again", reason="to select")

    with pytest.raises(FailedWork, match="a second look"):
        few.open("mini", "open again", selection="select again")
    assert few.open("mini", "open again", "to look", selection="select again")[1]["reopened"] == "to look"


def test_the_entry_is_on_disk_before_the_tasks_are_handed_out(few: Suite) -> None:
    """A read that fails was an opening; put right, the same request goes on with it."""
    few.select("mini")
    parquet = Path(few.store.path(f"{place(Ref('heldout_tasks', SUITE)).folder}/heldout_tasks.parquet"))
    content = parquet.read_bytes()
    parquet.unlink()

    with pytest.raises(DamagedArtifact, match="is gone"):
        few.open("mini")

    assert kinds(few.ledger) == [("selection", "mini"), ("opening", "mini")]
    parquet.write_bytes(content)
    rows, entry = few.open("mini")
    assert rows == ROWS
    assert entry["continues"] == 2
    assert len(openings(few.ledger)) == 1


def test_other_tasks_than_the_manifest_s_are_not_handed_out(few: Suite) -> None:
    """The rows are compared with their hash."""
    few.select("mini")
    Path(few.store.path(f"{place(Ref('heldout_tasks', SUITE)).folder}/heldout_tasks.parquet")).write_bytes(b"others")

    with pytest.raises(DamagedArtifact):
        few.open("mini")


# Tampering.


def written(few: Suite) -> list[str]:
    """The lines of a ledger with two selections and three openings."""
    few.select("a")
    few.select("b")
    few.open("a")
    few.open("b")
    few.open("a", "again", reason="more samples")
    return few.file.read_text("utf-8").splitlines(keepends=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Suite, list[str]]:
    """A suite with a ledger, for laws that write over it."""
    folder = tmp_path_factory.mktemp("ledger")
    few = suite(Store(str(folder / "store"), folder / "scratch"))
    return few, written(few)


def refused(few: Suite, text: str | bytes) -> None:
    """Nothing is read, selected or opened on a ledger with this content."""
    content = text.encode() if isinstance(text, str) else text
    few.file.write_bytes(content)
    for attempt in (lambda: few.ledger, lambda: few.select("new"), lambda: few.open("a")):
        with pytest.raises(FailedWork, match=r"ledgers/few\.jsonl: entry \d+ "):
            attempt()
    assert few.file.read_bytes() == content


VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 1) | st.text(max_size=5) | st.just([])


@LAW
@given(line=st.integers(0, 4), field=st.integers(0, 20), value=VALUES)
def test_a_changed_field_is_found(whole: tuple[Suite, list[str]], line: int, field: int, value: Any) -> None:
    """Whatever field of whatever entry is changed to whatever."""
    few, lines = whole
    entry = json.loads(lines[line])
    name = sorted(entry)[field % len(entry)]
    changed = {**entry, name: value}
    if fingerprint(changed) != fingerprint(entry):
        refused(few, "".join([*lines[:line], json.dumps(changed) + "\n", *lines[line + 1 :]]))


@LAW
@given(line=st.integers(0, 4), field=st.integers(0, 20))
def test_a_field_that_is_gone_or_new_is_found(whole: tuple[Suite, list[str]], line: int, field: int) -> None:
    """An entry has the fields that were written and no others."""
    few, lines = whole
    entry = json.loads(lines[line])
    name = sorted(entry)[field % len(entry)]
    shorter = {key: value for key, value in entry.items() if key != name}
    for changed in (shorter, {**entry, "note": "added"}):
        refused(few, "".join([*lines[:line], json.dumps(changed) + "\n", *lines[line + 1 :]]))


@pytest.mark.parametrize("removed", [{0}, {1}, {3}, {0, 1}, {1, 2, 3}, {0, 4}])
def test_removed_lines_are_found(whole: tuple[Suite, list[str]], removed: set[int]) -> None:
    """Any that had an entry after them."""
    few, lines = whole

    refused(few, "".join(line for number, line in enumerate(lines) if number not in removed))


@LAW
@given(st.permutations(range(5)))
def test_another_order_is_found(whole: tuple[Suite, list[str]], order: list[int]) -> None:
    """A swapped pair, and any other order than the one in which things happened."""
    few, lines = whole
    if order != sorted(order):
        refused(few, "".join(lines[number] for number in order))


@LAW
@given(place=st.integers(0, 5), copied=st.integers(0, 4))
def test_an_added_line_is_found(whole: tuple[Suite, list[str]], place: int, copied: int) -> None:
    """A copy of an entry, wherever it is put, as it is or with another number and a hash of its own."""
    few, lines = whole
    forged = {**json.loads(lines[copied]), "number": place + 1}
    forged["hash"] = fingerprint({name: value for name, value in forged.items() if name != "hash"})
    for line in (lines[copied], json.dumps(forged) + "\n"):
        refused(few, "".join([*lines[:place], line, *lines[place:]]))


def test_an_entry_that_was_forged_in_the_middle_breaks_the_chain(whole: tuple[Suite, list[str]]) -> None:
    """Even with a right hash of its own, the next entry still holds the old one."""
    few, lines = whole
    forged = {**json.loads(lines[2]), "why": "nothing to see here"}
    forged["hash"] = fingerprint({name: value for name, value in forged.items() if name != "hash"})

    refused(few, "".join([*lines[:2], json.dumps(forged) + "\n", *lines[3:]]))


@LAW
@given(place=st.integers(0, 5), garbage=st.binary(max_size=20).filter(lambda b: b"\n" not in b and b"\r" not in b))
def test_garbage_is_found(whole: tuple[Suite, list[str]], place: int, garbage: bytes) -> None:
    """Bytes that are no entry, an empty line included."""
    few, lines = whole

    refused(few, "".join(lines[:place]).encode() + garbage + b"\n" + "".join(lines[place:]).encode())


@pytest.mark.parametrize(
    "garbage",
    ["null", "[]", "{}", '"text"', "1", "NaN", '{"hash": NaN, "number": 6}', '{"hash": "x"}', "{" * 9, "[" * 100_000],
    ids=lambda text: text[:10],
)
@pytest.mark.parametrize("place", [0, 2, 5])
def test_json_that_is_no_entry_is_found(whole: tuple[Suite, list[str]], place: int, garbage: str) -> None:
    """Whatever else can be written as JSON."""
    few, lines = whole

    refused(few, "".join([*lines[:place], garbage + "\n", *lines[place:]]))


@pytest.mark.parametrize("content", [{}, {"suite": SUITE}, {"previous": None}], ids=str)
@pytest.mark.parametrize("place", [0, 5])
def test_an_entry_with_a_right_hash_that_lacks_fields_is_found(
    whole: tuple[Suite, list[str]], place: int, content: dict
) -> None:
    """A hash is easily made, and the rest must be there too."""
    few, lines = whole
    entry = {"number": place + 1, **content}

    refused(few, "".join([*lines[:place], json.dumps({**entry, "hash": fingerprint(entry)}) + "\n", *lines[place:]]))


@LAW
@given(where=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_changed_byte_is_found_or_changes_nothing(whole: tuple[Suite, list[str]], where: int, byte: int) -> None:
    """One byte of the file is changed: either that is refused or the entries are what they were."""
    few, lines = whole
    content = bytearray("".join(lines).encode())
    few.file.write_bytes(bytes(content))
    before = few.ledger
    content[where % len(content)] = byte
    few.file.write_bytes(bytes(content))

    try:
        after = few.ledger
    except FailedWork:
        return
    assert after == before


@pytest.mark.parametrize("lines_left", [1, 3, 5])
def test_a_ledger_of_another_suite_is_found(few: Suite, lines_left: int) -> None:
    """It begins with the name of its suite."""
    lines = written(few)
    copy = few.file.with_name("another.jsonl")
    copy.write_text("".join(lines[:lines_left]), encoding="utf-8")

    with pytest.raises(FailedWork, match=r"another\.jsonl: entry 1 is of the suite few, not of another"):
        entries(few.store, "another")


def test_a_ledger_of_another_suite_with_its_name_changed_is_found(few: Suite) -> None:
    """The chain itself begins with the name."""
    entry = {**json.loads(written(few)[0]), "suite": "another"}
    entry["hash"] = fingerprint({name: value for name, value in entry.items() if name != "hash"})
    few.file.with_name("another.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")

    with pytest.raises(FailedWork, match=r"another\.jsonl: entry 1 "):
        entries(few.store, "another")


def test_a_broken_ledger_says_where_and_what_to_do(few: Suite) -> None:
    """The message names the file, the entry and the way out."""
    lines = written(few)
    few.file.write_text("".join([*lines[:2], *lines[3:]]), encoding="utf-8")

    with pytest.raises(FailedWork) as broken:
        _ = few.ledger

    assert str(broken.value) == (
        f"{few.file}: entry 3 is not what was written there, or the one before it is gone\n"
        "  nothing is selected or opened on a ledger that does not hold together; put the last whole copy back"
    )


# What lies in the store beside the ledger.


def project_of(few: Suite) -> Any:
    """What is read of a project: its store, and one experiment on the suite and one on another."""
    experiments = {"mini": SimpleNamespace(suite=SUITE), "else": SimpleNamespace(suite="another")}
    return SimpleNamespace(store=few.store, catalog=SimpleNamespace(experiments=experiments))


def keep(few: Suite, asset: str, experiment: str, request: str, code: int | None = None) -> None:
    """An artifact of an experiment that answers a request."""
    ref = Ref(asset, experiment)
    settings = {"code": CODE[asset] if code is None else code}
    with few.store.draft(ref) as draft:
        (draft / f"{asset}.json").write_text("{}", encoding="utf-8")
        few.store.commit(ref, draft, {**PARTS, "request": request, "fingerprint": "f", "settings": settings})


def test_a_ledger_that_agrees_with_the_store_is_whole(few: Suite) -> None:
    """Its entries and its openings are counted; a continued opening counts once."""
    few.select("mini")
    few.open("mini")
    few.open("mini")
    keep(few, "selected_checkpoint", "mini", "select mini")
    keep(few, "heldout_evaluation", "mini", "open mini")
    keep(few, "selected_checkpoint", "else", "on another suite")

    assert missing_in_store(project_of(few), SUITE) == (3, 1, "")


@pytest.mark.parametrize(
    ("left", "found"),
    [
        (1, (1, 0, "it has no entry of the opening of mini: its end is gone")),
        (0, (0, 0, "it has no entry of the selection of mini: its end is gone")),
    ],
)
def test_an_end_that_was_cut_off_is_found_by_what_lies_in_the_store(few: Suite, left: int, found: tuple) -> None:
    """A chain without its end holds together; the artifacts that it let through tell that it had one."""
    few.select("mini")
    few.open("mini")
    keep(few, "selected_checkpoint", "mini", "select mini")
    keep(few, "heldout_evaluation", "mini", "open mini")
    lines = few.file.read_text("utf-8").splitlines(keepends=True)
    few.file.write_text("".join(lines[:left]), encoding="utf-8")

    assert missing_in_store(project_of(few), SUITE) == found


def test_decisions_that_are_older_than_ledgers_have_no_entry(few: Suite) -> None:
    """What was made by older code was never recorded."""
    keep(few, "selected_checkpoint", "mini", "long ago", code=CODE["selected_checkpoint"] - 1)

    assert missing_in_store(project_of(few), SUITE) == (0, 0, "")


def test_a_broken_ledger_is_told_and_not_raised(few: Suite) -> None:
    """Looking it over says what is wrong."""
    few.select("mini")
    few.file.write_text("garbage\n", encoding="utf-8")

    assert missing_in_store(project_of(few), SUITE)[:2] == (0, 0)
    assert "entry 1 is no entry" in missing_in_store(project_of(few), SUITE)[2]


# Several writers at once.


def select_several(root: str, scratch: Path, writer: int, times: int) -> None:
    """Record selections from a process of its own."""
    store = Store(root, scratch)
    for number in range(times):
        record_selection(store, SUITE, f"w{writer}", f"{writer} {number}", DEV, None, lambda: "now")


def test_threads_that_append_at_once_lose_nothing(few: Suite) -> None:
    """Each entry is there once, and the chain holds."""
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda number: few.select(f"e{number % 40}"), range(80)))

    assert sorted(entry["experiment"] for entry in few.ledger) == sorted(f"e{number}" for number in range(40))
    counts = sorted(found["selections_on_these_dev_tasks"] for found in told)
    assert counts == sorted([*range(1, 41), *range(1, 41)])


def test_processes_that_append_at_once_lose_nothing(few: Suite) -> None:
    """Two processes that know nothing of each other write one chain."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawned) as pool:
        writers = [pool.submit(select_several, few.store.root, few.store.scratch, writer, 20) for writer in (1, 2)]
        for writer in writers:
            writer.result()

    assert len(few.ledger) == 40
    assert sorted(entry["request"] for entry in few.ledger) == sorted(f"{w} {n}" for w in (1, 2) for n in range(20))


def test_of_two_that_open_at_once_one_is_refused(few: Suite) -> None:
    """Two evaluations of one experiment cannot both be the first look."""
    few.select("mini")

    def attempt(request: str) -> bool:
        try:
            few.open("mini", request)
        except FailedWork:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        opened = list(pool.map(attempt, ["one", "two"]))

    assert sorted(opened) == [False, True]
    assert len(openings(few.ledger)) == 1


def test_a_writer_that_dies_leaves_a_whole_ledger(few: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the new file is in its place the old one is."""
    few.select("a")
    before = few.ledger

    def killed(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(few.store.fs, "mv", killed)
    with pytest.raises(KeyboardInterrupt):
        few.select("b")
    monkeypatch.undo()

    assert few.ledger == before
    assert few.select("b")["selections_on_these_dev_tasks"] == 2
