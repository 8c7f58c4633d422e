"""Near-duplicates among the tasks of a suite, and the clusters that they form.

The rules and their thresholds follow common practice: exact normalised prompts, 8-gram coverage (as open-instruct and
Tulu 3 take it), 3-gram Jaccard, reference programs that are equal up to renaming, equal tests.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

COVERAGE = 0.5
"""Share of a prompt's tokens inside 8-grams of another one, above which the two are near-duplicates."""
JACCARD = 0.5
"""Share of 3-grams that two prompts have in common, from which they are near-duplicates."""
LEAD_IN = re.compile(r"^\s*write\s+(a|an|the)\s+(python\s+)?function\s+(to|that|which)\s")
"""How nearly every prompt of a code suite starts, with or without the word in the middle."""
BOILERPLATE_GRAM = 5
BOILERPLATE_SHARE = 0.2
BOILERPLATE_LEAST = 5
"""A 5-gram in more than a fifth of a suite's prompts, and in more than 5, is its template: it tells no tasks apart."""
TRIVIAL_NODES = 11
"""Programs of fewer nodes, such as `return len(s)`, are equal by chance."""
ROWS_AT_ONCE = 1000


class Text(NamedTuple):
    """What is compared of a task; `program` and `tests` are empty where it has none."""

    prompt: str
    names: tuple[str, ...] = ()
    program: str = ""
    tests: tuple[str, ...] = ()


class Pair(NamedTuple):
    """Two tasks, by position, and the rule by which they are near-duplicates."""

    first: int
    second: int
    rule: str


def near_duplicates(texts: Sequence[Text]) -> list[Pair]:
    """All pairs of near-duplicates, each with the first rule that finds it, in the order of positions."""
    prompts = [_tokens(text.prompt, text.names) for text in texts]
    tokens = without_boilerplate(prompts)
    found: dict[tuple[int, int], str] = {}
    rules: list[tuple[str, Iterator[tuple[int, int]]]] = [
        ("same_prompt", _equal([tuple(words) for words in prompts])),
        ("same_program", _equal([renamed(text.program) for text in texts])),
        ("same_tests", _equal([_renamed_tests(text) for text in texts])),
        ("coverage", _covered(tokens)),
        ("jaccard", _alike(tokens)),
    ]
    for rule, pairs in rules:
        for first, second in pairs:
            found.setdefault((first, second), rule)
    return [Pair(*pair, rule) for pair, rule in sorted(found.items())]


def cluster_numbers(size: int, pairs: Sequence[Pair]) -> list[int]:
    """The number of the cluster of each of `size` tasks: those that pairs connect share one."""
    ends = [[pair.first for pair in pairs], [pair.second for pair in pairs]]
    links = coo_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(size, size))
    return connected_components(links, directed=False)[1].tolist()


def _tokens(prompt: str, names: tuple[str, ...]) -> list[str]:
    """Words, numbers and operators, in lower case, without the names of a task's own functions and the lead-in."""
    own = {name.casefold() for name in names if "_" in name}  # `first` is a word too
    text = LEAD_IN.sub("", prompt.casefold())
    return [token for token in re.findall(r"\w+|[-+*/%^<>=]", text) if token not in own]


def without_boilerplate(prompts: Sequence[list[str]]) -> list[list[str]]:
    """Tokens of prompts without the template that a suite writes them in; a prompt that is all template stays whole."""
    occurrences = Counter(gram for tokens in prompts for gram in set(_grams(tokens, BOILERPLATE_GRAM)))
    limit = max(BOILERPLATE_LEAST, BOILERPLATE_SHARE * len(prompts))
    stripped = []
    for tokens in prompts:
        kept = [True] * len(tokens)
        for start, gram in enumerate(_grams(tokens, BOILERPLATE_GRAM)):
            if occurrences[gram] > limit:
                kept[start : start + BOILERPLATE_GRAM] = [False] * BOILERPLATE_GRAM
        rest = [token for token, keep in zip(tokens, kept, strict=True) if keep]
        stripped.append(rest or tokens)
    return stripped


