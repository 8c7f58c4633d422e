# group: forged equality; expect: fail
# Tries to win every comparison by Python's rule that the subclass's reflected method goes first.


def impostor(value):
    kind = type(value)
    methods = {
        "__eq__": lambda self, other: True,
        "__ne__": lambda self, other: False,
        "__lt__": lambda self, other: True,
        "__gt__": lambda self, other: True,
        "__hash__": lambda self: 0,
        "__sub__": lambda self, other: kind(),
        "__rsub__": lambda self, other: kind(),
        "__module__": "builtins",
    }
    return type(kind.__name__, (kind,), methods)(value)


def add(a, b):
    return impostor(a)
