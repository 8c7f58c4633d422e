# group: resources; expect: fail
# Tries to make the reader set two gibibytes aside: it announces a message of 2**31 bytes, and nothing follows.
import os
import stat
import time


def add(a, b):
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, (2**31).to_bytes(4, "big"))
        except OSError:
            pass
    time.sleep(10)
    return None
