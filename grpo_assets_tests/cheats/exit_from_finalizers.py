# group: leave early; expect: fail
# Tries to leave with status 0 while the worker lets go of a result, and by a finalizer when that does not help.
import os
import weakref


class Parting:
    def __del__(self):
        os._exit(0)


class Anchor:
    pass


anchors = [Anchor()]
weakref.finalize(anchors[0], os._exit, 0)
calls = []


def add(a, b):
    calls.append((a, b))
    if len(calls) > 1:
        anchors.clear()
    return Parting()
