"""Code in normal form: what can change its result, without words about it, layout and the names of its locals.

Locals are numbered in the order in which they appear.
So is what the code takes from its surroundings: a name that is not its own, or a chain such as `helpers.clip`.
Parameters, attributes and keywords keep their names, since others may use them.
An `assert` counts, although `python -O` leaves it out.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from grpo_assets.domain.outside_names import UNSEEN
from grpo_assets.domain.scopes import NAMES, PURE, Read, Scope, Unclear, names_of
from grpo_assets.domain.value_identity import MUTATORS, scalar

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

INDIFFERENT = {"property", "setter", "staticmethod", "classmethod", "abstractmethod", "wraps", "contextmanager"}
INDIFFERENT |= {"cache", "lru_cache", "cached_property"}
"""Decorators that read no annotations."""

NO_EFFECT = {"ctx", "kind", "type_comment", "type_params"}
NOTHING = object()
"""Fields of a syntax tree without an effect of their own, and the form of a statement without one."""


@dataclass
class Form:
    """The normal form of a definition.

    Attributes:
        text: the form, as JSON.
        reads: what it takes from its surroundings, each with its number.
        hints: the same for the annotations in the body of a class.
        bare: reads that are called without an argument or with None.
        written: parameters that are changed in place.
        names: what the body of a class defines.
    """

    text: Any = None
    reads: dict[Read, int] = field(default_factory=dict)
    hints: dict[Read, int] = field(default_factory=dict)
    bare: set[Read] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)


def function_form(node: Function) -> Form:
    """The form of a function by its parameters and its body; a free variable of it is a read like a global.

    Decorators and defaults are left out: they have done their work, and the loaded function shows it.

    Raises:
        Unclear: for code that keeps a state or reads what the form leaves out.
    """
    normal = _Normal()
    normal.form.text = [type(node).__name__, normal.inside(node)]
    return normal.form


def class_form(node: ast.ClassDef) -> Form:
    """The form of a class without its bases and what is defined in it, which the loaded class shows.

    Raises:
        Unclear: as for a function.
    """
    normal = _Normal()
    head = normal.all_of([*node.decorator_list, *node.keywords])
    normal.scope = normal.own_class = Scope(names_of(node.body), None, is_class=True)
    normal.form.names = sorted(normal.own_class.names)
    normal.form.text = [head, normal.all_of(node.body)]
    return normal.form


def _reads_annotations(decorator: ast.expr) -> bool:
    """Whether a decorator may do so: any may but those of the language."""
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(named).rpartition(".")[2] not in INDIFFERENT


class _Normal:
    """Turns syntax into its form, with a scope for each function, comprehension and class that it is in."""

    def __init__(self) -> None:
        self.form = Form()
        self.scope: Scope | None = None
        self.own_class: Scope | None = None
        self.locals = 0

    def of(self, node: Any) -> Any:
        """The form of a node; what is no node is its own."""
        match node:
            case ast.Constant():
                return scalar(node.value)
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom():
                return NOTHING
            case ast.Global():
                raise Unclear(f"the statement global {', '.join(node.names)}", PURE)
            case ast.Nonlocal():
                for name in node.names:
                    self._label(name)
                return NOTHING
            case ast.Assign():
                return {"node": "Assign", "value": self.of(node.value), "targets": self.all_of(node.targets)}
            case ast.AnnAssign():
                return self._annotated(node)
            case ast.Set() if all(isinstance(member, ast.Constant) for member in node.elts):
                return {"node": "Set", "members": sorted(self.all_of(node.elts))}
            case ast.AugAssign():
                self._write(node.target)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._chain(node)
            case ast.Call():
                self._note_call(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self._definition(node)
            case ast.Lambda():
                around = [*node.args.defaults, *node.args.kw_defaults]
                return {"node": "Lambda", "around": self.all_of(around), **self.inside(node)}
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node)
        return self._fields(node) if isinstance(node, ast.AST) else node

    def all_of(self, nodes: Iterable[Any]) -> list[Any]:
        """The forms of some nodes, without those that have no effect."""
        return [form for form in map(self.of, nodes) if form is not NOTHING]

    def inside(self, node: Function | ast.Lambda) -> dict[str, Any]:
        """Parameters and body of a function; its annotations only where a decorator may read them."""
        args, body = node.args, node.body if isinstance(node.body, list) else [node.body]
        renamed = [*args.posonlyargs, *filter(None, (args.vararg, args.kwarg))]
        outer, self.scope = self.scope, Scope(names_of(body, args.args + args.kwonlyargs, renamed), self.scope)
        kinds = (args.posonlyargs, args.args, [args.vararg], args.kwonlyargs, [args.kwarg])
        form: dict[str, Any] = {"parameters": [[self._label(arg.arg) for arg in kind if arg] for kind in kinds]}
        form["body"] = self.all_of(body)
        self.scope = outer
        if not isinstance(node, ast.Lambda) and any(map(_reads_annotations, node.decorator_list)):
            hints = [*(arg.annotation for kind in kinds for arg in kind if arg), node.returns]
            form["annotations"] = [hint and ast.unparse(hint) for hint in hints]
        return form

    def _fields(self, node: ast.AST) -> dict[str, Any]:
        form: dict[str, Any] = {"node": type(node).__name__}
        for name, value in ast.iter_fields(node):
            if value is None or value == [] or name in NO_EFFECT:
                continue
            if name == NAMES.get(type(node)):
                form[name] = self._label(value)
            else:
                form[name] = self.all_of(value) if isinstance(value, list) else self.of(value)
        return form

    def _annotated(self, node: ast.AnnAssign) -> Any:
        """In a class an annotation can make a field; elsewhere it is words, beside making the name a local."""
        value = node.value and self.of(node.value)
        if self.scope is None or not self.scope.is_class:
            return {"node": "Assign", "value": value, "targets": [self.of(node.target)]} if node.value else NOTHING
        reads, self.form.reads = self.form.reads, self.form.hints
        hint = self.of(node.annotation)
        self.form.reads = reads
        target = self.of(node.target) if node.value else ast.unparse(node.target)
        return {"node": "AnnAssign", "value": value, "target": target, "annotation": hint}

    def _chain(self, node: ast.Name | ast.Attribute | ast.Subscript) -> Any:
        """A name, an attribute or an item: a read where it is taken from the surroundings."""
        read = self._taken(node)
        for unseen in UNSEEN.intersection([*(read.path if read else ()), getattr(node, "attr", "")]):
            raise Unclear(f"the attribute {unseen}", "what the code does, not what is said of it")
        if not isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._write(node)
        if read is not None:
            return ["read", self.form.reads.setdefault(read, len(self.form.reads))]
        if isinstance(node, ast.Name):
            return self._label(node.id, isinstance(node.ctx, ast.Load))
        return self._fields(node)

    def _note_call(self, node: ast.Call) -> None:
        read = self._taken(node.func)
        if read is None and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            self._write(node.func.value)
        if isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr") and node.args:
            self._write(node.args[0])
        first = node.args[0] if node.args else ast.Constant(None)
        if read is not None and isinstance(first, ast.Constant) and first.value is None and not node.keywords:
            self.form.bare.add(read)

    def _definition(self, node: Function | ast.ClassDef) -> Any:
        kind = type(node).__name__
        if self.scope is not None and self.scope is self.own_class:  # the loaded class shows it
            self._label(node.name)
            return NOTHING
        if not isinstance(node, ast.ClassDef):
            around = [self.all_of(part) for part in (node.decorator_list, node.args.defaults, node.args.kw_defaults)]
            return {"node": kind, "around": around, "name": self._label(node.name), **self.inside(node)}
        around = [self.all_of(part) for part in (node.decorator_list, node.bases, node.keywords)]
        name = [node.name, self._label(node.name)]
        outer, self.scope = self.scope, Scope(names_of(node.body), self.scope, is_class=True)
        body = self.all_of(node.body)
        self.scope = outer
        return {"node": kind, "around": around, "name": name, "body": body}

    def _comprehension(self, node: Comprehension) -> dict[str, Any]:
        first = self.of(node.generators[0].iter)  # it alone is evaluated outside
        names = names_of(loop.target for loop in node.generators)
        outer, self.scope = self.scope, Scope(names, self.scope)
        loops = []
        for loop in node.generators:
            source = None if loop is node.generators[0] else self.of(loop.iter)
            loops.append([source, self.of(loop.target), self.all_of(loop.ifs), loop.is_async])
        gives = self.all_of([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scope = outer
        return {"node": type(node).__name__, "first": first, "loops": loops, "gives": gives}

    def _label(self, name: str, loads: bool = False) -> list[Any]:
        """How the form calls a name that is not taken from the surroundings."""
        home = self.scope and self.scope.home(name, loads)
        if home is None:
            raise Unclear(f"the statement nonlocal {name}", PURE)
        if home.is_class:
            home.stored.add(name)
            return ["attribute", name]
        if home.names[name] is None:
            home.names[name], self.locals = self.locals, self.locals + 1
        return ["parameter" if isinstance(home.names[name], str) else "local", home.names[name]]

    def _taken(self, node: ast.AST) -> Read | None:
        """What a name or a chain of attributes takes from the surroundings, None where it starts at a local."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        home = self.scope and self.scope.home(node.id, isinstance(node.ctx, ast.Load))
        label = home.names[node.id] if home else Read(None, (node.id,))
        return label._replace(path=(*label.path, *attributes)) if isinstance(label, Read) else None

    def _write(self, node: ast.AST) -> None:
        """Takes note of what is changed in place.

        Raises:
            Unclear: where it is no local.
        """
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        if not isinstance(node, ast.Name):
            return
        home = self.scope and self.scope.home(node.id, loads=False)
        label = home.names[node.id] if home else Read(None, ())
        if isinstance(label, Read):
            raise Unclear(f"writing to {node.id}", PURE)
        if isinstance(label, str):
            self.form.written.add(node.id)
