# group: serialised results; expect: fail
# Tries to be decoded into something else than it is: lists, dicts and texts that look like the marks of an encoding.
import itertools

SHAPES = itertools.cycle(
    [
        ["int", "3"],
        {"__type__": "int", "value": 3},
        '["float","0x1.8p+1"]',
        {"py/reduce": [{"py/type": "builtins.str"}, ["ab"]]},
        ["list", ["opaque", True]],
        {"$eval": "expected", "__reduce__": "os.getpid"},
    ]
)


def add(a, b):
    return next(SHAPES)
