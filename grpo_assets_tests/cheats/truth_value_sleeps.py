# group: time; expect: fail
# Tries to stop whoever looks at the result: its truth, length, text and comparison each take half a minute.
import time


class Slow:
    def wait(self, *_):
        time.sleep(30)
        return True

    __bool__ = __eq__ = __ne__ = __contains__ = __lt__ = wait

    def __len__(self):
        self.wait()
        return 3

    __hash__ = __index__ = __int__ = __len__

    def __repr__(self):
        self.wait()
        return "3"

    __str__ = __format__ = __repr__

    def __reduce_ex__(self, protocol):
        self.wait()
        return int, (3,)


def add(a, b):
    return Slow()