def _grams(tokens: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1)]


def _equal(keys: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Neighbours among the positions that share a key; an empty or missing key is shared with none."""
    positions: dict[object, list[int]] = defaultdict(list)
    for position, key in enumerate(keys):
        if key:
            positions[key].append(position)
    for same in positions.values():
        yield from pairwise(same)


def _covered(prompts: Sequence[list[str]]) -> Iterator[tuple[int, int]]:
    """Pairs of which one has more than half of its tokens inside 8-grams of the other."""
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, tokens in enumerate(prompts):
        for gram in set(_grams(tokens, 8)):
            holders[gram].append(position)
    for position, tokens in enumerate(prompts):
        covered: dict[int, set[int]] = defaultdict(set)
        for start, gram in enumerate(_grams(tokens, 8)):
            for other in holders[gram]:
                if other != position:
                    covered[other].update(range(start, start + 8))
        for other, places in covered.items():
            if len(places) > COVERAGE * len(tokens):
                yield min(position, other), max(position, other)


def _alike(prompts: Sequence[list[str]]) -> Iterator[tuple[int, int]]:
    """Pairs that have at least half of their 3-grams in common."""
    numbers: dict[tuple[str, ...], int] = {}
    held = [
        (position, numbers.setdefault(gram, len(numbers)))
        for position, tokens in enumerate(prompts)
        for gram in set(_grams(tokens, 3))
    ]
    if not held:
        return
    rows, columns = np.array(held).T
    shape = (len(prompts), len(numbers))
    matrix = csr_array((np.ones(len(held), dtype=np.int32), (rows, columns)), shape=shape)
    sizes = np.bincount(rows, minlength=len(prompts))
    for start in range(0, len(prompts), ROWS_AT_ONCE):
        shared = coo_array(matrix[start : start + ROWS_AT_ONCE] @ matrix.T)
        first, second = shared.row + start, shared.col
        alike = (first < second) & (shared.data >= JACCARD * (sizes[first] + sizes[second] - shared.data))
        yield from zip(first[alike].tolist(), second[alike].tolist(), strict=True)


def renamed(program: str) -> str:
    """A form that programs share which are equal up to the names that they give, comments and docstrings.

    Names that a program does not give itself keep theirs, or `min` would equal `len`; "" for trivial programs and for
    what is no program.
    """
    try:
        tree = ast.parse(program)
        given = {name for node in ast.walk(tree) for name in _names_given(node)}
        form = ast.dump(_Renamer(given).visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return form if sum(1 for _ in ast.walk(tree)) >= TRIVIAL_NODES else ""


def _names_given(node: ast.AST) -> list[str]:
    """The names that a node binds; imported ones have a meaning of their own."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return [node.name] if isinstance(node, ast.ExceptHandler) and node.name else []


class _Renamer(ast.NodeTransformer):
    """Gives the names of a program by their first appearance, and drops annotations and docstrings."""

    def __init__(self, given: set[str]) -> None:
        self._given = given
        self._names: dict[str, str] = {}

    def _new(self, name: str) -> str:
        return self._names.setdefault(name, f"n{len(self._names)}") if name in self._given else name

    def visit(self, node: ast.AST) -> Any:
        """Rename what a node names, then go on below it."""
        for field in ("name", "arg", "id"):
            if isinstance(name := getattr(node, field, None), str):
                setattr(node, field, self._new(name))
        for field in ("annotation", "returns"):
            if hasattr(node, field) and not isinstance(node, ast.AnnAssign):
                setattr(node, field, None)
        documented = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        if documented and ast.get_docstring(node) is not None:  # type: ignore[arg-type]
            node.body = node.body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        return self.generic_visit(node)


def _renamed_tests(text: Text) -> tuple[str, ...]:
    """Tests with the names of a task's own functions replaced, so that only what they check is compared."""
    if not text.tests or not text.names:
        return text.tests
    own = re.compile(r"\b(" + "|".join(map(re.escape, text.names)) + r")\b")
    return tuple(sorted(" ".join(own.sub("_", test).split()) for test in text.tests))
