# group: leave early; expect: fail
# Tries to leave with status 0 from a timer's signal handler, so that the exit comes out of somebody else's code.
import os
import signal
import time


def leave(number, frame):
    os._exit(0)


for kind, timer in ((signal.SIGALRM, signal.ITIMER_REAL), (signal.SIGPROF, signal.ITIMER_PROF)):
    try:
        signal.signal(kind, leave)
        signal.setitimer(timer, 0.02, 0.02)
    except (ValueError, OSError):
        pass


def add(a, b):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        pass
