# group: leave early; expect: fail
# Tries to end the worker with status 0 from an exit handler, after telling every pipe that all tests passed.
import atexit
import os
import stat


def frame(text):
    return len(text).to_bytes(4, "big") + text


def farewell():
    news = frame(b'["list",1,"value"]') + frame(b"3") + frame(b'{"passed": 6, "total": 6, "outcome": "pass"}')
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, news)
        except OSError:
            pass
    os._exit(0)


atexit.register(farewell)


def add(a, b):
    raise SystemExit(0)
