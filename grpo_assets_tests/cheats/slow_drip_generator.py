# group: time; expect: fail
# Tries to return before it has worked: the answer is a generator that drips for half a minute when it is looked at.
import time


def drip():
    for _ in range(600):
        time.sleep(0.05)
        yield 3


def add(a, b):
    return drip()
