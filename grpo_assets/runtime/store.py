"""The artifact store: folders of files with a manifest that is written last, on any fsspec file system."""

import hashlib
import json
import posixpath
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from grpo_assets.domain.lineage import GRAIN, Ref

KEPT = frozenset({"checkpoint", "dev_evaluation", "experiment_table", "selected_checkpoint", "heldout_evaluation"})
"""Of these assets an artifact that another one takes the place of is kept, under its fingerprint."""

MANIFEST_KEYS = {"request", "fingerprint", "inputs", "settings", "facts", "pages", "checks", "files"}


class DamagedArtifact(Exception):
    """A file of an artifact is gone or is not what its manifest says."""


@dataclass(frozen=True)
class Place:
    """Where an artifact lies, relative to the root of the store."""

    folder: str
    manifest: str
    failure: str


def place(ref: Ref) -> Place:
    """The place of an artifact; those of one experiment lie together, as people look for them there."""
    if ref.asset == "checkpoint":
        experiment, slug = ref.key.split("/")
        folder = f"experiments/{experiment}/variants/{slug}"
        return Place(folder, f"{folder}/checkpoint_manifest.json", f"{folder}/failure.json")
    if GRAIN[ref.asset] == "experiment":
        folder = f"experiments/{ref.key}"
        manifests = f"{folder}/manifests/{ref.asset}"
        return Place(folder, f"{manifests}.json", f"{manifests}.failure.json")
    folder = f"{ref.asset}/{ref.key}"
    return Place(folder, f"{folder}/manifest.json", f"{folder}/failure.json")


