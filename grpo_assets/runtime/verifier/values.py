"""Plain values as JSON, between a judge and a candidate's process.

Nothing but the builtin types of a few standard modules crosses; no pickle, no code, no object of a candidate's class.
The candidate's side of this module runs in the candidate's own process and can be rewritten by it, so `decode` takes
any bytes: whatever it returns is made of exact builtin types and quick to handle, else it raises `BadMessage`.

| value | crosses as |
|---|---|
| None, bool, ASCII text, int up to 2**53 | itself |
| other int, float, complex | hexadecimal text: decimal text of a long int takes quadratic time |
| other text, bytes, bytearray | hexadecimal text |
| list, tuple, set, frozenset, dict, deque, range | the tag and the items |
| views of a dict | a list |
| date, time, datetime, timedelta, Decimal, Fraction | text or whole numbers |
| iterator | up to 10,000 items, arrives as an iterator |
| any other object as a whole result | its truth value, as an `Opaque` |
"""

import json
from collections import deque
from collections.abc import Iterator, MappingView
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import NoReturn

MESSAGE_BYTES = 4 * 1024 * 1024
DEPTH = 64
ITEMS = 200_000
ITERATED = 10_000
PLAIN_INT = 2**53
HASHED_BITS = 60
"""Ints up to here are their own hash."""
QUICK_BITS = 10_000
LARGE_NUMBERS = 2000
"""Numbers of more than 60 bits, Decimals and Fractions in one value: they can be made to share a hash, and a set of
them takes quadratic time."""


class Unsupported(Exception):
    """A value that does not cross."""


class BadMessage(Exception):
    """Bytes that are no message."""


class Opaque:
    """An object of which only the truth value crossed; it equals nothing but itself."""

    def __init__(self, truth: bool) -> None:
        """An object that is as true as the original was."""
        self._truth = truth

    def __bool__(self) -> bool:
        return self._truth


def encode(value: object) -> bytes:
    """A value as a message of JSON.

    Raises:
        Unsupported: for what does not cross, for values nested deeper than 64 or with more than 200,000 items, and
            for messages longer than 4 MiB.
    """
    room = [ITEMS, LARGE_NUMBERS]
    text = json.dumps(_packed(value, 0, room), ensure_ascii=True, separators=(",", ":"))
    if len(text) > MESSAGE_BYTES:
        raise Unsupported("a message longer than 4 MiB")
    return text.encode("ascii")


def encode_result(value: object) -> bytes:
    """What a function returned as a message: an object that does not cross is there as its truth value.

    Raises:
        Unsupported: as `encode`, for what is inside a container.
    """
    if _crosses(value):
        return encode(value)
    return json.dumps(["opaque", bool(value)]).encode("ascii")


def decode(message: bytes) -> object:
    """The value of a message.

    Raises:
        BadMessage: for bytes that are no value.
    """
    try:
        packed = json.loads(
            message, parse_int=_short_int, parse_float=_refuse, parse_constant=_refuse, object_pairs_hook=_refuse
        )
        return _unpacked(packed, 0, [ITEMS, LARGE_NUMBERS])
    except (
        Unsupported,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        OverflowError,
        RecursionError,
        ArithmeticError,
    ) as error:
        raise BadMessage(f"{type(error).__name__}") from None


_SEQUENCES = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque}
_DATES = {"date": date, "time": time, "datetime": datetime}


def _crosses(value: object) -> bool:
    known = (bool, int, float, complex, str, bytes, bytearray, dict, range, timedelta, Decimal, Fraction)
    others = (MappingView, Iterator, *_SEQUENCES.values(), *_DATES.values())
    return value is None or isinstance(value, known + others)


