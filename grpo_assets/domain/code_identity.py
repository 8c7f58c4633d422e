"""Identity of a function by all that decides what it returns: its code, the code that it reaches, the values it reads.

Code of the function's own package, of this one and of modules that belong to no distribution is followed.
The standard library is known by name, and what was installed by name and version.
What cannot be told, or is another at each call, is refused.

Not seen are the methods of the arguments, files and chance behind an installed library, settings of the process that a
library keeps, and a change in place under another name. A class is followed whole, whatever of it is used.
"""

import builtins
import enum
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grpo_assets.domain.fingerprints import canonical_json, fingerprint
from grpo_assets.domain.loaded_code import (
    absolute,
    closure_of,
    defaults_of,
    import_behind,
    module_of,
    written_classes,
    written_function,
)
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.normal_form import Form, class_form, function_form
from grpo_assets.domain.outside_names import (
    MISSING,
    PLACES,
    SEEDED,
    by_name,
    constant,
    is_outside,
    loaded,
    public_name,
)
from grpo_assets.domain.scopes import PURE, Read, Unclear
from grpo_assets.domain.value_identity import MUTABLE, MUTATORS, value_identity

SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType, type(Read.path))
"""How a class holds a field of its instances."""

BUILT_IN = (
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType),
    *(types.MethodDescriptorType, types.ClassMethodDescriptorType),
)


def code_fingerprint(name: str, function: Callable) -> str:
    """Identity of a function by its code, the code of its package that it reaches, and the values that it reads.

    Comments, docstrings, layout, annotations and names of locals do not count, nor does where the code lies.
    Names of functions and classes count, those of constants do not.

    Args:
        name: under which it is known, for the message.

    Raises:
        UserMistake: for what cannot be told, or is another at each call.
    """
    try:
        written = inspect.unwrap(function)
        if not isinstance(written, types.FunctionType):
            raise Unclear(f"a {type(written).__name__}", "a function written with def")
        walk = _Walk({module_of(written).partition(".")[0], "grpo_assets"})
        start = walk.identity(function)
        return fingerprint([start, [walk.definition(found) for found in walk.found]])  # which grows on the way
    except Unclear as unclear:
        where = f" in {' of '.join(unclear.where)}" if unclear.where else ""
        raise UserMistake(f"{name}: {unclear.found} is not allowed{where}\n  allowed: {unclear.allowed}") from unclear
    except RecursionError:
        allowed = "values that do not hold themselves, and code with fewer levels"
        raise UserMistake(f"{name}: nesting without end is not allowed\n  allowed: {allowed}") from None


