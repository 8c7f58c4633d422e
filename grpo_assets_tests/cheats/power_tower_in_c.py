# group: time; expect: fail
# Tries to stay in one multiplication of C for a quarter of a minute, where no Python signal handler gets its turn.
base, exponent = 7, 20_000_000


def add(a, b):
    return pow(base, exponent) & 1
