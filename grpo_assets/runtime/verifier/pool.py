"""A pool of judges: hands jobs to them, watches the time, replaces a judge that hangs or dies."""

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.runtime.verifier import canaries
from grpo_assets.runtime.verifier.sandbox import Tier

JOBS_BETWEEN_CANARIES = 1000
SECONDS_OF_GRACE = 5.0
"""What a judge may take beyond the time of a job before it is replaced."""
SECONDS_TO_LOAD = 30.0
"""What a judge may take for the libraries of an answer."""


@dataclass
class _Judge:
    """One judge process and what it is at."""

    process: subprocess.Popen
    connection: Connection
    since_canaries: int = 0
    job: int | None = None
    deadline: float = field(default=0.0)


class Verifier:
    """Judges that observe jobs, see `judging.Judge.answer`; a context manager."""

    def __init__(self, tier: Tier, judges: int) -> None:
        """Start the judges and try the canaries on each.

        Raises:
            FailedWork: when a judge does not start, or misjudges a canary.
        """
        self.tier, self._size, self._lock = tier, max(1, judges), threading.Lock()
        self._judges: list[_Judge] = []
        try:
            self._fill()
        except BaseException:
            self.close()
            raise

    def observe(self, jobs: Sequence[dict], patience: float = SECONDS_OF_GRACE) -> list[dict]:
        """The observation on each job, in their order; other threads wait meanwhile.

        A job on which a judge hangs or dies, or whose sandbox fails, gets a fresh judge, which has just judged its
        canaries well; if that one fails on it too, then it is the program's doing and the program fails.

        Args:
            patience: what a judge may take beyond the time of a job before it is replaced, in seconds.

        Raises:
            FailedWork: when a canary is misjudged, so that no verdict can be trusted.
        """
        with self._lock:
            try:
                return self._observe(jobs, patience)
            except BaseException:  # an answer that is still to come must not be taken for that to another job
                for judge in [judge for judge in self._judges if judge.job is not None]:
                    self._drop(judge)
                raise

    def _observe(self, jobs: Sequence[dict], patience: float) -> list[dict]:
        observed: dict[int, dict] = {}
        pending, second = deque(range(len(jobs))), set[int]()
        while len(observed) < len(jobs):
            self._fill()
            for judge in [judge for judge in self._judges if judge.job is None]:
                if pending:
                    self._hand(judge, pending.popleft(), jobs, patience)
            for judge, observation in self._heard():
                number, judge.job = judge.job, None
                assert number is not None
                if observation is None or observation.get("reason") == "sandbox_failed":
                    self._drop(judge)
                    if number not in second:
                        second.add(number)
                        fresh = self._start()
                        self._judges.append(fresh)
                        self._hand(fresh, number, jobs, patience)
                        continue
                observed[number] = observation or _overrun(jobs[number])
        return [observed[number] for number in range(len(jobs))]

    def _hand(self, judge: _Judge, number: int, jobs: Sequence[dict], patience: float) -> None:
        spec = jobs[number]
        message = json.dumps(spec).encode()
        if judge.since_canaries >= JOBS_BETWEEN_CANARIES:
            self._try_canaries(judge)
        judge.job, judge.since_canaries = number, judge.since_canaries + 1
        loading = SECONDS_TO_LOAD if spec["kind"] == "answer" else 0.0
        judge.deadline = monotonic() + spec["seconds"] + patience + loading
        try:
            judge.connection.send_bytes(message)
        except OSError:
            judge.deadline = 0.0  # it has died; it is heard as late

    def _heard(self) -> list[tuple[_Judge, dict | None]]:
        """The judges that have answered, died or run out of time, with their observations."""
        busy = {judge.connection: judge for judge in self._judges if judge.job is not None}
        patience = min(judge.deadline for judge in busy.values()) - monotonic()
        heard: list[tuple[_Judge, dict | None]] = []
        for connection in wait(list(busy), max(0.0, patience)):
            judge = busy[connection]  # type: ignore[index]
            try:
                heard.append((judge, json.loads(judge.connection.recv_bytes())))
            except (EOFError, OSError):
                heard.append((judge, None))
        known = [judge for judge, _ in heard]
        late = [judge for judge in busy.values() if judge not in known and judge.deadline <= monotonic()]
        return heard + [(judge, None) for judge in late]

    def _fill(self) -> None:
        while len(self._judges) < self._size:
            self._judges.append(self._start())

    def _drop(self, judge: _Judge) -> None:
        self._judges.remove(judge)
        _end(judge)

    def _start(self) -> _Judge:
        ours, theirs = Pipe()
        package_root = str(Path(__file__).parents[3])
        environment = {
            "PYTHONPATH": package_root,
            "PYTHONHASHSEED": "0",
            "PATH": os.environ.get("PATH", os.defpath),
            "OPENBLAS_NUM_THREADS": "1",  # each thread of it would take its share of a judge's memory limit
        }
        arguments = ["-s", "-P", "-m", f"{__package__}.judging", str(theirs.fileno()), self.tier]
        with theirs:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,  # a Ctrl-C at the terminal is for the process that asks, not for its judges
            )
        judge = _Judge(process, ours)
        try:
            self._try_canaries(judge)
        except BaseException:
            _end(judge)
            raise
        return judge

    def _try_canaries(self, judge: _Judge) -> None:
        known = [(canaries.RIGHT, "pass"), (canaries.WRONG, "fail")]
        if self.tier != "unsafe":
            known.append((canaries.LOCKED_IN, "pass"))
        for job, expected in known:
            answer: dict[str, Any] = {"outcome": "no answer"}
            try:
                judge.connection.send_bytes(json.dumps(job).encode())
                if judge.connection.poll(job["seconds"] + SECONDS_OF_GRACE):
                    answer = json.loads(judge.connection.recv_bytes())
            except (OSError, EOFError):
                answer = {"outcome": "no answer, the judge ended"}
            if answer["outcome"] != expected:
                raise FailedWork(_misjudged(self.tier, job, expected, answer))
        judge.since_canaries = 0

    def close(self) -> None:
        """End all judges and their sandboxes."""
        for judge in self._judges:
            judge.connection.close()  # at which an idle judge ends by itself, its sandbox first
        for judge in self._judges:
            with suppress(subprocess.TimeoutExpired):
                judge.process.wait(SECONDS_OF_GRACE)
            _end(judge)
        self._judges = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _end(judge: _Judge) -> None:
    judge.connection.close()
    judge.process.kill()  # its sandbox ends with it
    judge.process.wait()


def _overrun(job: dict) -> dict:
    return {"outcome": "fail", "reason": "judge_overrun", "passed": [False] * len(job.get("tests", [0]))}


def _misjudged(tier: Tier, job: dict, expected: str, answer: dict) -> str:
    if "detail" in answer:
        return f"the sandbox of the tier {tier} does not start: {answer['detail']}"
    if job is canaries.LOCKED_IN:
        return f"the tier {tier} does not hold a program that tries to get out ({answer.get('reason')})"
    return (
        f"the verifier is stopped: a program that must be judged {expected} was judged {answer['outcome']}"
        f" ({answer.get('reason', 'no reason')})\n  no verdict of this verifier can be trusted; see grpo-assets doctor"
    )
