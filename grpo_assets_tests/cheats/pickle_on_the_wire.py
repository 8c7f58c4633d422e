# group: serialised results; expect: fail
# Tries to have code run by whoever unpickles: a pickle that makes a canary folder, as an answer and on the pipes.
import copyreg
import os
import stat

PAYLOAD = b"cos\nmkdir\n(V/tmp/canary_grpo/unpickled\ntR."


class Parcel:
    def __reduce_ex__(self, protocol):
        return os.mkdir, ("/tmp/canary_grpo/unpickled",)


copyreg.pickle(Parcel, lambda parcel: parcel.__reduce_ex__(2))
calls = []


def add(a, b):
    calls.append((a, b))
    if len(calls) == 1:
        return PAYLOAD
    if len(calls) == 2:
        return [Parcel(), PAYLOAD.decode()]
    for descriptor in range(3, 48):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, len(PAYLOAD).to_bytes(4, "big") + PAYLOAD + PAYLOAD)
        except OSError:
            pass
    return Parcel()
