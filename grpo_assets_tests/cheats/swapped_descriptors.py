# group: crash; expect: fail
# Tries to turn the pipes round: every descriptor becomes another one's double, then all are closed.
import os
import stat

descriptors = []
for number in range(48):
    try:
        if stat.S_ISFIFO(os.fstat(number).st_mode) and number > 2:
            descriptors.append(number)
    except OSError:
        pass


def add(a, b):
    for one, other in zip(descriptors, descriptors[1:] + descriptors[:1]):
        try:
            os.dup2(one, other)
        except OSError:
            pass
    for number in descriptors:
        try:
            os.write(number, b"\x00\x00\x00\x01" + b"3")
        except OSError:
            pass
    os.closerange(3, 1024)
    return None
