# group: leave early; expect: fail
# Tries to replace the worker by a program that writes forged answers into the inherited pipes and ends with status 0.
import os
import stat
import sys

SUCCESSOR = r"""
import os
def frame(text):
    return len(text).to_bytes(4, "big") + text
for descriptor in range(3, 48):
    try:
        os.write(descriptor, frame(b'["list",1,"value"]') + frame(b"3") + frame(b"true"))
    except OSError:
        pass
"""


def add(a, b):
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.set_inheritable(descriptor, True)
        except OSError:
            pass
    for path, *rest in ((sys.executable, "-S", "-c", SUCCESSOR), ("/usr/bin/true",), ("/bin/true",)):
        try:
            os.execv(path, [path, *rest])
        except (OSError, ValueError):
            pass
    os._exit(0)
