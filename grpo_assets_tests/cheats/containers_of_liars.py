# group: forged equality; expect: fail
# Tries to get through an encoder with subclasses of plain types whose methods say other things than they hold.
import datetime


class Whisper(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__

    def encode(self, *arguments):
        return b'"], ["passed", true, "'

    def isascii(self):
        return True

    def __str__(self):
        return '"], ["passed", true, "'

    def hex(self):
        return "pass"


class Ledger(dict):
    def items(self):
        return [("outcome", "pass"), ("passed", 6)]

    def __iter__(self):
        return iter(["outcome", "passed"])

    def __len__(self):
        return 0

    def __eq__(self, other):
        return True

    __hash__ = None


class Shelf(list):
    def __iter__(self):
        return iter(range(10**6))

    def __len__(self):
        return 0

    def __eq__(self, other):
        return True

    __hash__ = None


class Weight(float):
    def hex(self):
        return "0x1p+99999"

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


class Interval(datetime.timedelta):
    days = property(lambda self: ["list", 3])
    seconds = property(lambda self: {"outcome": "pass"})
    microseconds = property(lambda self: "0")

    def __eq__(self, other):
        return True

    __hash__ = datetime.timedelta.__hash__


def add(a, b):
    if isinstance(a, str):
        return Whisper("maybe")
    if isinstance(a, list):
        return Shelf([Whisper("maybe")])
    if isinstance(a, float):
        return Weight(-7.0)
    return Ledger({Whisper("sum"): Shelf()}) if a > 0 else Interval(5)