class _Walk:
    """Follows code and values; definitions are numbered as they are found, so that recursion ends.

    Attributes:
        packages: whose code is followed in any case.
        found: functions and classes, each at the place that is its number.
    """

    def __init__(self, packages: set[str]) -> None:
        self.packages = packages
        self.found: list[Any] = []
        self.numbers: dict[int, int] = {}

    def definition(self, found: Any) -> dict[str, Any]:
        """All that is known of a function or a class whose code is followed."""
        try:
            return self._class(found) if isinstance(found, type) else self._function(found)
        except Unclear as unclear:
            unclear.where.append(f"{found.__module__}.{found.__qualname__}")
            raise

    def identity(self, value: Any) -> Any:
        """Identity of any value; functions and classes whose code is followed have their numbers."""
        if isinstance(value, types.ModuleType):
            raise Unclear(f"the module {value.__name__} as a value", "what is used of it, by name")
        if isinstance(value, type):
            dotted = f"{value.__module__}.{value.__qualname__}"
            return self.number(value) if self._follows(value.__module__) else by_name(dotted)
        if isinstance(value, types.FunctionType) and self._follows(module_of(value)):
            return self.number(value)
        if public := public_name(value):
            return by_name(public)
        if isinstance(value, types.FunctionType):  # made outside, around code that may be followed
            held = [list(closure_of(value).values()), value.__defaults__, value.__kwdefaults__]
            return ["made", by_name(f"{module_of(value)}.{value.__code__.co_qualname}"), self.identity(held)]
        if isinstance(value, types.MethodType):
            return ["method", self.identity(value.__self__), self.identity(value.__func__)]
        if isinstance(value, BUILT_IN):
            return self._built_in(value)
        return value_identity(
            value, self.identity, lambda member: canonical_json(_Names(self.packages).identity(member))
        )

    def number(self, found: Any) -> Any:
        """The number of a function or a class, which is followed later."""
        if id(found) not in self.numbers:
            self.numbers[id(found)] = len(self.found)
            self.found.append(found)
        return ["definition", self.numbers[id(found)]]

    def _follows(self, module: str) -> bool:
        return module.partition(".")[0] in self.packages or not is_outside(module)

    def _built_in(self, value: Any) -> Any:
        """A method of a type that is not written in Python, of the type or of one of its values."""
        owner = getattr(value, "__objclass__", getattr(value, "__self__", None))
        if isinstance(owner, type):
            return [self.identity(owner), by_name(f"{owner.__module__}.{owner.__qualname__}.{value.__name__}")]
        return ["method", self.identity(owner), value.__name__]

    def _function(self, function: types.FunctionType) -> dict[str, Any]:
        node = written_function(function)
        form = function_form(node)
        closure, defaults = closure_of(function), defaults_of(function)
        for name in form.written:
            if isinstance(defaults.get(name), MUTABLE):  # a state from one call to the next
                raise Unclear(f"writing to the default of {name}", PURE)
        return {
            "name": None if "<locals>" in function.__code__.co_qualname else node.name,
            "text": form.text,
            "reads": [self._read(read, form, function.__globals__, closure) for read in form.reads],
            "class": self.identity(closure.get("__class__")),
            "defaults": [self.identity(function.__defaults__), self.identity(function.__kwdefaults__)],
            "attributes": self.identity(dict(sorted(vars(function).items()))),
        }

    def _class(self, cls: type) -> dict[str, Any]:
        nodes = written_classes(cls)
        if not nodes and issubclass(cls, tuple) and hasattr(cls, "_fields"):  # made by namedtuple
            return {"name": cls.__qualname__, "fields": self.identity([cls._fields, vars(cls)["_field_defaults"]])}
        if not nodes:
            raise Unclear("a class that is made by a call", "a class written with class")
        forms = [class_form(node) for node in nodes]
        names = {name for form in forms for name in form.names}
        later = {name for name, value in vars(cls).items() if self._is_set_later(name, value)}
        around = vars(sys.modules[cls.__module__])
        return {
            "name": cls.__qualname__,
            "bases": [self.identity(base) for base in cls.__bases__],
            "texts": [form.text for form in forms],
            "reads": [[self._read(read, form, around, {}) for read in form.reads] for form in forms],
            "hints": [[self._hint(read, form, around) for read in form.hints] for form in forms],
            "attributes": [[name, self._attribute(cls, name)] for name in sorted(names | later)],
        }

    def _is_set_later(self, name: str, value: object) -> bool:
        """Whether something may have been put on a class after its body; what `dataclass` makes has no file."""
        if isinstance(value, types.FunctionType):
            return self._follows(module_of(value)) and not value.__code__.co_filename.startswith("<")
        return not name.startswith("_")

    def _attribute(self, cls: type, name: str) -> Any:
        """What a class holds under a name; None where nothing is left of it but its text, as of a field."""
        members: Mapping[str, Any] = cls.__members__ if isinstance(cls, enum.EnumType) else {}
        value = members.get(name, vars(cls).get(name, MISSING))
        return None if value is MISSING or isinstance(value, SLOTS) else self._named(name, value)

    def _hint(self, read: Read, form: Form, around: Mapping[str, Any]) -> Any:
        """What an annotation names; its name alone where it was imported for type checkers only."""
        known = read.module is not None or read.path[0] in around or hasattr(builtins, read.path[0])
        return self._read(read, form, around, {}) if known else str(read)

    def _read(self, read: Read, form: Form, around: Mapping[str, Any], closure: Mapping[str, Any]) -> Any:
        """What code takes from the module `around` it, the functions around it, the built-in names or an import."""
        if read.module is not None:
            found = self._imported(absolute(read, around))
        elif read.path[0] in closure:
            found = self._value(closure[read.path[0]], read.path)
        elif read.path[0] in around:
            found = self._in_module(around, read.path)
        else:
            found = self._outside("builtins", read.path)
        if read in form.bare and found[0] == "outside" and found[1] in SEEDED:
            raise Unclear(f"{found[1]} without a seed", "a seed that follows from the arguments")
        return found

    def _imported(self, read: Read) -> Any:
        module = read.module or ""
        if not self._follows(module):
            return self._outside(module, read.path)
        return self._in_module(vars(loaded(module)), read.path)

    def _in_module(self, around: Mapping[str, Any], path: Sequence[str]) -> Any:
        """What stands in a module under a name, with attributes."""
        module = around["__name__"]
        if not self._follows(module):
            return self._outside(module, path)
        if not path:
            raise Unclear(f"the module {module} as a value", "what is used of it, by name")
        first, *rest = path
        if first in PLACES:
            raise Unclear(f"{first}, the place of a module,", PURE)
        if read := import_behind(around, first):
            return self._imported(read._replace(path=(*read.path, *rest)))
        return self._value(around[first] if first in around else loaded(f"{module}.{first}"), path)

    def _value(self, value: Any, path: Sequence[str]) -> Any:
        """A value that was found under a name, with attributes."""
        name, *rest = path
        if isinstance(value, types.ModuleType):
            return self._in_module(vars(value), rest)
        if isinstance(value, type) and not self._follows(value.__module__):
            return self._outside(value.__module__, (*value.__qualname__.split("."), *rest))
        held = value
        for part in rest:
            if part in MUTATORS and isinstance(held, MUTABLE):
                raise Unclear(f"writing to {name}", PURE)
            held = inspect.getattr_static(held, part, None)
        return [self._named(name, value), *rest] if rest else self._named(name, value)

    def _named(self, name: str, value: Any) -> Any:
        try:
            return self.identity(value)
        except Unclear as unclear:
            unclear.where.append(name)
            raise

    def _outside(self, module: str, path: Sequence[str]) -> Any:
        """What is known by its name, but for constants of the standard library, which have a value."""
        if not path:
            raise Unclear(f"the module {module} as a value", "what is used of it, by name")
        named = by_name(".".join((module, *path)))
        value = constant(module, path)
        return named if value is MISSING else self._value(value, path[-1:])


class _Names(_Walk):
    """Calls functions and classes by their names, for an order among them."""

    def number(self, found: Any) -> Any:
        return ["definition", found.__module__, found.__qualname__]
