# group: crash; expect: fail
# Tries to make the reader's JSON decoder run out of stack: the value of a well-formed reply is nested 150,000 deep.
import os
import stat
import time


def pour(descriptor, rest):
    end = time.monotonic() + 5
    os.set_blocking(descriptor, False)
    while rest and time.monotonic() < end:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            time.sleep(0.002)
    os.set_blocking(descriptor, True)


def add(a, b):
    message = b""
    for part in (b'["list",1,"value"]', b'["list",' * 150_000 + b"3" + b"]" * 150_000):
        message += len(part).to_bytes(4, "big") + part
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                pour(descriptor, memoryview(message))
        except OSError:
            pass
    return None
