# group: leave early; expect: fail
# Tries to slip past `except Exception` with every exception that a careless loop takes for a normal end.
import itertools


class AllTestsPassed(BaseException):
    code = 0

    def __str__(self):
        return "6 passed in 0.01s"


def several(text):
    return BaseExceptionGroup(text, [SystemExit(0), AllTestsPassed()])


WAYS_OUT = itertools.cycle([KeyboardInterrupt, GeneratorExit, StopIteration, AllTestsPassed, several, SystemExit])


def add(a, b):
    raise next(WAYS_OUT)("done")
