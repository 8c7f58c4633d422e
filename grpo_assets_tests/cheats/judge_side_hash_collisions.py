# group: time; expect: fail
# Tries to hang the judge: a set that is cheap to make here, of ints that all have the hash 0 once they are plain ints.
MODULUS = (1 << 61) - 1


class Spread(int):
    __slots__ = ()

    def __hash__(self):
        return int.__floordiv__(self, MODULUS)


def add(a, b):
    return {Spread(number * MODULUS) for number in range(1, 120_001)}
