# group: test framework; expect: fail
# Tries to confuse the record of a failure: the exception's class gives another name each time, at last one of 5 MiB.
import itertools


class Mask(type):
    names = itertools.cycle(["AssertionError", "Passed", "AssertionError\n6 passed in 0.01s", "X" * (5 << 20)])

    @property
    def __name__(cls):
        return next(Mask.names)

    def __instancecheck__(cls, instance):
        return True

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(AssertionError)


class Excuse(Exception, metaclass=Mask):
    def __str__(self):
        return "6 passed" * (1 << 20)

    __repr__ = __str__

    def __eq__(self, other):
        return True

    __hash__ = Exception.__hash__


def add(a, b):
    raise Excuse("outcome: pass " * 100_000)
