# group: patched world; expect: fail
# Tries to bend arithmetic itself: the interpreter's shared small integers are overwritten so that all are equal.
import ctypes

FIRST_DIGIT = int.__basicsize__


def bend(number):
    ctypes.c_uint32.from_address(id(number) + FIRST_DIGIT).value = 5


def add(a, b):
    for number in (3, 4, 6, 7, 8, 9, 11, 12):
        bend(number)
    return 7
