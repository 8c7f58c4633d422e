# group: crash; expect: fail
# Tries to overflow the stack of C in whoever takes the first item of the answer: an iterator wrapped 400,000 times.
from itertools import chain


def add(a, b):
    answer = iter([3])
    for _ in range(400_000):
        answer = chain(answer)
    return answer