class Store:
    """Artifacts under one root, a path or an fsspec URL.

    An artifact is complete when its manifest is there, and intact when its files have the manifest's hashes.
    """

    def __init__(self, root: str, scratch: Path) -> None:
        """A store at `root`; drafts, locks and copies of remote artifacts lie in the local folder `scratch`."""
        self.fs, self.root = fsspec.url_to_fs(root)
        self.scratch = scratch

    def path(self, relative: str) -> str:
        """Where a file of the store lies on its file system."""
        return posixpath.join(self.root, relative)

    def manifest(self, ref: Ref) -> dict | None:
        """The manifest of a complete artifact, None where there is none.

        Raises:
            DamagedArtifact: when it is no manifest.
        """
        return self._read_json(place(ref).manifest, MANIFEST_KEYS)

    def failure(self, ref: Ref) -> dict | None:
        """What is recorded of the last attempt at an artifact, if it failed.

        Raises:
            DamagedArtifact: when it is no such record.
        """
        return self._read_json(place(ref).failure, {"request", "reason"})

    def check(self, ref: Ref, manifest: dict, hashes: bool = True) -> None:
        """Compare the files of an artifact with its manifest.

        Args:
            hashes: compare contents, not only presence and size.

        Raises:
            DamagedArtifact: naming the first file that differs.
        """
        for name, expected in manifest["files"].items():
            file = self.path(f"{place(ref).folder}/{name}")
            if not self.fs.exists(file):
                raise DamagedArtifact(f"{file} is gone")
            if self.fs.size(file) != expected["bytes"] or (hashes and self._sha256(file) != expected["sha256"]):
                raise DamagedArtifact(f"{file} is not the file that its manifest describes")

    def local_folder(self, ref: Ref, manifest: dict) -> Path:
        """A local folder with the artifact's files, each compared with its hash.

        Raises:
            DamagedArtifact: when a file differs.
        """
        self.check(ref, manifest)
        folder = self.path(place(ref).folder)
        if "file" in (self.fs.protocol if isinstance(self.fs.protocol, tuple) else (self.fs.protocol,)):
            return Path(folder)
        copy = self.scratch / "copies" / manifest["fingerprint"]
        for name in manifest["files"]:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            self.fs.get_file(f"{folder}/{name}", str(copy / name))
        return copy

    def pages(self, ref: Ref, manifest: dict) -> dict[str, str]:
        """The Markdown files of an artifact by title."""
        return {title: self.text(ref, name) for title, name in manifest["pages"].items()}

    def text(self, ref: Ref, name: str) -> str:
        """One file of an artifact as text."""
        return self.fs.cat_file(self.path(f"{place(ref).folder}/{name}")).decode()

    def json_lines(self, ref: Ref, name: str) -> list[dict]:
        """One JSONL file of an artifact."""
        return [json.loads(line) for line in self.text(ref, name).splitlines()]

    @contextmanager
    def lock(self, ref: Ref) -> Iterator[None]:
        """One writer an artifact: wait for the other one; a writer that dies lets go."""
        (self.scratch / "locks").mkdir(parents=True, exist_ok=True)
        with FileLock(self.scratch / "locks" / f"{_name(ref)}.lock"):
            yield

    @contextmanager
    def draft(self, ref: Ref) -> Iterator[Path]:
        """An empty local folder to write the artifact in, under its lock; it is gone afterwards."""
        folder = self.scratch / "drafts" / _name(ref)
        shutil.rmtree(folder, ignore_errors=True)  # of a writer that was killed
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def state(self, ref: Ref, request: str) -> Path:
        """The local folder in which an artifact's work can go on after it was stopped; for one request alone."""
        folder = self.scratch / "states" / _name(ref) / request
        if not folder.exists():
            self.drop_states(ref)
            folder.mkdir(parents=True)
        return folder

    def drop_states(self, ref: Ref) -> None:
        """Forget what an artifact's work could go on from."""
        shutil.rmtree(self.scratch / "states" / _name(ref), ignore_errors=True)

    def commit(self, ref: Ref, draft: Path, manifest: dict) -> dict:
        """Put the files of a draft in the artifact's place, the manifest last; returns the manifest with `files`.

        The artifact that was there before is intact until all new files lie beside it.
        """
        hashes = file_hashes(draft)
        names = list(hashes)
        files = {name: {"sha256": hashes[name], "bytes": (draft / name).stat().st_size} for name in names}
        manifest = {**manifest, "files": files}
        where = place(ref)
        try:
            before = self.manifest(ref)
        except DamagedArtifact:
            before = None
        if before and ref.asset in KEPT and before["fingerprint"] != manifest["fingerprint"]:
            self._keep(ref, before)
        incoming = self.path(f"{where.folder}/.incoming-{ref.asset}")
        self._remove(incoming)
        for name in names:
            self._put(draft / name, f"{incoming}/{name}")

        self._remove(self.path(where.manifest))
        for name in set(before["files"] if before else ()) - set(names):
            self._remove(self.path(f"{where.folder}/{name}"))
        for name in names:
            target = self.path(f"{where.folder}/{name}")
            self.fs.makedirs(posixpath.dirname(target), exist_ok=True)
            self._remove(target)
            self.fs.mv(f"{incoming}/{name}", target)
        self._remove(incoming)
        self._remove(self.path(where.failure))
        self._write_json(where.manifest, manifest)
        return manifest

    def _keep(self, ref: Ref, manifest: dict) -> None:
        """Copy an artifact aside before another one takes its place; the manifest comes last here too."""
        folder = f"superseded/{manifest['fingerprint']}"
        for name in manifest["files"]:
            source, target = self.path(f"{place(ref).folder}/{name}"), self.path(f"{folder}/files/{name}")
            if self.fs.exists(source):
                self.fs.makedirs(posixpath.dirname(target), exist_ok=True)
                self.fs.cp_file(source, target)
        self._write_json(f"{folder}/manifest.json", {"ref": str(ref), **manifest})

    def superseded(self) -> dict[str, tuple[str, int]]:
        """The artifacts that others took the place of: by fingerprint, what each is and its size in bytes."""
        root = self.path("superseded")
        found = {}
        for folder in sorted(self.fs.ls(root, detail=False)) if self.fs.exists(root) else []:
            fingerprint = posixpath.basename(folder.rstrip("/"))
            manifest = self._read_json(f"superseded/{fingerprint}/manifest.json", MANIFEST_KEYS)
            found[fingerprint] = (manifest["ref"] if manifest else "half copied", int(self.fs.du(folder)))
        return found

    def drop_superseded(self, fingerprint: str) -> None:
        """Remove one of the artifacts that `superseded` lists."""
        self._remove(self.path(f"superseded/{fingerprint}"))

    def record_failure(self, ref: Ref, failure: dict) -> None:
        """Write down why an artifact could not be made; what was there before stays."""
        self._write_json(place(ref).failure, failure)

    def _read_json(self, relative: str, keys: set[str]) -> dict | None:
        file = self.path(relative)
        if not self.fs.exists(file):
            return None
        try:
            content = json.loads(self.fs.cat_file(file))
        except (ValueError, IsADirectoryError):
            content = None
        if not isinstance(content, dict) or not keys <= content.keys():
            raise DamagedArtifact(f"{file} is not what was written there")
        return content

    def _write_json(self, relative: str, content: dict) -> None:
        file = self.path(relative)
        text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n"
        self.fs.makedirs(posixpath.dirname(file), exist_ok=True)
        self.fs.pipe_file(f"{file}.incoming", text.encode())
        self.fs.mv(f"{file}.incoming", file)

    def _put(self, local: Path, target: str) -> None:
        self.fs.makedirs(posixpath.dirname(target), exist_ok=True)
        self.fs.put_file(str(local), target)

    def _remove(self, path: str) -> None:
        if self.fs.exists(path):
            self.fs.rm(path, recursive=True)

    def _sha256(self, file: str) -> str:
        with self.fs.open(file, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def _name(ref: Ref) -> str:
    return hashlib.sha256(str(ref).encode()).hexdigest()


def file_hashes(folder: Path) -> dict[str, str]:
    """The sha256 of each file below a local folder, by its relative name."""
    hashes = {}
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        with file.open("rb") as stream:
            hashes[file.relative_to(folder).as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
    return hashes


def write_table(file: Path, rows: list[dict], schema: pa.Schema) -> None:
    """Write rows as Parquet.

    Raises:
        ValueError: when a row has a column that the schema has not, or lacks one that must not be null.
    """
    unknown = {column for row in rows for column in row} - set(schema.names)
    if unknown:
        raise ValueError(f"{file.name}: the schema has no column {sorted(unknown)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)


def read_table(file: Path) -> list[dict]:
    """The rows of a Parquet file; maps come back as dicts."""
    return pq.read_table(file).to_pylist(maps_as_pydicts="strict")
