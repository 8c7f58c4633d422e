"""What is known by its name alone: the standard library, and installed libraries with their versions.

The tables say by which names code would depend on more than its arguments and its own text.
"""

import builtins
import functools
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import packages_distributions, version
from types import ModuleType
from typing import Any

from grpo_assets.domain.scopes import PURE, Unclear

REFUSED = {
    "chance": ("random", "numpy.random", "secrets", "uuid"),
    "a clock": (
        *("time", "datetime.date.today", "datetime.datetime.today"),
        *("datetime.datetime.now", "datetime.datetime.utcnow"),
    ),
    "a file or the machine": (
        *("os", "posix", "nt", "genericpath", "pathlib", "glob", "shutil", "tempfile", "subprocess", "socket"),
        *("urllib.request", "http.client", "io.open", "io.FileIO", "_io.open", "builtins.open", "builtins.input"),
    ),
    "a state of the process": (
        *("builtins.hash", "builtins.id", "builtins.__debug__", "gc"),
        *("sys.argv", "sys.modules", "sys.stdin", "sys._getframe"),
    ),
    "code that cannot be seen": (
        *("builtins.eval", "builtins.exec", "builtins.compile", "builtins.globals", "builtins.locals"),
        *("builtins.vars", "builtins.__import__", "importlib", "runpy", "inspect", "ctypes"),
        "typing.get_type_hints",
    ),
}
"""What no result may depend on: names, with all that is in them."""

SEEDED = {
    *("random.Random", "numpy.random.default_rng", "numpy.random.Generator", "numpy.random.RandomState"),
    *("numpy.random.PCG64", "numpy.random.SeedSequence"),
}
"""Generators, which are allowed where they are given a seed."""

UNSEEN = {
    *("__doc__", "__annotations__", "__code__", "__closure__", "__globals__", "__module__", "__qualname__"),
    "__subclasses__",
}
"""Attributes by which code would see what its normal form leaves out, or what else was loaded."""

PLACES = {"__file__", "__path__", "__spec__", "__loader__", "__cached__", "__builtins__"}
"""Names in a module that tell where it lies."""

MISSING = object()


def is_outside(module: str) -> bool:
    """Whether a module belongs to the standard library or to an installed distribution."""
    root = module.partition(".")[0]
    return root in sys.stdlib_module_names or root in _distributions()


def by_name(dotted: str) -> list[Any]:
    """Identity of what is known by its name, with the versions of the distributions that it can come from.

    Raises:
        Unclear: for what no result may depend on.
    """
    for kind, names in REFUSED.items():
        if dotted not in SEEDED and any(f"{dotted}.".startswith(f"{name}.") for name in names):
            raise Unclear(f"{dotted}, which is {kind},", PURE)
    return ["outside", dotted, _versions(dotted.partition(".")[0])]


def constant(module: str, path: Sequence[str]) -> Any:
    """The value behind a name of the standard library, MISSING for what can be called and for installed libraries.

    Raises:
        Unclear: for a name that does not exist.
    """
    if module.partition(".")[0] not in sys.stdlib_module_names:
        return MISSING
    value = attribute(loaded(module), path)
    if value is MISSING:
        raise unresolved(".".join(path if module == builtins.__name__ else (module, *path)))
    return MISSING if callable(value) else value


def public_name(value: Any) -> str | None:
    """The name under which a value stands in a module of the outside, None where it does not."""
    module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(qualname, str) or not is_outside(module):
        return None
    return f"{module}.{qualname}" if attribute(sys.modules.get(module), qualname.split(".")) is value else None


def loaded(module: str) -> ModuleType:
    """A module, as an import of it would give it.

    Raises:
        Unclear: where there is none.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise unresolved(module) from error


def attribute(value: Any, path: Sequence[str]) -> Any:
    """What stands at the end of a chain of attributes, or MISSING."""
    for name in path:
        value = getattr(value, name, MISSING)
    return value


def unresolved(name: str) -> Unclear:
    """The refusal of a name behind which there is nothing."""
    return Unclear(f"the name {name}, which does not resolve,", "names that are defined or imported")


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return {module: sorted(set(names)) for module, names in packages_distributions().items()}


@functools.cache
def _versions(root: str) -> list[str]:
    names = [] if root in sys.stdlib_module_names else _distributions().get(root, [])
    return [f"{name} {version(name)}" for name in names]
