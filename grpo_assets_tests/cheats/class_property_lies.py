# group: forged equality; expect: fail
# Tries to pass for a number, a text and a list at once by lying about its class, another way each time it is asked.
import itertools


class Chameleon:
    skins = itertools.cycle([int, float, str, list, dict, bool, type(None)])

    @property
    def __class__(self):
        return next(Chameleon.skins)

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 3

    def __bool__(self):
        return True

    def __index__(self):
        return 3

    __int__ = __len__ = __index__

    def __float__(self):
        return 3.0

    def __iter__(self):
        return iter(())

    def __str__(self):
        return "3"

    __repr__ = __str__


def add(a, b):
    return Chameleon()
