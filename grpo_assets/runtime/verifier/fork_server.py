"""The fork server and the candidates that it forks: all of this runs inside the sandbox, as text, never imported.

The server is started once, locked in, and forks a process for each candidate out of its warm interpreter.
It never sees a test or an expected value; it is told when a job starts, with the two ends of the pipes that join the
candidate and the judge, and when to kill it.
"""

import builtins
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from grpo_assets.runtime.verifier.values import Unsupported, decode, encode, encode_result

WARM = """
    bisect cmath collections copy datetime decimal fractions functools heapq itertools math operator random re
    statistics string textwrap typing
"""
"""What solutions import, so that a candidate's process need not load it."""

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 444, 445, 446
READ_FILE, READ_DIR = 1 << 2, 1 << 3

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve jobs from the control socket, which is descriptor 0, until it closes."""
    control = socket.socket(fileno=os.dup(0))
    for name in WARM.split():
        import_module(name)
    os.dup2(1, 0)  # the judge has made the standard output the null device
    setup = json.loads(control.recv(1 << 20))
    _lock_in(setup)
    program = _filter_program(bytes.fromhex(setup["seccomp"])) if setup["seccomp"] else None
    gc.freeze()
    os.dup2(1, 2)  # until here it says what is wrong
    control.send(b"ready")
    while True:
        message, pipes, _, _ = socket.recv_fds(control, 65536, 2)
        if not message:
            break
        limits, server = json.loads(message), os.getpid()
        child = os.fork()
        if child == 0:
            control.close()
            _end_with(server)
            _candidate(limits, program, *pipes)
        for pipe in pipes:
            os.close(pipe)
        ended = control.recv(16)
        status, cpu_seconds = _end(child, setup["namespaces"])
        if not ended:
            break
        control.send(json.dumps([status, cpu_seconds]).encode())


def _lock_in(setup: dict) -> None:
    """Give up, for this process and all that it forks, what none of them needs."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(PR_SET_DUMPABLE, 0)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    # no capability in any set; version 3 of the header, two words of each set
    if libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24)):
        raise OSError(ctypes.get_errno(), "capset")
    if setup["landlock"]:
        _restrict_files(setup["landlock"], setup["readable"])


def _restrict_files(abi: int, readable: list[str]) -> None:
    """Landlock: read what is listed, nothing else; no TCP, no signals or abstract sockets to outside."""
    files = (1 << (13 + (abi >= 2) + (abi >= 3) + (abi >= 5))) - 1
    network, scopes = 3 if abi >= 4 else 0, 3 if abi >= 6 else 0
    attributes = struct.pack("=QQQ", files, network, scopes)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _syscall(SYS_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path in filter(os.path.exists, readable):  # such as a link to what is not inside
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
        _syscall(SYS_LANDLOCK_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, descriptor), 0)
        os.close(descriptor)
    _syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _filter_program(instructions: bytes) -> tuple[bytes, ctypes.Array]:
    """The structure that prctl takes, and the instructions that it points to."""
    kept = ctypes.create_string_buffer(instructions, len(instructions))
    return struct.pack("=H6xQ", len(instructions) // 8, ctypes.addressof(kept)), kept


def _end(child: int, namespaces: bool) -> tuple[int, float]:
    """Kill a candidate and whatever it started; its status and CPU seconds."""
    os.kill(-1 if namespaces else child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    while namespaces:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return status, usage.ru_utime + usage.ru_stime


def _end_with(server: int) -> None:
    """Be killed when the server is, and end at once if it is gone already."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)


def _candidate(limits: dict, program: tuple | None, inbox: int, outbox: int) -> None:
    """Be the candidate: put on the limits, then load the program and answer calls; does not return."""
    os.setsid()
    for name, values in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), tuple(values))
    if program:
        _prctl(PR_SET_SECCOMP, 2, program[0])
    try:
        _serve(inbox, outbox)
    except BaseException:  # whatever is wrong, the judge sees the end of the pipe
        os._exit(1)
    os._exit(0)


def _serve(inbox: int, outbox: int) -> None:
    namespace: dict[str, Any] = {"__name__": "candidate", "__builtins__": builtins}
    try:
        exec(compile(_read(inbox), "<candidate>", "exec", dont_inherit=True), namespace)
    except BaseException as error:
        _write(outbox, [0, "raised", type(error).__name__[:100]])
        return
    _write(outbox, [0, "loaded"])
    while True:
        number, name, arguments, keywords = cast(tuple[int, str, tuple, dict[str, Any]], decode(_read(inbox)))
        try:
            value = _function(namespace, name)(*arguments, **keywords)
        except BaseException as error:
            _write(outbox, [number, "raised", type(error).__name__[:100]])
            continue
        try:
            message = encode_result(value)
        except Unsupported:
            _write(outbox, [number, "unsupported"])
        except BaseException as error:
            _write(outbox, [number, "raised", type(error).__name__[:100]])
        else:
            _write(outbox, [number, "value"], message)


def _function(namespace: dict[str, Any], name: str) -> Callable[..., object]:
    if name not in namespace:
        raise NameError(name)
    return namespace[name]


def _read(inbox: int) -> bytes:
    size = int.from_bytes(_exactly(inbox, 4), "big")
    return _exactly(inbox, size)


def _exactly(inbox: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(inbox, min(size, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(outbox: int, head: list, value: bytes = b"") -> None:
    """A head of its own and the value after it, each with its length in front."""
    for part in (encode(head), value)[: 2 if value else 1]:
        message = len(part).to_bytes(4, "big") + part
        while message:
            message = message[os.write(outbox, message) :]


def _prctl(option: int, argument: int, pointer: bytes | None = None) -> None:
    if libc.prctl(option, ctypes.c_ulong(argument), pointer or ctypes.c_ulong(0), 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _syscall(number: int, *arguments: object) -> int:
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return result
