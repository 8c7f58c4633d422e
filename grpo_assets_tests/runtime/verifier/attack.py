"""Runs every cheating program through a verifier and reports what became of it and of the machine.

A program of its own, so that the same attack can be made as another user: `python -m ... TIER OUTPUT`.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets_tests.runtime.verifier.jobs import cheat_jobs, code_job

SECONDS = 1.0
CANARY = Path("/tmp/canary_grpo/keep")
SHARED_CANARY = Path("/tmp/canary_sbx/keep")


def main() -> None:
    """Attack the verifier of a tier and write the report."""
    tier, output = sys.argv[1:]
    os.environ["API_TOKEN"] = "secret-of-the-harness"
    before = {}
    for canary in (CANARY, SHARED_CANARY):
        canary.parent.mkdir(exist_ok=True)
        canary.write_text("untouched")
        before[canary] = canary.stat()
    jobs = cheat_jobs(SECONDS)
    report: dict[str, dict] = {}
    with socket.create_server(("127.0.0.1", 18999)) as listener, Verifier(tier, 2) as verifier:  # type: ignore[arg-type]
        listener.setblocking(False)
        seen = verifier.observe([turn for job in jobs.values() for turn in (job, code_job())])
        for name, cheat, honest in zip(jobs, seen[::2], seen[1::2], strict=True):
            report[name] = {**cheat, "honest": honest["outcome"]}
        judges = [judge.process.pid for judge in verifier._judges]
        processes = [_below(pid) for pid in judges]
        alive = {
            "processes": [sorted(_name(pid) for pid in below) for below in processes],
            "memory": max(_status(pid, "VmRSS") for pid in judges),
            "stopped": [pid for below in processes for pid in below if _state(pid) in "Tt"],
            "nice": sorted({_stat(pid)[16] for below in processes for pid in below}),
            "connections": _accepted(listener),
        }
        everything = [*judges, *(pid for below in processes for pid in below)]
    deadline = time.monotonic() + 5
    while any(_alive(pid) for pid in everything) and time.monotonic() < deadline:
        time.sleep(0.05)
    files = {str(c): c.exists() and c.read_text() == "untouched" and _same(c.stat(), before[c]) for c in before}
    left = [pid for pid in everything if _alive(pid)]
    for canary in before:
        shutil.rmtree(canary.parent)
    Path(output).write_text(json.dumps({"programs": report, "alive": alive, "files": files, "left": left}))


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return all(getattr(one, f) == getattr(other, f) for f in ("st_mode", "st_uid", "st_mtime_ns", "st_ino", "st_nlink"))


def _accepted(listener: socket.socket) -> int:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return 0
    return 1


def _below(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    said = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in said.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, pending = [], [pid]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _state(pid: int) -> str:
    return _stat(pid)[0]


def _alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and waits for its parent to notice does not."""
    return Path(f"/proc/{pid}").exists() and _state(pid) != "Z"


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _status(pid: int, field: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


if __name__ == "__main__":
    main()
