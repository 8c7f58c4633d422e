# group: serialised results; expect: fail
# Tries to hang the judge in one call of C: a fraction that claims two giants of eight million bits, not reduced.
import fractions
import random

draw = random.Random(1)
GIANTS = draw.getrandbits(7_900_000) | 1, draw.getrandbits(7_800_000) | 1


class Claim(fractions.Fraction):
    numerator = property(lambda self: GIANTS[0])
    denominator = property(lambda self: GIANTS[1])


def add(a, b):
    return Claim(1, 2)