def _packed(value: object, depth: int, room: list[int]) -> object:
    """A value of JSON; base types' own methods are called, so that those of a subclass do not reach the judge."""
    room[0] -= 1
    if depth > DEPTH or room[0] < 0:
        raise Unsupported("a value that is too deep or too large")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        number = int.__index__(value)
        _count_large(number.bit_length() > HASHED_BITS, room)
        return number if -PLAIN_INT <= number <= PLAIN_INT else ["int", f"{number:x}"]
    if isinstance(value, str):
        text = str.__str__(value)
        return text if text.isascii() else ["str", str.encode(text, "utf-8", "surrogatepass").hex()]
    if isinstance(value, float):
        return ["float", float.hex(value)]
    if isinstance(value, complex):
        return ["complex", float.hex(value.real), float.hex(value.imag)]
    if isinstance(value, bytes):
        return ["bytes", bytes.hex(value)]
    if isinstance(value, bytearray):
        return ["bytearray", bytearray.hex(value)]
    if isinstance(value, dict):
        pairs = [[_packed(k, depth + 1, room), _packed(v, depth + 1, room)] for k, v in dict.items(value)]
        return ["dict", *pairs]
    if isinstance(value, range):
        if len(value) > ITEMS:
            raise Unsupported("a range of more than 200,000 numbers")
        return ["range", *(_packed(_int(part), depth + 1, room) for part in (value.start, value.stop, value.step))]
    _count_large(isinstance(value, Decimal | Fraction), room)
    if isinstance(value, Decimal):
        return ["Decimal", Decimal.__str__(value)]
    if isinstance(value, Fraction):
        return ["Fraction", *(_packed(_int(part), depth + 1, room) for part in (value.numerator, value.denominator))]
    if isinstance(value, timedelta):
        return ["timedelta", value.days, value.seconds, value.microseconds]
    for tag in ("datetime", "date", "time"):  # a datetime is a date too
        if isinstance(value, _DATES[tag]):
            return [tag, _DATES[tag].isoformat(value)]  # type: ignore[attr-defined]
    return _packed_items(value, depth, room)


def _count_large(is_large: bool, room: list[int]) -> None:
    room[1] -= is_large
    if room[1] < 0:
        raise Unsupported("more than 2,000 large numbers")


def _packed_items(value: object, depth: int, room: list[int]) -> object:
    for tag, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            return [tag, *(_packed(item, depth + 1, room) for item in kind.__iter__(value))]
    if isinstance(value, MappingView):
        return ["list", *(_packed(item, depth + 1, room) for item in list(value))]  # type: ignore[call-overload]
    if isinstance(value, Iterator):
        items = list(islice(value, ITERATED + 1))
        if len(items) > ITERATED:
            raise Unsupported("an iterator of more than 10,000 items")
        return ["iterator", *(_packed(item, depth + 1, room) for item in items)]
    raise Unsupported(f"a value of the type {type(value).__name__}")


def _short_int(text: str) -> int:
    if len(text) > 17:
        raise ValueError("a long int that is not hexadecimal")
    return int(text)


def _refuse(_: object) -> NoReturn:
    raise ValueError("JSON that no message has")


def _unpacked(packed: object, depth: int, room: list[int]) -> object:
    room[0] -= 1
    if depth > DEPTH or room[0] < 0:
        raise ValueError("too deep or too large")
    if not isinstance(packed, list):
        return packed
    tag, *parts = packed
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](_unpacked(part, depth + 1, room) for part in parts)
    if tag == "dict":
        return {_unpacked(k, depth + 1, room): _unpacked(v, depth + 1, room) for k, v in parts}
    if tag == "iterator":
        return iter([_unpacked(part, depth + 1, room) for part in parts])
    if tag in ("range", "Fraction"):
        numbers = [_int(_unpacked(part, depth + 1, room)) for part in parts]
        if tag == "Fraction":
            _count_large(True, room)
            return Fraction(*numbers)
        if len(range(*numbers)) > ITEMS:
            raise ValueError("a long range")
        return range(*numbers)
    value = _simple(tag, parts)
    _count_large(isinstance(value, Decimal) or (type(value) is int and value.bit_length() > HASHED_BITS), room)
    return value


def _int(number: object) -> int:
    """An int that is quick to reckon with: the greatest common divisor of a fraction takes quadratic time."""
    if type(number) is not int or number.bit_length() > QUICK_BITS:
        raise TypeError("an int of up to 10,000 bits is needed")
    return number


def _simple(tag: object, parts: list) -> object:
    """A value whose parts hold no values of their own."""
    if tag == "int":
        (digits,) = parts
        return int(digits, 16)
    if tag == "str":
        (digits,) = parts
        return bytes.fromhex(digits).decode("utf-8", "surrogatepass")
    if tag in ("bytes", "bytearray"):
        (digits,) = parts
        return (bytes if tag == "bytes" else bytearray).fromhex(digits)
    if tag == "float":
        (digits,) = parts
        return float.fromhex(digits)
    if tag == "complex":
        real, imaginary = parts
        return complex(float.fromhex(real), float.fromhex(imaginary))
    if tag in _DATES:
        (text,) = parts
        return _DATES[tag].fromisoformat(text)  # type: ignore[attr-defined]
    if tag == "Decimal":
        (text,) = parts
        if not isinstance(text, str):
            raise TypeError("text is needed")
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) > QUICK_BITS:
            raise ValueError("a Decimal of many digits")
        return number
    if tag == "timedelta":
        days, seconds, microseconds = parts
        return timedelta(days, seconds, microseconds)
    if tag == "opaque":
        (truth,) = parts
        return Opaque(truth is True)
    raise ValueError("an unknown tag")
