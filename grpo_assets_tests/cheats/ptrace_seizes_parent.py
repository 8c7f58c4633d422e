# group: host; expect: fail
# Tries to take its parent over as a debugger would, to hold it for two seconds, and then to let it go.
import ctypes
import os
import time

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
PTRACE_NUMBER = {"x86_64": 101, "aarch64": 117}


def add(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    number = PTRACE_NUMBER.get(os.uname().machine)
    nothing = ctypes.c_void_p(0)
    held = libc.ptrace(SEIZE, parent, nothing, nothing) == 0
    if not held and number:
        held = libc.syscall(ctypes.c_long(number), ctypes.c_long(SEIZE), ctypes.c_long(parent), nothing, nothing) == 0
    if held:
        libc.ptrace(INTERRUPT, parent, nothing, nothing)
        time.sleep(2)
        libc.ptrace(DETACH, parent, nothing, nothing)
    return None
