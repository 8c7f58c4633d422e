"""Whose a name is: that of a local, of an import inside a function, or of the surroundings."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NAMES = {ast.ExceptHandler: "name", ast.MatchAs: "name", ast.MatchStar: "name", ast.MatchMapping: "rest"}
"""Fields of a syntax tree that bind a name, beside `ast.Name`."""

OUTER = object()
"""How `nonlocal` binds a name."""


PURE = "what follows from the arguments alone"
"""What is allowed where something else has a say."""


class Unclear(Exception):
    """Code whose results cannot be told from what is seen of it.

    Attributes:
        found: what stands in the way.
        allowed: what could be there instead.
        where: the names by which it was reached, the nearest first.
    """

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(found)
        self.found, self.allowed, self.where = found, allowed, list[str]()


class Read(NamedTuple):
    """What code takes from its surroundings.

    Attributes:
        module: where an import takes it from, with the dots of a relative one; None for a name of the surroundings.
        path: the name in there and the attributes that are asked of it.
    """

    module: str | None
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((*([self.module] if self.module else ()), *self.path))


@dataclass
class Scope:
    """The names of one function, comprehension or class.

    Attributes:
        names: for each name the import that it stands for, the name itself for a parameter that can be given by it,
            else the number of a local, None before its first appearance.
        parent: the scope around it, None for that of the surroundings.
        is_class: its names are not seen from the functions in it, and one without a value yet is sought outside.
        stored: names of a class that have a value by now.
    """

    names: dict[str, Any]
    parent: "Scope | None"
    is_class: bool = False
    stored: set[str] = field(default_factory=set)

    def home(self, name: str, loads: bool) -> "Scope | None":
        """The scope whose name it is as seen from here, None where it is taken from the surroundings."""
        if name in self.names and not (self.is_class and loads and name not in self.stored):
            return self
        scope = self.parent
        while scope is not None and (scope.is_class or name not in scope.names):
            scope = scope.parent
        return scope


def names_of(nodes: Iterable[ast.AST], own: Iterable[ast.arg] = (), renamed: Iterable[ast.arg] = ()) -> dict[str, Any]:
    """The names of a scope.

    Args:
        nodes: what is in it.
        own: its parameters that can be given by name.
        renamed: its other parameters.

    Raises:
        Unclear: for a name that is bound by an import and otherwise, so that no one thing stands behind it.
    """
    names: dict[str, Any] = {arg.arg: arg.arg for arg in own} | {arg.arg: None for arg in renamed}
    bound = list(_bindings(nodes))
    for name, how in bound:
        known = names.setdefault(name, how)
        if known != how and (isinstance(known, Read) or isinstance(how, Read)):
            raise Unclear(f"{name}, bound by an import and otherwise,", "one import for one name")
    elsewhere = {name for name, how in bound if how is OUTER}
    return {name: how for name, how in names.items() if name not in elsewhere}


def module_imports(tree: ast.Module) -> dict[str, Read]:
    """The names that a module has by one import and by nothing else."""
    bound: dict[str, set[Any]] = {}
    for name, how in _bindings(tree.body):
        bound.setdefault(name, set()).add(how)
    return {name: how for name, (how, *more) in bound.items() if isinstance(how, Read) and not more}


def _bindings(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Any]]:
    """Each binding of a name in the scope of these nodes: by a Read for an import, OUTER for nonlocal, else None."""
    for node in nodes:
        inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, None
                inner = [*node.decorator_list, node.args]
            case ast.ClassDef():
                yield node.name, None
                inner = [*node.decorator_list, *node.bases, *node.keywords]
            case ast.Lambda():
                inner = [node.args]
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():  # of which only := binds outside
                inner = [part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id, None
            case ast.Import():
                for alias in node.names:
                    first = alias.name.partition(".")[0]
                    yield alias.asname or first, Read(alias.name if alias.asname else first, ())
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                yield from ((alias.asname or alias.name, Read(module, (alias.name,))) for alias in node.names)
            case ast.Nonlocal():
                yield from ((name, OUTER) for name in node.names)
        name = getattr(node, NAMES.get(type(node), ""), None)
        if name is not None:
            yield name, None
        yield from _bindings(inner)
