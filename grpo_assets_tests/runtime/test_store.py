"""The store keeps artifacts whole: complete or absent, and what their manifests say."""

from pathlib import Path

import pyarrow as pa
import pytest

from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.schemas import CURRICULUM
from grpo_assets.runtime.store import DamagedArtifact, Store, place, read_table, write_table

REF = Ref("curriculum", "a.static.g4")
MANIFEST = {"request": "r", "fingerprint": "f", "inputs": {}, "settings": {}, "facts": {}, "pages": {}, "checks": {}}


def written(store: Store, files: dict[str, str], ref: Ref = REF) -> dict:
    with store.draft(ref) as draft:
        for name, text in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_text(text, encoding="utf-8")
        return store.commit(ref, draft, MANIFEST)


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    root = str(tmp_path / "store") if request.param == "disk" else f"memory://{tmp_path.name}"
    return Store(root, tmp_path / "scratch")


def test_a_committed_artifact_can_be_read_back(store: Store) -> None:
    """A commit puts every file in place and returns the manifest that is read back."""
    manifest = written(store, {"a.txt": "one", "deep/b.txt": "two"})

    folder = store.local_folder(REF, manifest)

    assert store.manifest(REF) == manifest
    assert (folder / "a.txt").read_text() == "one"
    assert (folder / "deep" / "b.txt").read_text() == "two"


def test_a_new_commit_leaves_no_file_of_the_old_one(store: Store) -> None:
    """An artifact holds the files of its last commit and no others."""
    written(store, {"old.txt": "old", "both.txt": "old"})
    manifest = written(store, {"new.txt": "new", "both.txt": "new"})

    names = {Path(name).name for name in store.fs.ls(store.path(place(REF).folder), detail=False)}

    assert names == {"new.txt", "both.txt", "manifest.json"}
    assert (store.local_folder(REF, manifest) / "both.txt").read_text() == "new"


@pytest.mark.parametrize("change", ["shorter", "same length", "gone"])
def test_a_changed_file_is_found(store: Store, change: str) -> None:
    """A file that is not what the manifest describes is refused by name."""
    manifest = written(store, {"a.txt": "one"})
    file = store.path(f"{place(REF).folder}/a.txt")
    if change == "gone":
        store.fs.rm(file)
    else:
        store.fs.pipe_file(file, b"on" if change == "shorter" else b"two")

    with pytest.raises(DamagedArtifact, match=r"curriculum/a\.static\.g4/a\.txt is"):
        store.local_folder(REF, manifest)


def test_a_commit_that_breaks_off_leaves_the_old_artifact_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the new files are still being copied, the old artifact is complete and intact."""
    store = Store(str(tmp_path / "store"), tmp_path / "scratch")
    before = written(store, {"a.txt": "old", "b.txt": "old"})

    def full_disk(local: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.fs, "put_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        written(store, {"a.txt": "new"})

    assert store.manifest(REF) == before
    store.check(REF, before)


def test_a_commit_killed_between_files_leaves_nothing_that_looks_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the first file is replaced there is no manifest, so the artifact counts as missing."""
    store = Store(str(tmp_path / "store"), tmp_path / "scratch")
    written(store, {"a.txt": "old", "b.txt": "old"})
    move, moved = store.fs.mv, []

    def killed_at_second_file(source: str, target: str) -> None:
        if moved:
            raise KeyboardInterrupt
        moved.append(target)
        move(source, target)

    monkeypatch.setattr(store.fs, "mv", killed_at_second_file)
    with pytest.raises(KeyboardInterrupt):
        written(store, {"a.txt": "new", "b.txt": "new"})
    monkeypatch.undo()

    assert store.manifest(REF) is None
    assert written(store, {"a.txt": "new", "b.txt": "new"}) == store.manifest(REF)


def test_a_draft_is_gone_after_an_error(tmp_path: Path) -> None:
    """A body that fails leaves no draft behind."""
    store = Store(str(tmp_path / "store"), tmp_path / "scratch")

    def fail() -> None:
        with store.draft(REF) as draft:
            (draft / "half").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert not list((tmp_path / "scratch" / "drafts").iterdir())


def test_a_draft_of_a_killed_writer_is_not_mixed_into_the_next(tmp_path: Path) -> None:
    """A draft starts empty, whatever a killed writer left."""
    store = Store(str(tmp_path / "store"), tmp_path / "scratch")
    with store.draft(REF) as draft:
        left = draft
    left.mkdir()
    (left / "half").write_text("half")

    with store.draft(REF) as draft:
        assert draft == left
        assert not list(draft.iterdir())


