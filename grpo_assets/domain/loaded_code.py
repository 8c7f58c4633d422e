"""Where loaded functions and classes are written: their syntax, in the file as it is now.

What runs is what was loaded. A function whose file was edited since then is told by its code, and refused; a class is
told by its methods alone, since nothing is kept of its body but the values in it, which are read where they are.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import resolve_name
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from grpo_assets.domain.outside_names import MISSING, attribute
from grpo_assets.domain.scopes import Read, Unclear, module_imports

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Written(NamedTuple):
    """What the text of a module says.

    Attributes:
        definitions: its functions and classes by qualified name; there are several where one is defined again.
        codes: what they compile to, by qualified name and first line.
        imports: its names that are imported and nothing else.
    """

    definitions: dict[str, list[Definition]]
    codes: dict[tuple[str, int], CodeType]
    imports: dict[str, Read]


def written_function(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The definition that compiles to the code of a function, whatever has moved it to other lines.

    Raises:
        Unclear: for a lambda, and where the file holds no such definition, as after an edit since it was loaded.
    """
    code = function.__code__
    if code.co_name == "<lambda>":
        raise Unclear("a lambda", "a function written with def")
    written = _written_module(module_of(function))
    found = [
        node
        for node in written.definitions.get(code.co_qualname, [])
        if not isinstance(node, ast.ClassDef)
        and (compiled := written.codes.get((code.co_qualname, _first_line(node))))  # none for what is never reached
        and _without_places(compiled) == _without_places(code)
    ]
    if not found:
        raise Unclear(
            f"{code.co_qualname}, which is loaded with other code than its file holds,",
            "a function that stands in a file, loaded by a new process after the file is edited",
        )
    return min(found, key=lambda node: abs(_first_line(node) - code.co_firstlineno))


def written_classes(cls: type) -> list[ast.ClassDef]:
    """The class statements of the name of a class, of which one made it; none for a class that was made by a call.

    Raises:
        Unclear: for a module without a source.
    """
    found = _written_module(cls.__module__).definitions.get(cls.__qualname__, [])
    return [node for node in found if isinstance(node, ast.ClassDef)]


def import_behind(around: Mapping[str, Any], name: str) -> Read | None:
    """The import that gave a module a name, None where it has another value by now or was given otherwise."""
    try:
        read = _written_module(around["__name__"]).imports.get(name)
    except Unclear:  # as for a package without a file of its own
        return None
    if read is None:
        return None
    read = absolute(read, around)
    given = attribute(sys.modules.get(read.module or "", MISSING), read.path)
    return read if given is around.get(name) else None


def absolute(read: Read, around: Mapping[str, Any]) -> Read:
    """An import without leading dots, which count from the module that it stands in."""
    module = read.module or ""
    return read._replace(module=resolve_name(module, around["__package__"])) if module.startswith(".") else read


def module_of(function: FunctionType) -> str:
    """The module in which a function runs, whatever a wrapper says that it is."""
    return function.__globals__.get("__name__", "(none)")


def closure_of(function: FunctionType) -> dict[str, Any]:
    """The variables of the functions around a function that it uses, those that have a value."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != CellType()}


def defaults_of(function: FunctionType) -> dict[str, Any]:
    """The defaults of a function by parameter."""
    names, values = function.__code__.co_varnames[: function.__code__.co_argcount], function.__defaults__ or ()
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (function.__kwdefaults__ or {})


def _written_module(name: str) -> Written:
    try:
        return _parsed(inspect.getsource(sys.modules[name]))
    except (KeyError, OSError, TypeError, SyntaxError) as error:
        raise Unclear(f"the module {name}, whose source cannot be read,", "code that stands in a file") from error


@lru_cache(maxsize=256)
def _parsed(source: str) -> Written:
    tree = ast.parse(source)
    definitions: dict[str, list[Definition]] = {}
    for name, node in _definitions(tree, ""):
        definitions.setdefault(name, []).append(node)
    compiled = compile(tree, "<source>", "exec", dont_inherit=True)
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compiled)}
    return Written(definitions, codes, module_imports(tree))


def _definitions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for node in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(node, Definition):
            yield prefix + node.name, node
            inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else f"{prefix}{node.name}.<locals>."
        yield from _definitions(node, inner)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _first_line(node: Definition) -> int:
    return min(part.lineno for part in (node, *node.decorator_list))


def _without_places(code: CodeType) -> CodeType:
    """Code that is equal for equal code, wherever it stands."""
    constants = tuple(_without_places(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename="", co_firstlineno=1, co_linetable=b"", co_consts=constants)
