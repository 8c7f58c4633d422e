"""Plain values cross between judge and candidate; nothing else does, whatever bytes arrive."""

import json
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.runtime.verifier.values import (
    DEPTH,
    ITEMS,
    ITERATED,
    BadMessage,
    Opaque,
    Unsupported,
    decode,
    encode,
    encode_result,
)
from grpo_assets_tests.builders import LAW

HASHABLE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.text(st.characters(categories=["Cs", "Ll"]))  # lone surrogates too
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas()
)
VALUES = st.recursive(
    HASHABLE | st.binary().map(bytearray),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(deque)
        | st.sets(HASHABLE)
        | st.frozensets(HASHABLE)
        | st.dictionaries(HASHABLE, inner)
    ),
    max_leaves=20,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["int", "dict", "list", "opaque"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)
PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict, deque, range),
    *(date, time, datetime, timedelta, Decimal, Fraction, Opaque, type(iter([]))),
)


class Liar(int):
    """An int whose every method lies."""

    def __eq__(self, other: object) -> bool:
        return True

    def __index__(self) -> int:
        return 42

    __hash__ = int.__hash__


class Shade(IntEnum):
    """A member of an enumeration is an int."""

    DARK = 3


Point = namedtuple("Point", "x y")


@LAW
@given(value=VALUES)
def test_a_value_arrives_equal_and_of_the_same_type(value: object) -> None:
    """Encoding and decoding change nothing about the values of the table."""
    arrived = decode(encode(value))

    assert arrived == value
    assert type(arrived) is type(value)


@LAW
@given(message=st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_give_plain_values_or_a_bad_message(message: bytes) -> None:
    """A candidate may send what it likes: the judge gets builtin types or knows that it is no message."""
    try:
        arrived = decode(message)
    except BadMessage:
        return
    assert type(arrived) in PLAIN


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Liar(7), 7),
        (Shade.DARK, 3),
        (Point(1, 2), (1, 2)),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, {"a": 1}), {"a": 1}),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        ({"a": 1}.items(), [("a", 1)]),
        (10**4000, 10**4000),
        (range(3, 9, 2), range(3, 9, 2)),
        (float("inf"), float("inf")),
        (-0.0, 0.0),
    ],
)
def test_subclasses_and_views_arrive_as_what_they_are_made_of(value: object, arrives: object) -> None:
    """No method of a candidate's class has a say in what arrives."""
    arrived = decode(encode(value))

    assert arrived == arrives
    assert type(arrived) is type(arrives)


def test_an_iterator_arrives_as_an_iterator() -> None:
    """It is read to its end on the other side, once."""
    arrived: Any = decode(encode(iter([1, 2])))

    assert next(arrived) == 1
    assert list(arrived) == [2]


@pytest.mark.parametrize("truth", [True, False])
def test_another_object_crosses_as_its_truth_value_and_equals_nothing(truth: bool) -> None:
    """Tests that only ask for truth work; no object can claim to equal the expected value."""

    class Yes:
        def __bool__(self) -> bool:
            return truth

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    arrived = decode(encode_result(Yes()))

    assert bool(arrived) is truth
    assert arrived != 3


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        [object()],
        {"key": lambda: None},
        int,
        nested(DEPTH + 1),
        [0] * (ITEMS + 1),
        "a" * (4 * 1024 * 1024 + 1),
        iter(range(ITERATED + 1)),
        range(ITEMS + 1),
        [k * (2**61 - 1) for k in range(2, 2100)],
        [Decimal(k) for k in range(2001)],
    ],
    ids=[
        "object",
        "object inside",
        "function inside",
        "type",
        "too deep",
        "too many",
        "too long",
        "endless",
        "long range",
        "ints of one hash",
        "decimals",
    ],
)
def test_what_does_not_cross_is_named(value: object) -> None:
    """Objects inside containers, and values beyond the caps, are refused before they are sent."""
    with pytest.raises(Unsupported):
        encode(value)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"NaN",
        b"1.5",
        b"{}",
        b'{"a": 1}',
        b"1" * 100,
        b"[]",
        b'["unknown"]',
        b'["int"]',
        b'["int", 3]',
        b'["float", "x"]',
        b'["set", ["list"]]',
        b'["dict", [["list"], 1]]',
        b'["dict", 1]',
        b'["range", 0, 1, 0]',
        b'["range", "a"]',
        b'["Fraction", 1, 0]',
        b'["date", "tomorrow"]',
        b'["Decimal", 1]',
        b'["timedelta", 1e9]',
        b'["complex", "0x1p0"]',
        b"[" * 100_000,
        b'["list",' * 70 + b"1" + b"]" * 70,
        f'["Fraction", ["int", "{"f" * 4000}"], 1]'.encode(),
        b'["range", 0, 1000000, 1]',
        b'["Decimal", "1E+999999"]',
        json.dumps(["set", *(["int", f"{k * (2**61 - 1):x}"] for k in range(2, 2100))]).encode(),
    ],
)
def test_bad_messages_are_bad_messages(message: bytes) -> None:
    """Whatever is wrong with a message, it is one kind of error and quick to find."""
    with pytest.raises(BadMessage):
        decode(message)
