# group: resources; expect: fail
# Tries to blow up whoever writes the answer out: nine lists of ten times the same list are a thousand million numbers.


def laughs(depth):
    laugh = [3]
    for _ in range(depth):
        laugh = [laugh] * 10
    return laugh


def add(a, b):
    return {"sum": laughs(9), "again": (laughs(8),) * 10}