def test_artifacts_of_an_experiment_share_its_folder(tmp_path: Path) -> None:
    """Plan and table lie in one folder, and neither commit touches the other's files."""
    store = Store(str(tmp_path / "store"), tmp_path / "scratch")
    plan, table = Ref("experiment_plan", "e"), Ref("experiment_table", "e")
    written(store, {"plan.md": "plan"}, plan)
    written(store, {"summary.json": "{}"}, table)
    written(store, {"plan.md": "other plan"}, plan)

    for ref in (plan, table):
        manifest = store.manifest(ref)
        assert manifest is not None
        store.check(ref, manifest)
    assert (tmp_path / "store" / "experiments" / "e" / "summary.json").exists()


def test_a_failure_goes_when_the_artifact_is_made(store: Store) -> None:
    """A recorded failure stays until the next commit."""
    store.record_failure(REF, {"request": "r", "reason": "why"})
    assert store.failure(REF) == {"request": "r", "reason": "why"}

    written(store, {"a.txt": "one"})

    assert store.failure(REF) is None


ROW = {"position": 0, "task_id": "a", "task_key": "k", "p_informative": 0.5, "p_informative_sd": 0.1, "unbiased": None}


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Rows survive Parquet."""
    write_table(tmp_path / "t.parquet", [ROW], CURRICULUM)

    assert read_table(tmp_path / "t.parquet") == [ROW]


def test_maps_come_back_as_dicts(tmp_path: Path) -> None:
    """A column of maps is written from dicts and read as dicts."""
    schema = pa.schema([pa.field("rewards", pa.map_(pa.string(), pa.float64()))])
    rows = [{"rewards": {"a": 1.0, "b": None}}, {"rewards": None}]
    write_table(tmp_path / "t.parquet", rows, schema)

    assert read_table(tmp_path / "t.parquet") == rows


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "extra": 1},  # a column that the schema has not
        {**ROW, "task_key": None},  # a null where none may be
        {key: ROW[key] for key in ("position", "task_id")},  # a missing column
    ],
)
def test_a_row_that_does_not_fit_is_refused(tmp_path: Path, row: dict) -> None:
    """A table is written only when every row fits its schema."""
    with pytest.raises(ValueError, match=r"extra|null"):
        write_table(tmp_path / "t.parquet", [row], CURRICULUM)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"\xff", b'{"request": ', b"null"])
def test_a_manifest_that_is_none_is_damage_and_can_be_written_over(store: Store, content: bytes) -> None:
    """Whatever lies in its place is named, and the next commit puts it right."""
    manifest = written(store, {"a.txt": "one"})
    store.fs.pipe_file(store.path(place(REF).manifest), content)

    with pytest.raises(DamagedArtifact, match=r"manifest\.json is not what was written there"):
        store.manifest(REF)
    assert written(store, {"a.txt": "one"}) == manifest == store.manifest(REF)


VARIANT = Ref("checkpoint", "mini/a")


def commit(store: Store, fingerprint: str, text: str) -> dict:
    """A checkpoint of one version."""
    with store.draft(VARIANT) as draft:
        (draft / "adapter").mkdir()
        (draft / "adapter" / "weights").write_text(text, encoding="utf-8")
        return store.commit(VARIANT, draft, {**MANIFEST, "fingerprint": fingerprint})


def test_a_superseded_checkpoint_is_kept_under_its_fingerprint(store: Store) -> None:
    """Its files and its manifest stay until they are dropped; the new one is in the variant's folder."""
    commit(store, "first", "old")
    commit(store, "second", "new")

    kept = store.path("superseded/first")

    assert {name: what for name, (what, _) in store.superseded().items()} == {"first": "checkpoint mini/a"}
    assert store.superseded()["first"][1] > 3
    assert store.fs.cat_file(f"{kept}/files/adapter/weights") == b"old"
    assert store.text(VARIANT, "adapter/weights") == "new"
    store.drop_superseded("first")
    assert store.superseded() == {}


def test_the_same_version_made_again_supersedes_nothing(store: Store) -> None:
    """A damaged checkpoint that is made again has its own fingerprint, and no copy of it is kept."""
    commit(store, "first", "old")
    commit(store, "first", "old")

    assert store.superseded() == {}


def test_what_is_cheap_to_make_is_not_kept(store: Store) -> None:
    """A curriculum that another one takes the place of is gone."""
    written(store, {"a.txt": "one"})
    with store.draft(REF) as draft:
        (draft / "a.txt").write_text("two")
        store.commit(REF, draft, {**MANIFEST, "fingerprint": "other"})

    assert store.superseded() == {}
