# group: time; expect: fail
# Tries to outlive every deadline for thirty seconds: clocks stand still, and no signal that can be ignored is heard.
import select
import signal
import time

real_clock = time.monotonic


def add(a, b):
    end = real_clock() + 30
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (ValueError, OSError):
            pass
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (ValueError, OSError):
        pass
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, lambda: 0.0)
        setattr(time, name + "_ns", lambda: 0)
    time.sleep = lambda seconds: None
    select.select = lambda *arguments: ([], [], [])
    while real_clock() < end:
        try:
            sum(range(10**6))
        except BaseException:
            pass
    return None
