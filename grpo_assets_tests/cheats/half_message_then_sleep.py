# group: time; expect: fail
# Tries to keep the reader waiting: it announces an answer, sends half of it, and sleeps for half a minute.
import os
import stat
import time


def add(a, b):
    head = b'["list",1,"value"]'
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, len(head).to_bytes(4, "big") + head + (4096).to_bytes(4, "big") + b'["list",3,3')
        except OSError:
            pass
    time.sleep(30)
    return None
