# group: resources; expect: fail
# Tries to fill the process table with forks, spawned commands and threads, a hundred in all, each for five seconds.
import _thread
import os
import subprocess
import time


def fork():
    if os.fork() == 0:
        time.sleep(5)
        os._exit(0)


WAYS = (
    fork,
    lambda: os.posix_spawn("/usr/bin/sleep", ["sleep", "5"], {}, setsid=True),
    lambda: subprocess.Popen(["/usr/bin/sleep", "5"], start_new_session=True),
    lambda: _thread.start_new_thread(time.sleep, (5,)),
)

started = 0
for turn in range(100):
    try:
        WAYS[turn % len(WAYS)]()
        started += 1
    except (OSError, RuntimeError, ValueError):
        pass


def add(a, b):
    return f"{started} are running"
