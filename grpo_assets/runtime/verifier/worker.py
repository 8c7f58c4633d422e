"""A judge's side of a sandbox: starts the fork server, and talks to one candidate at a time against a deadline."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from grpo_assets.runtime.verifier import sandbox
from grpo_assets.runtime.verifier.values import MESSAGE_BYTES, BadMessage, decode, encode

SECONDS_TO_START = 20.0
SECONDS_TO_END = 10.0
HEAD_BYTES = 256
"""The most that the head of a reply may have: it is read outside the deadline of the tests."""
MODULES = ("values", "fork_server")
BOOT = """
import sys, types
for name, text in zip(sys.argv[1::2], sys.argv[2::2]):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
module.main()
"""
"""The modules are handed in as text, so that nothing of the project needs to be readable inside."""


class WorkerGone(Exception):
    """The sandbox itself failed, not a candidate in it."""


class Ended(BaseException):
    """A candidate said its last word; no test may catch this. The reason is the verdict's code."""


class CandidateError(Exception):
    """An exception of a candidate that is none of Python's own."""


class Worker:
    """A fork server in its sandbox."""

    def __init__(self, tier: sandbox.Tier) -> None:
        """Start one.

        Raises:
            FailedWork: when this machine lacks what the tier needs.
            WorkerGone: when the sandbox does not start; the message has its last words.
        """
        here = Path(__file__).parent
        texts = [word for name in MODULES for word in (f"{__package__}.{name}", _text(here / f"{name}.py"))]
        program = [sandbox.interpreter(), "-s", "-S", "-P", "-B", "-c", BOOT, *texts]
        setup, command = sandbox.setup(tier), sandbox.command(tier, program)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(os.devnull, "r+b") as null:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=null,
                stderr=subprocess.PIPE,
                env={"PYTHONHASHSEED": "0"},
                cwd="/",
            )
        try:
            self._control.settimeout(SECONDS_TO_START)
            self._control.send(json.dumps(setup).encode())
            started = self._control.recv(16)
        except OSError:
            started = b""
        if started != b"ready":
            self.close()
            assert self._process.stderr is not None
            words = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            raise WorkerGone(words[-1] if words else "it did not start in time")
        self._control.settimeout(SECONDS_TO_END)
        assert self._process.stderr is not None
        self._process.stderr.close()

    @contextmanager
    def candidate(self, program: bytes, seconds: float) -> Iterator["Candidate"]:
        """A program in a process of its own, which is gone afterwards.

        Raises:
            WorkerGone: when the fork server does not do its part.
        """
        from_judge, to_candidate = os.pipe()
        from_candidate, to_judge = os.pipe()
        try:
            try:
                message = json.dumps(sandbox.limits(seconds)).encode()
                socket.send_fds(self._control, [message], [from_judge, to_judge])
            except OSError as error:
                raise WorkerGone(str(error)) from error
            finally:
                os.close(from_judge)
                os.close(to_judge)
            for pipe in (to_candidate, from_candidate):
                os.set_blocking(pipe, False)
            candidate = Candidate(to_candidate, from_candidate, monotonic() + seconds)
            try:
                with suppress(Ended):
                    candidate.load(program)
                yield candidate
            finally:
                status, candidate.cpu_seconds = self._end()
                if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
                    candidate.ended = "timeout"
        finally:
            os.close(to_candidate)
            os.close(from_candidate)

    def _end(self) -> tuple[int, float]:
        try:
            self._control.send(b"end")
            status, cpu_seconds = json.loads(self._control.recv(256))
        except (OSError, ValueError) as error:
            raise WorkerGone(f"the fork server did not answer: {error}") from error
        return status, cpu_seconds

    def close(self) -> None:
        """End the sandbox and all that is in it."""
        self._control.close()
        self._process.kill()
        self._process.wait()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@dataclass
class Candidate:
    """A loaded program; `ended` says why it answers no more."""

    inbox: int
    outbox: int
    deadline: float
    ended: str | None = None
    cpu_seconds: float = 0.0
    _calls: int = 0
    _received: int = 0

    def load(self, program: bytes) -> None:
        """Hand the program over and wait until it is loaded.

        Raises:
            Ended: when it cannot be loaded.
        """
        self._send(program)
        kind, *rest = self._head(0)
        if kind == "raised":
            name = rest[0] if rest else ""
            self._end("syntax_error" if name in ("SyntaxError", "IndentationError", "TabError") else "load_error")
        if kind != "loaded":
            self._end("protocol_error")

    def call(self, name: str, arguments: tuple, keywords: dict[str, Any]) -> object:
        """What a function of the program returns.

        Raises:
            Ended: when the program is gone, late, or talks nonsense.
            Exception: what the function raised, if it is a plain exception of Python's own, else `CandidateError`.
        """
        if self.ended:
            raise Ended(self.ended)
        message = encode((self._calls + 1, name, arguments, keywords))
        self._calls += 1
        self._send(message)
        kind, *rest = self._head(self._calls)
        if kind == "raised" and len(rest) == 1:
            raise _exception(rest[0])
        if kind == "unsupported":
            raise CandidateError("unsupported_value")
        if kind != "value":
            self._end("protocol_error")
        try:
            return decode(self._message())
        except BadMessage:
            self._end("protocol_error")

    def _head(self, number: int) -> list:
        try:
            head = decode(self._message(HEAD_BYTES))
        except BadMessage:
            head = None
        if not isinstance(head, list) or len(head) < 2 or type(head[0]) is not int or head[0] != number:
            self._end("protocol_error")
        return head[1:]

    def _message(self, most: int = MESSAGE_BYTES) -> bytes:
        size = int.from_bytes(self._exactly(4), "big")
        self._received += size
        if size > most or self._received > MESSAGE_BYTES:
            self._end("output_limit")
        return self._exactly(size)

    def _send(self, message: bytes) -> None:
        rest = memoryview(len(message).to_bytes(4, "big") + message)
        while rest:
            self._wait(self.inbox, select.POLLOUT)
            try:
                rest = rest[os.write(self.inbox, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._end("died")

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            self._wait(self.outbox, select.POLLIN)
            part = os.read(self.outbox, min(size, 1 << 20))
            if not part:
                self._end("died")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _wait(self, pipe: int, event: int) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, self.deadline - monotonic()) * 1000):
            self._end("timeout")

    def _end(self, reason: str) -> NoReturn:
        self.ended = reason
        raise Ended(reason)


TELLING = (AssertionError, StopIteration, StopAsyncIteration)
"""Exceptions that mean something to a test itself: StopIteration would end its loop, and what is left would hold."""


def _exception(name: object) -> Exception:
    """An exception of a candidate for the test that called it: of Python's own kinds only, with a text of ours."""
    kind = getattr(sys.modules["builtins"], name, None) if isinstance(name, str) else None
    plain = isinstance(kind, type) and issubclass(kind, Exception) and kind not in TELLING
    try:
        return kind("raised by the candidate") if plain else CandidateError("raised")  # type: ignore[misc]
    except TypeError:  # one that needs more than a text, such as UnicodeDecodeError
        return CandidateError("raised")
