"""Identity of the values that code reads: what they are made of, with their types."""

import dataclasses
import enum
import functools
import hashlib
import inspect
import re
import types
import typing
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grpo_assets.domain.scopes import Unclear

PLAIN = {type(None), bool, int, float, complex, str, bytes, bytearray, range, type(...), type(NotImplemented)}
MUTABLE = (list, dict, set, bytearray, deque, np.ndarray)

MUTATORS = {
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update"),
    *("difference_update", "intersection_update", "symmetric_difference_update", "setdefault", "popitem"),
    *("appendleft", "extendleft", "popleft", "rotate", "subtract", "fill", "put", "resize", "move_to_end"),
    *("__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__ior__"),
}
"""Methods that change a container in place."""

REBUILT = {
    *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta", "datetime.timezone"),
    *("decimal.Decimal", "fractions.Fraction", "operator.itemgetter", "operator.attrgetter", "operator.methodcaller"),
    *("collections.deque", "collections.Counter", "collections.OrderedDict", "collections.defaultdict"),
}
"""Types of the standard library whose values tell by pickling what they are made of."""

VALUES = "numbers, text, containers and arrays of them, enum members, dataclasses, patterns, functions and classes"

Identity = Callable[[Any], Any]


def scalar(value: object) -> list[str]:
    """A plain value with its type, so that 1, 1.0 and True differ, and 0.0 and -0.0."""
    return [type(value).__name__, hex(value) if type(value) is int else ascii(value)]


def value_identity(value: Any, of: Identity, order: Identity) -> Any:
    """What a value is made of, as JSON; the order of a dict counts, that of a set does not.

    Args:
        value: neither a function nor a class.
        of: gives the identity of its parts, functions and classes among them.
        order: gives a text by which the members of a set are ordered.

    Raises:
        Unclear: for a value that does not tell what it is made of, such as an open file or a generator.
    """
    kind = type(value)
    if kind in PLAIN:
        return scalar(value)
    if kind in (list, tuple):
        return [kind.__name__, *map(of, value)]
    if kind in (dict, types.MappingProxyType):
        return ["dict", *([of(key), of(item)] for key, item in value.items())]
    if kind in (set, frozenset):
        return _of_set(value, of, order)
    if isinstance(value, enum.Enum):
        return ["member", of(kind), value.name, of(value.value)]
    if isinstance(value, np.ndarray | np.generic | np.dtype):
        return _of_array(value, of)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ["named tuple", of(kind), *map(of, value)]
    if dataclasses.is_dataclass(value):
        return _of_dataclass(value, of)
    return _of_object(value, of)


def _of_set(value: set | frozenset, of: Identity, order: Identity) -> Any:
    """In an order that neither hashing nor the code that was seen before decides."""
    texts = {order(member): member for member in value}
    if len(texts) < len(value):
        raise Unclear("a set whose members cannot be told apart", VALUES)
    return [type(value).__name__, *(of(texts[text]) for text in sorted(texts))]


def _of_dataclass(value: Any, of: Identity) -> Any:
    """Its fields and what else was put on it, but for properties that were computed and kept."""
    names = [field.name for field in dataclasses.fields(value)]
    kept = {
        name for name, part in inspect.getmembers_static(type(value)) if isinstance(part, functools.cached_property)
    }
    more = sorted(set(getattr(value, "__dict__", ())) - {*names, *kept})
    return ["dataclass", of(type(value)), *([name, of(getattr(value, name))] for name in [*names, *more])]


def _of_array(value: np.ndarray | np.generic | np.dtype, of: Identity) -> Any:
    """Type, shape, layout, on which the rounding of sums depends, and content."""
    if isinstance(value, np.dtype):
        return ["dtype", ascii(value.descr)]
    if not isinstance(value, np.generic) and type(value) is not np.ndarray:
        raise Unclear(f"a {type(value).__name__}", "a plain numpy array")
    content = of(value.tolist()) if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
    return [type(value).__name__, ascii(value.dtype.descr), value.shape, value.strides, content]


def _of_object(value: Any, of: Identity) -> Any:
    kind = type(value)
    if kind is re.Pattern:
        return ["pattern", scalar(value.pattern), value.flags]
    if kind in (functools.partial, functools.partialmethod):
        return [kind.__name__, of(value.func), of(value.args), of(value.keywords)]
    if kind in (staticmethod, classmethod):
        return [kind.__name__, of(value.__func__)]
    if kind is property:
        return ["property", of(value.fget), of(value.fset), of(value.fdel)]
    if kind is functools.cached_property:
        return ["cached property", of(value.func)]
    if hasattr(value, "cache_parameters") and hasattr(value, "__wrapped__"):
        return ["cached", of(value.__wrapped__), of(value.cache_parameters())]
    if typing.get_origin(value) is not None:
        return ["alias", of(typing.get_origin(value)), *map(of, typing.get_args(value))]
    if kind.__module__ == "typing":
        return ["typing", repr(value)]
    if f"{kind.__module__}.{kind.__qualname__}" in REBUILT:
        parts = value.__reduce_ex__(2)
        return ["rebuilt", *(of(list(part) if isinstance(part, Iterator) else part) for part in parts)]
    raise Unclear(f"a value of type {kind.__module__}.{kind.__qualname__}", VALUES)
