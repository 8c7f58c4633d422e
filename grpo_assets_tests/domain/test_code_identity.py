"""A fingerprint follows what a function does: words, layout and names of locals leave it, and any change of it shows.

Small packages are written to a folder and imported, each under a name of its own.
"""

import importlib
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from grpo_assets.domain.code_identity import code_fingerprint
from grpo_assets.domain.curriculum import CURRICULA
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.rewards import REWARDS

NUMBERS = itertools.count()

Load = Callable[..., ModuleType]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a package of these modules, and gives the one that is named `rewards`."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(rewards: str, **modules: str) -> ModuleType:
        package = f"package_{next(NUMBERS)}"
        (tmp_path / package).mkdir()
        for name, text in {"__init__": "", "rewards": rewards, **modules}.items():
            (tmp_path / package / f"{name}.py").write_text(dedent(text).replace("PACKAGE", package), encoding="utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(f"{package}.rewards")

    return written


def fingerprint_of(module: ModuleType) -> str:
    return code_fingerprint("reward_x", module.reward)


PROJECT = {
    "rewards": '''
        """Rewards of a project."""

        import math
        import re
        from functools import lru_cache, partial, wraps

        import numpy as np

        from . import helpers
        from .helpers import clip, scaled
        from .kinds import Kind, Limits, Scorer

        LIMIT = 0.5
        PATTERN = re.compile(r"\\d+", re.ASCII)
        WORDS = {"alpha", "beta", "gamma"}
        WEIGHTS = {"alpha": 1.0, "beta": 2.0}
        LIMITS = Limits(low=0.25)
        TABLE = np.array([1.0, 2.0], dtype=np.float32)
        HALF = partial(scaled, factor=0.5)
        UNUSED = 1


        def doubled(function):
            @wraps(function)
            def wrapper(value, *args):
                return function(2 * value, *args)

            return wrapper


        def times(factor):
            def decorate(function):
                def wrapper(value):
                    return factor * function(value)

                return wrapper

            return decorate


        def rounder(digits):
            def rounded(value):
                return round(value, digits)

            return rounded


        ROUNDED = rounder(3)
        FINISHES = {"round": ROUNDED, "half": HALF}


        @doubled
        def first(value, floor=0.25):
            return max(value, floor)


        @times(3)
        def second(value):
            return value + 1


        @lru_cache
        def third(value):
            return value - 1


        def is_even(number):
            return number == 0 or is_odd(number - 1)


        def is_odd(number):
            return number != 0 and is_even(number - 1)


        def unused(value):
            return value


        def reward(rollout, floor=LIMIT, *, power=2):
            """What a completion earns."""
            total = 0.0
            for word in rollout.split():
                total += WEIGHTS.get(word, 0.0) + (word in WORDS)
            numbers = [int(match) for match in PATTERN.findall(rollout)]
            if numbers and is_even(len(numbers)):
                total -= math.log(1 + sum(numbers))
            total = clip(total, LIMITS.low) ** power + helpers.deep(total) + first(total) + second(total) + third(total)
            for finish in FINISHES.values():
                total = finish(total)
            assert total < 1e9
            return Scorer(total).score(Kind.GOOD) + float(TABLE.sum()) + floor
    ''',
    "helpers": '''
        """What rewards need."""

        from .depths import bottom

        STEP = 0.125


        def clip(value, low, high=1.0):
            # between the two
            return min(max(value, low), high)


        def scaled(value, factor):
            return factor * value


        def deep(value):
            from .depths import lower as below

            return below(value) + bottom(value) * STEP
    ''',
    "depths": """
        OFFSETS = (1, 2.0, b"x", None)


        def bottom(value):
            return value + OFFSETS[0]


        def lower(value):
            return value + len(OFFSETS)
    """,
    "kinds": '''
        from dataclasses import dataclass, field
        from enum import Enum


        class Kind(Enum):
            """Of a completion."""

            GOOD = 1
            BAD = 2

            @property
            def worth(self):
                return 1.0 if self is Kind.GOOD else 0.0


        @dataclass(frozen=True)
        class Limits:
            low: float
            high: float = 2.0
            tags: list = field(default_factory=list)


        class Base:
            scale = 4.0

            def score(self, kind):
                return self.total * kind.worth * self.scale


        class Scorer(Base):
            bonus: float = 0.5

            def __init__(self, total):
                self.total = total

            def score(self, kind):
                """With the bonus."""
                return super().score(kind) + self.bonus + self.sign(kind)

            @staticmethod
            def sign(kind):
                return 1 if kind is Kind.GOOD else -1
    ''',
}
"""A project in which a reward reaches all kinds of things."""


def edited(file: str, old: str, new: str) -> dict[str, str]:
    """The project with one text replaced."""
    assert old in PROJECT[file]
    return {**PROJECT, file: PROJECT[file].replace(old, new)}


COSMETIC = [
    ("rewards", '"""What a completion earns."""', '"""Other words."""'),
    ("rewards", '"""What a completion earns."""', ""),
    ("rewards", '"""Rewards of a project."""', "# no words"),
    ("rewards", "total = 0.0", "total = 0.0  # so far"),
    ("rewards", "total = 0.0", "pass\n            total = 0.0"),
    ("rewards", "total = 0.0", "total: float = 0.0"),
    ("rewards", "total", "so_far"),  # a local that is assigned
    ("rewards", "word", "token"),  # that of a loop
    ("rewards", "int(match) for match", "int(found) for found"),  # that of a comprehension
    ("rewards", "wrapper", "inner"),  # functions in functions
    ("rewards", "def rounder(digits):", "def rounder(places):\n            digits = places\n"),  # around a closure
    ("rewards", "*args", "*others"),
    ("rewards", "(rollout, floor=LIMIT, *,", "(rollout: str, floor: float = LIMIT, *,"),
    ("rewards", "floor=LIMIT", "floor=1 / 2"),  # the same default
    ("rewards", "LIMITS = ", "LIMITS: object = "),
    ("rewards", "TABLE", "ROWS"),  # the name of a constant
    ("rewards", "UNUSED = 1", "UNUSED = 2"),
    ("rewards", "def unused(value):\n            return value", "def unused(value):\n            return -value"),
    ("rewards", '{"alpha", "beta", "gamma"}', '{"gamma", "beta", "alpha"}'),  # a set has no order
    ("rewards", "import math\n", "import math as maths\n        math = maths\n"),
    ("rewards", "1e9", "1_000_000_000.0"),
    ("rewards", '"alpha": 1.0', "'al' 'pha': 1.0"),
    (
        "rewards",
        "numbers and is_even(len(numbers))",
        "(numbers) and is_even(\n                len(numbers),\n            )",
    ),
    ("helpers", "# between the two", "# what lies outside is moved"),
    ("helpers", "from .depths import bottom", "from .depths import bottom, lower"),
    ("helpers", "from .depths import bottom", "from . import depths\n        bottom = depths.bottom"),
    ("helpers", "below", "beneath"),  # an import in a function
    ("helpers", "STEP = 0.125", "STEP = 1 / 8"),
    ("helpers", "STEP", "STRIDE"),
    ("kinds", '"""Of a completion."""', '"""Whether it is good."""'),
    ("kinds", '"""With the bonus."""', "# with the bonus"),
    ("kinds", "scale = 4.0", 'scale = 4.0\n            """Of all scores."""'),
    ("kinds", "def sign(kind):", 'def sign(kind: "Kind"):'),
]

SEMANTIC = [
    # the function itself
    ("rewards", "total = 0.0", "total = -0.0"),
    ("rewards", "total = 0.0", "total = 0"),
    ("rewards", "assert total < 1e9", "assert total < 1e8"),
    ("rewards", "assert total < 1e9", ""),
    ("rewards", "WEIGHTS.get(word, 0.0)", "WEIGHTS.get(rollout, 0.0)"),
    ("rewards", "rollout", "completion"),  # a parameter can be given by name
    ("rewards", "floor=LIMIT", "floor=0.25"),
    ("rewards", "power=2", "power=3"),
    ("rewards", "*, power=2", "power=2"),
    ("rewards", "math.log", "math.exp"),
    ("rewards", "import math", "import cmath as math"),
    # constants
    ("rewards", "LIMIT = 0.5", "LIMIT = 0.75"),
    ("rewards", "re.ASCII", "re.ASCII | re.IGNORECASE"),
    ("rewards", "\\d+", "\\d"),
    ("rewards", '"gamma"}', '"delta"}'),
    ("rewards", '"beta": 2.0', '"beta": 2'),
    ("rewards", '{"alpha": 1.0, "beta": 2.0}', '{"beta": 2.0, "alpha": 1.0}'),  # a loop follows the order of a dict
    ("rewards", "Limits(low=0.25)", "Limits(low=0.5)"),
    ("rewards", "np.array([1.0, 2.0]", "np.array([1.0, 3.0]"),
    ("rewards", "np.array([1.0, 2.0]", "np.array([[1.0, 2.0]]"),
    ("rewards", "np.float32", "np.float64"),
    ("rewards", "partial(scaled, factor=0.5)", "partial(scaled, factor=0.25)"),
    ("rewards", "partial(scaled, factor=0.5)", "partial(clip, low=0.5)"),
    ("rewards", "rounder(3)", "rounder(2)"),  # what a closure holds
    ("rewards", "UNUSED = 1", "WORDS.add('delta')"),
    ("rewards", "UNUSED = 1", "helpers.STEP = 0.25"),  # set from outside
    ("rewards", "UNUSED = 1", "clip = helpers.scaled"),
    ("rewards", "UNUSED = 1", "Scorer.score = clip"),
    ("rewards", "UNUSED = 1", "Scorer.scale = 8.0"),
    ("rewards", "UNUSED = 1", "Scorer.bonus = 1.0"),
    ("rewards", "UNUSED = 1", "clip.bound = 1.0"),
    ("helpers", "STEP = 0.125", "STEP = 0.25"),
    ("depths", 'b"x"', '"x"'),
    ("depths", "None)", "None, None)"),
    ("depths", "(1, 2.0", "(True, 2.0"),
    ("depths", '(1, 2.0, b"x", None)', '[1, 2.0, b"x", None]'),
    # what it calls, directly and two levels deep
    ("rewards", "return round(value, digits)", "return round(value, digits + 1)"),
    ("rewards", "number == 0 or", "number <= 0 or"),
    ("rewards", "is_even(number - 1)", "is_even(number - 2)"),  # through a recursion
    ("rewards", "return value - 1", "return value - 2"),  # under a cache
    ("rewards", "@lru_cache", "@lru_cache(typed=True)"),
    ("helpers", "max(value, low)", "max(low, value)"),
    ("helpers", "high=1.0", "high=2.0"),
    ("helpers", "return factor * value", "return value * factor"),
    ("helpers", "import lower as below", "import bottom as below"),
    ("depths", "value + OFFSETS[0]", "value - OFFSETS[0]"),
    ("depths", "value + len(OFFSETS)", "value + len(OFFSETS[1:])"),
    # decorators
    ("rewards", "function(2 * value", "function(3 * value"),
    ("rewards", "factor * function(value)", "factor + function(value)"),
    ("rewards", "@times(3)", "@times(4)"),
    ("rewards", "@times(3)", "@doubled"),
    ("rewards", "@times(3)", "@doubled\n        @times(3)"),
    ("rewards", "@doubled\n        def", "def"),
    # classes
    ("kinds", "GOOD = 1", "GOOD = 3"),
    ("kinds", "BAD = 2", "BAD = 1"),
    ("kinds", "1.0 if self", "2.0 if self"),
    ("kinds", "high: float = 2.0", "high: float = 3.0"),
    ("kinds", "low: float\n", "low: int\n"),
    ("kinds", "frozen=True", "frozen=True, order=True"),
    ("kinds", "default_factory=list", "default_factory=set"),
    ("kinds", "scale = 4.0", "scale = 5.0"),
    ("kinds", "* self.scale", "+ self.scale"),  # of a base class, by super()
    ("kinds", "class Scorer(Base)", "class Scorer(Base, Limits)"),
    ("kinds", "bonus: float = 0.5", "bonus: float = 0.75"),
    ("kinds", "self.total = total", "self.total = -total"),
    ("kinds", "else -1", "else 0"),
    ("kinds", "@staticmethod\n            def sign(kind)", "def sign(self, kind)"),
    ("kinds", "self.bonus +", "self.bonus -"),
]


def test_the_project_gives_a_reward(load: Load) -> None:
    """The project of these tests runs."""
    assert load(**PROJECT).reward("alpha delta 3 4") == pytest.approx(29.875, abs=30)


@pytest.mark.parametrize(("file", "old", "new"), COSMETIC)
def test_words_and_names_of_locals_do_not_count(load: Load, file: str, old: str, new: str) -> None:
    """An edit that cannot change a value keeps the fingerprint."""
    assert fingerprint_of(load(**edited(file, old, new))) == fingerprint_of(load(**PROJECT))


@pytest.mark.parametrize(("file", "old", "new"), SEMANTIC)
def test_what_can_change_a_value_counts(load: Load, file: str, old: str, new: str) -> None:
    """An edit that can change a value changes the fingerprint, wherever it is."""
    assert fingerprint_of(load(**edited(file, old, new))) != fingerprint_of(load(**PROJECT))


SAME = [
    # locals swap their names
    ("def reward(r): a, b = r; return a - b", "def reward(r): b, a = r; return b - a"),
    # one of them hides a global, a built-in name or a parameter of another function
    ("LIMIT = 1\ndef reward(r): LIMIT = r; return LIMIT", "LIMIT = 1\ndef reward(r): value = r; return value"),
    ("def reward(r): sum = r; return sum", "def reward(r): value = r; return value"),
    # a comprehension has names of its own
    ("def reward(r): x = 1; y = [x for x in r]; return x", "def reward(r): x = 1; y = [z for z in r]; return x"),
    ("def reward(r): return [x for y in r for x in y]", "def reward(r): return [b for a in r for b in a]"),
    ("def reward(r): return {k: v for k, v in r}", "def reward(r): return {v: k for v, k in r}"),
    # := in it binds outside
    ("def reward(r): s = [y := x for x in r]; return y", "def reward(r): s = [a := b for b in r]; return a"),
    # with, except, match, for, del, import
    ("def reward(r):\n with r as x: return x", "def reward(r):\n with r as y: return y"),
    (
        "def reward(r):\n try: r()\n except E as e: return e\nE = 1",
        "def reward(r):\n try: r()\n except E as f: return f\nE = 1",
    ),
    (
        "def reward(r):\n match r:\n  case [a, *b] | {'k': a, **b}: return a\n  case {'x': 1} as c: return c",
        "def reward(r):\n match r:\n  case [x, *y] | {'k': x, **y}: return x\n  case {'x': 1} as z: return z",
    ),
    ("def reward(r):\n for i in r: pass\n else: del i", "def reward(r):\n for j in r: ...\n else: del j"),
    ("def reward(r):\n import math\n return math.log(r)", "def reward(r):\n import math as m\n return m.log(r)"),
    ("import math\ndef reward(r): return math.log(r)", "def reward(r):\n from math import log\n return log(r)"),
    ("from math import log\ndef reward(r): return log(r)", "from math import log as ln\ndef reward(r): return ln(r)"),
    ("import numpy as np\ndef reward(r): return np.log(r)", "from numpy import log\ndef reward(r): return log(r)"),
    ("import os.path, math\ndef reward(r): return math.pi", "from math import pi\ndef reward(r): return pi"),
    # parameters that cannot be given by name
    ("def reward(r, /, *a, **k): return r, a, k", "def reward(s, /, *b, **c): return s, b, c"),
    # nested functions with nonlocal, and closures
    (
        "def reward(r):\n n = 0\n def f():\n  nonlocal n\n  n += 1\n  return n\n return f()",
        "def reward(r):\n m = 0\n def g():\n  nonlocal m\n  m += 1\n  return m\n return g()",
    ),
    (
        "def make(k):\n def reward(r): return k * r\n return reward\nreward = make(2)",
        "def build(n):\n def reward(r): return n * r\n return reward\nreward = build(2)",
    ),
    # a declared local is one
    ("x = 1\ndef reward(r):\n x: int\n x = r\n return x", "x = 1\ndef reward(r):\n y: int\n y = r\n return y"),
    # a class in a function
    (
        "def reward(r):\n class A:\n  '''Words.'''\n  k = 1\n  def f(self):\n   x = 1\n   return x\n return A().f()",
        "def reward(r):\n class A:\n  k = 1\n  def f(self) -> int:\n   y = 1\n   return y\n return A().f()",
    ),
    # annotations under decorators of the language
    (
        "class A:\n @property\n def x(self): return 1\ndef reward(r): return A().x",
        "class A:\n @property\n def x(self) -> int: return 1\ndef reward(r): return A().x",
    ),
    # a type alias that only annotates
    ("T = int\ndef reward(r: T) -> T: return r", "T = float\ndef reward(r: T) -> T: return r"),
    # the names of constants, and where a helper stands
    ("A = 1\ndef reward(r): return A", "B = 1\ndef reward(r): return B"),
    ("def reward(r): return h(r)\ndef h(r): return r", "def h(r): return r\nX = 1\ndef reward(r): return h(r)"),
    ("S = frozenset('abcdefgh')\ndef reward(r): return S", "S = frozenset('hgfedcba')\ndef reward(r): return S"),
    # the order of methods, of a set, and of imports
    (
        "class A:\n def f(self): return 1\n def g(self): return 2\ndef reward(r): return A",
        "class A:\n def g(self): return 2\n def f(self): return 1\ndef reward(r): return A",
    ),
    ("def reward(r): return r in {'a', 'b'}", "def reward(r): return r in {'b', 'a'}"),
    # all ways in which a module can get a name
    ("from math import *\ndef reward(r): return log(r), pi", "import math\ndef reward(r): return math.log(r), math.pi"),
    ("from .helpers import *\ndef reward(r): return f(r)", "from . import helpers\ndef reward(r): return helpers.f(r)"),
    (
        "import PACKAGE.helpers\ndef reward(r): return PACKAGE.helpers.f(r)",
        "from .helpers import f\ndef reward(r): return f(r)",
    ),
    (
        "def reward(r):\n import PACKAGE.helpers\n return PACKAGE.helpers.f(r)",
        "from .helpers import f\ndef reward(r): return f(r)",
    ),
    (
        "try: from .missing import f\nexcept ImportError: from .helpers import f\ndef reward(r): return f(r)",
        "from .helpers import f\ndef reward(r): return f(r)",
    ),
    (
        "from . import helpers\ndef reward(r): return helpers.log(r)",
        "from math import log\ndef reward(r): return log(r)",
    ),
    # the same number, text and concatenation
    ("def reward(r): return 0x10, 1_0, 'a' f'{r}'", 'def reward(r): return (16, 10, f"a{r}")'),
]

DIFFERENT = [
    ("def reward(r): a, b = r; return a - b", "def reward(r): a, b = r; return b - a"),
    ("def reward(r): x = r; y = x; return x", "def reward(r): x = r; y = x; return y"),
    ("def reward(r, a, b): return a", "def reward(r, b, a): return a"),
    ("def reward(r, a): return 1", "def reward(r, *a): return 1"),
    ("def reward(r): return f(k=1)\ndef f(**k): return k", "def reward(r): return f(j=1)\ndef f(**k): return k"),
    ("def reward(r): return r.x", "def reward(r): return r.y"),
    ("def reward(r): return 1", "def reward(r): return 1.0"),
    ("def reward(r): return 1", "def reward(r): return True"),
    ("def reward(r): return ''", "def reward(r): return b''"),
    ("def reward(r): return f'{r}'", "def reward(r): return f'{r!r}'"),
    ("def reward(r): return f'{r:.2f}'", "def reward(r): return f'{r:.3f}'"),
    ("def reward(r): x = r; return f'{x=}'", "def reward(r): y = r; return f'{y=}'"),  # shows the name of a local
    ("def reward(r): return [x for x in r]", "def reward(r): return (x for x in r)"),
    ("def reward(r): return [x for x in r if x]", "def reward(r): return [x for x in r]"),
    ("def reward(r): return a, b\na = b = 1", "def reward(r): return a, b\na = 1; b = 2"),
    ("def reward(r): return (r, *r)", "def reward(r): return (r, r)"),
    ("def reward(r): return f(*r)\ndef f(*a): return a", "def reward(r): return f(**r)\ndef f(*a): return a"),
    (
        "def reward(r):\n try: return r\n except KeyError: pass",
        "def reward(r):\n try: return r\n except ValueError: pass",
    ),
    ("def reward(r):\n match r:\n  case None: return 1", "def reward(r):\n match r:\n  case True: return 1"),
    ("def reward(r):\n for i in r: r\n else: i", "def reward(r):\n for i in r: r\n i"),
    # a local in place of a global
    ("x = 1\ndef reward(r):\n [x := 2 for _ in r]\n return x", "x = 1\ndef reward(r):\n [x for _ in r]\n return x"),
    ("x = 1\ndef reward(r):\n [x for x in r]\n return x", "x = 1\ndef reward(r):\n x = [y for y in r]\n return x"),
    # another scope of the same name
    (
        "def reward(r):\n n = 0\n def f():\n  n = 1\n f()\n return n",
        "def reward(r):\n n = 0\n def f():\n  nonlocal n\n  n = 1\n f()\n return n",
    ),
    # a coroutine
    ("def reward(r): return f(r)\ndef f(r): return r", "def reward(r): return f(r)\nasync def f(r): return r"),
    # a default is evaluated once and outside, a decorator is called
    ("def reward(r):\n def f(x=len): return x\n return f", "def reward(r):\n @len\n def f(x): return x\n return f"),
    ("def reward(r):\n class A(list): pass\n return A", "def reward(r):\n @list\n class A: pass\n return A"),
    # reads in nested functions, comprehensions, classes, defaults and annotations of fields
    ("A = 1\ndef reward(r): return (lambda x=A: x)()", "A = 2\ndef reward(r): return (lambda x=A: x)()"),
    ("A = 1\ndef reward(r): return [A for _ in r]", "A = 2\ndef reward(r): return [A for _ in r]"),
    (
        "A = 1\ndef reward(r):\n class B:\n  A = A\n return B",
        "A = 2\ndef reward(r):\n class B:\n  A = A\n return B",
    ),
    (
        "from pydantic import BaseModel as M\nclass A(M):\n x: int = 1\nclass B(M):\n a: A\ndef reward(r): return B",
        "from pydantic import BaseModel as M\nclass A(M):\n x: str = 1\nclass B(M):\n a: A\ndef reward(r): return B",
    ),
    (
        "from pydantic import BaseModel as M, field_validator as v\nclass A(M):\n x: int = 1\n @v('x')\n @classmethod\n"
        " def f(cls, x): return x\ndef reward(r): return A",
        "from pydantic import BaseModel as M, field_validator as v\nclass A(M):\n x: int = 1\n @v('x')\n @classmethod\n"
        " def f(cls, x): return -x\ndef reward(r): return A",
    ),
    # other names of the outside
    (
        "from math import floor as f\ndef reward(r): return f(r)",
        "from math import ceil as f\ndef reward(r): return f(r)",
    ),
    ("import numpy as np\ndef reward(r): return np.mean(r)", "import numpy as np\ndef reward(r): return np.sum(r)"),
    ("F = {'f': len}\ndef reward(r): return F", "F = {'f': sum}\ndef reward(r): return F"),
    ("F = [str.lower]\ndef reward(r): return F", "F = [str.upper]\ndef reward(r): return F"),
    ("F = 'a'.join\ndef reward(r): return F(r)", "F = 'b'.join\ndef reward(r): return F(r)"),
    ("from math import pi as x\ndef reward(r): return x", "from math import e as x\ndef reward(r): return x"),
    ("len = sum\ndef reward(r): return len(r)", "def reward(r): return len(r)"),  # hides a built-in name
    # what is put on a class after its body
    (
        "class A: pass\nA.f = classmethod(len)\ndef reward(r): return A.f(r)",
        "class A: pass\nA.f = classmethod(sum)\ndef reward(r): return A.f(r)",
    ),
    # definitions under a condition
    (
        "A = 1\nif A:\n def f(r): return 1\nelse:\n def f(r): return 2\ndef reward(r): return f(r)",
        "A = 0\nif A:\n def f(r): return 1\nelse:\n def f(r): return 2\ndef reward(r): return f(r)",
    ),
    (
        "def f(r): return 1\ndef f(r): return 2\ndef reward(r): return f(r)",
        "def f(r): return 2\ndef f(r): return 1\ndef reward(r): return f(r)",
    ),
    # an annotation that a decorator may read
    (
        "def d(f): return lambda r: 1\ndef reward(r):\n @d\n def f(x: int): return x\n return f(r)",
        "def d(f): return lambda r: 1\ndef reward(r):\n @d\n def f(x: str): return x\n return f(r)",
    ),
    # code that something of the standard library was made around
    (
        "from contextlib import contextmanager as c\n@c\ndef f(): yield 1\ndef reward(r):\n with f() as x: return x",
        "from contextlib import contextmanager as c\n@c\ndef f(): yield 2\ndef reward(r):\n with f() as x: return x",
    ),
    # a method of a value
    (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n k: int\n def f(self, r): return r\nF = A(1).f\n"
        "def reward(r): return F(r)",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n k: int\n def f(self, r): return r\nF = A(2).f\n"
        "def reward(r): return F(r)",
    ),
    # the name of a function, which it can show
    ("def reward(r): return f\ndef f(r): return r", "def reward(r): return g\ndef g(r): return r"),
]

VALUES = [
    ("1", "1.0"), ("1", "True"), ("0.0", "-0.0"), ("1", "2"), ("1.0", "1.5"), ("1j", "2j"), ("None", "'None'"),
    ("'a'", "b'a'"), ("b'a'", "bytearray(b'a')"), ("'\\ud800'", "'\\ud801'"), ("16**6000", "16**6000 + 1"),
    ("float('nan')", "float('inf')"), ("range(3)", "range(4)"), ("...", "NotImplemented"),
    ("[1, 2]", "[2, 1]"), ("[1]", "(1,)"), ("[[1], 2]", "[[1, 2]]"), ("{1: 2}", "{1: 3}"), ("{1: 2}", "[(1, 2)]"),
    ("{1: 1, 2: 2}", "{2: 2, 1: 1}"), ("types.MappingProxyType({1: 2})", "types.MappingProxyType({1: 3})"),
    ("{1, 2}", "{1, 3}"), ("{1}", "frozenset({1})"), ("{frozenset({1})}", "{frozenset({2})}"),
    ("{Kind.A}", "{Kind.B}"), ("Kind.A", "Kind.B"), ("Kind.A", "1"), ("Flags.A", "Flags.A | Flags.B"),
    ("{Point(1)}", "{Point(2)}"), ("Point(1)", "Point(2)"), ("Point(1)", "Point(True)"), ("Hidden(1)", "Hidden(2)"),
    ("Pair(1, 2)", "Pair(2, 1)"),
    ("Made(1)", "Made(2)"), ("Made(1)", "Other(1)"), ("Pair(1, 2)", "(1, 2)"),
    ("re.compile('a')", "re.compile('b')"), ("re.compile('a')", "re.compile('a', re.I)"),
    ("re.compile('a')", "re.compile(b'a')"),
    ("np.zeros(2)", "np.ones(2)"), ("np.zeros(2)", "np.zeros(2, int)"), ("np.zeros(2)", "np.zeros((1, 2))"),
    ("np.zeros(2)", "[0.0, 0.0]"), ("np.float32(1)", "np.float64(1)"), ("np.float64(1)", "1.0"),
    ("np.int8(1)", "np.int8(2)"),
    ("np.array([1, 'a'], object)", "np.array([1, 'b'], object)"), ("np.dtype('f4')", "np.dtype('f8')"),
    ("np.datetime64('2020-01-01')", "np.datetime64('2020-01-02')"),
    ("np.zeros(1, [('a', int)])", "np.zeros(1, [('b', int)])"), ("np.ones((2, 2))", "np.ones((2, 2), order='F')"),
    ("partial(max, 1)", "partial(max, 2)"), ("partial(max, 1)", "partial(min, 1)"),
    ("partial(max, key=len)", "partial(max, key=abs)"),
    ("Decimal('1.0')", "Decimal('1.00')"), ("Fraction(1, 2)", "Fraction(1, 3)"), ("timedelta(1)", "timedelta(2)"),
    ("datetime(2020, 1, 1)", "datetime(2020, 1, 1, tzinfo=timezone.utc)"), ("itemgetter('a')", "itemgetter('b')"),
    ("deque([1])", "deque([2])"), ("deque([1])", "deque([1], 5)"), ("Counter('ab')", "Counter('abb')"),
    ("OrderedDict(a=1)", "OrderedDict(a=2)"), ("defaultdict(int)", "defaultdict(float)"),
    ("defaultdict(int, a=1)", "defaultdict(int, a=2)"), ("int", "float"), ("Point", "Kind"), ("len", "abs"),
    ("list[int]", "list[str]"), ("Literal['a']", "Literal['b']"), ("int | None", "int | str"),
    ("Callable[[int], str]", "Callable[[str], str]"), ("TypeVar('T')", "TypeVar('U')"),
]  # fmt: skip
"""Constants that differ, two at a time."""

KINDS = """
    import re, types
    from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
    from collections.abc import Callable
    from dataclasses import InitVar, dataclass
    from datetime import datetime, timedelta, timezone
    from decimal import Decimal
    from enum import Enum, Flag
    from fractions import Fraction
    from functools import cached_property, partial
    from operator import itemgetter
    from typing import Literal, NamedTuple, TypeVar

    import numpy as np

    Made, Other = namedtuple("Made", "x"), namedtuple("Other", "x")


    class Kind(Enum):
        A, B = 1, 2


    class Flags(Flag):
        A, B = 1, 2


    @dataclass(frozen=True)
    class Point:
        x: int


    @dataclass
    class Hidden:
        x: InitVar[int]

        def __post_init__(self, x):
            self.y = x

        @cached_property
        def twice(self):
            return 2 * self.y


    class Pair(NamedTuple):
        x: int
        y: int
"""


@pytest.mark.parametrize(("one", "other"), SAME)
def test_scopes_tell_whose_a_name_is(load: Load, one: str, other: str) -> None:
    """A local can have any name, in each of its scopes."""
    helpers = "from math import log\ndef f(r): return r\n"

    assert fingerprint_of(load(one, helpers=helpers)) == fingerprint_of(load(other, helpers=helpers))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_code_has_another_fingerprint(load: Load, one: str, other: str) -> None:
    """Code that can give another value is told apart."""
    assert fingerprint_of(load(one)) != fingerprint_of(load(other))


@pytest.mark.parametrize(("one", "other"), VALUES)
def test_constants_count_with_their_types(load: Load, one: str, other: str) -> None:
    """Another constant is another fingerprint, and an equal one that is made anew is the same."""
    module = load(f"{dedent(KINDS)}\n\ndef reward_on(value):\n def reward(r): return value\n return reward\n")
    first, again, second = (module.reward_on(eval(text, vars(module))) for text in (one, one, other))

    assert code_fingerprint("reward_x", first) == code_fingerprint("reward_x", again)
    assert code_fingerprint("reward_x", first) != code_fingerprint("reward_x", second)


REFUSALS = [
    # no code to see
    ("reward = lambda r: 1.0", "a lambda is not allowed"),
    (
        "F = {'f': lambda r: 1.0}\ndef reward(r): return F['f'](r)",
        "a lambda is not allowed in package_N.rewards.<lambda>",
    ),
    ("import math\nreward = math.sqrt", "a builtin_function_or_method is not allowed"),
    ("from functools import partial\ndef f(r): return r\nreward = partial(f, 1)", "a partial is not allowed"),
    ("class F:\n def __call__(self, r): return r\nreward = F()", "a F is not allowed"),
    ("exec('def reward(r): return 1')", "reward, which is loaded with other code than its file holds,"),
    (
        "A = type('A', (), {})\ndef reward(r): return A",
        "a class that is made by a call is not allowed in package_N.rewards.A",
    ),
    # state
    (
        "N = 0\ndef reward(r):\n global N\n N += 1\n return N",
        "the statement global N is not allowed in package_N.rewards.reward",
    ),
    (
        "def make():\n n = 0\n def reward(r):\n  nonlocal n\n  n += 1\n  return n\n return reward\nreward = make()",
        "the statement nonlocal n is not allowed",
    ),
    ("S = []\ndef reward(r):\n S.append(r)\n return len(S)", "writing to S is not allowed"),
    ("S = {}\ndef reward(r):\n S[r] = 1\n return len(S)", "writing to S is not allowed"),
    ("S = {}\ndef reward(r):\n S['a']['b'] += 1\n return 1", "writing to S is not allowed"),
    ("S = {'a': []}\ndef reward(r):\n S['a'].append(1)\n return 1", "writing to S is not allowed"),
    ("class A: s = []\ndef reward(r):\n A.s.append(r)\n return 1", "writing to A is not allowed"),
    (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n s: list\n"
        "S = A([])\ndef reward(r):\n S.s.append(r)\n return 1",
        "writing to S is not allowed",
    ),
    ("S = {}\ndef reward(r):\n del S[r]\n return 1", "writing to S is not allowed"),
    ("S = [1]\ndef reward(r):\n S[0], x = r\n return x", "writing to S is not allowed"),
    ("S = [1]\ndef reward(r):\n for S[0] in r: pass\n return 1", "writing to S is not allowed"),
    ("def reward(r):\n reward.calls = 1\n return 1", "writing to reward is not allowed"),
    ("class A: n = 1\ndef reward(r):\n A.n += 1\n return 1", "writing to A is not allowed"),
    ("class A: n = 1\ndef reward(r):\n setattr(A, 'n', r)\n return 1", "writing to A is not allowed"),
    ("import math\ndef reward(r):\n math.pi = 3\n return 1", "writing to math is not allowed"),
    ("def reward(r):\n import math\n math.pi = 3\n return 1", "writing to math is not allowed"),
    ("def reward(r, seen=[]):\n seen.append(r)\n return len(seen)", "writing to the default of seen is not allowed"),
    ("def reward(r, *, seen={}):\n seen[r] = 1\n return len(seen)", "writing to the default of seen is not allowed"),
    ("def reward(r, seen=[]):\n seen += [r]\n return len(seen)", "writing to the default of seen is not allowed"),
    (
        "def make():\n s = []\n def reward(r):\n  s.append(r)\n  return s\n return reward\nreward = make()",
        "writing to s is not allowed",
    ),
    # values that do not tell what they are
    ("S = iter([1])\ndef reward(r): return next(S)", "a value of type builtins.list_iterator is not allowed in S of"),
    (
        "S = (i for i in [1])\ndef reward(r): return next(S)",
        "a value of type builtins.generator is not allowed in S of",
    ),
    ("S = object()\ndef reward(r): return S", "a value of type builtins.object is not allowed in S of"),
    ("S = open(__file__)\ndef reward(r): return S", "a value of type _io.TextIOWrapper is not allowed in S of"),
    ("class A: pass\nS = A()\ndef reward(r): return S", "a value of type package_N.rewards.A is not allowed in S of"),
    ("class A(dict): pass\nS = A()\ndef reward(r): return S", "a value of type package_N.rewards.A is not allowed"),
    ("import numpy as np\nS = np.ma.array([1])\ndef reward(r): return S", "a MaskedArray is not allowed in S of"),
    (
        "import numpy as np\nS = np.random.default_rng(1)\ndef reward(r): return S.random()",
        "numpy.random._generator.Generator",
    ),
    (
        "import itertools\nS = itertools.count()\ndef reward(r): return next(S)",
        "a value of type itertools.count is not",
    ),
    ("S = []\nS.append(S)\ndef reward(r): return S", "nesting without end is not allowed"),
    ("def reward(r, s=object()): return s", "a value of type builtins.object is not allowed"),
    ("class A:\n s = object()\ndef reward(r): return A.s", "a value of type builtins.object is not allowed in s of"),
    # names
    ("def reward(r): return missing(r)", "the name missing, which does not resolve, is not allowed"),
    ("import math\ndef reward(r): return math.missing(r)", "the name math.missing, which does not resolve, is not"),
    ("def reward(r):\n from .missing import f\n return f(r)", "the name package_N.missing, which does not resolve,"),
    ("from . import helpers\ndef reward(r): return helpers.f(r)", "package_N.helpers.f, which does not resolve,"),
    (
        "def reward(r):\n try: import json\n except ImportError: json = None\n return json",
        "json, bound by an import and",
    ),
    ("from . import helpers\ndef reward(r): return getattr(helpers, r)", "the module package_N.helpers as a value"),
    ("import numpy as np\ndef reward(r):\n xp = np\n return xp.random.rand()", "the module numpy as a value"),
    ("def reward(r): return __file__", "__file__, the place of a module, is not allowed"),
    ("def reward(r): return reward.__doc__", "the attribute __doc__ is not allowed"),
    ("class A: pass\ndef reward(r): return A.__subclasses__()", "the attribute __subclasses__ is not allowed"),
    # code that cannot be seen
    ("def reward(r): return eval(r)", "builtins.eval, which is code that cannot be seen, is not allowed"),
    ("def reward(r): return [exec][0](r)", "builtins.exec, which is code that cannot be seen, is not allowed"),
    (
        "F = eval\ndef reward(r): return F(r)",
        "builtins.eval, which is code that cannot be seen, is not allowed in F of",
    ),
    ("def reward(r): return globals()['f'](r)", "builtins.globals, which is"),
    (
        "from typing import get_type_hints\ndef reward(r): return get_type_hints(reward)",
        "typing.get_type_hints, which is",
    ),
    (
        "from functools import singledispatch\n@singledispatch\ndef f(r): return r\ndef reward(r): return f(r)",
        "a value of type weakref.WeakKeyDictionary is not allowed in f of",
    ),
    (
        "def make(k):\n class A:\n  n = k\n return A\nA = make(1)\ndef reward(r): return A",
        "the name k, which does not resolve",
    ),
    ("def reward(r): return locals()", "builtins.locals, which is"),
    ("def reward(r): return vars(r)", "builtins.vars, which is"),
    ("def reward(r): return __import__(r)", "builtins.__import__, which is"),
    ("import importlib\ndef reward(r): return importlib.import_module(r)", "importlib.import_module, which is code"),
    ("def reward(r):\n import builtins\n return builtins.eval(r)", "builtins.eval, which is code"),
    # chance
    ("import random\ndef reward(r): return random.random()", "random.random, which is chance, is not allowed"),
    ("from random import random as f\ndef reward(r): return f()", "random.random, which is chance, is not allowed"),
    (
        "from . import helpers\ndef reward(r): return helpers.dice()",
        "random.randint, which is chance, is not allowed in",
    ),
    ("import random\nF = {'f': random.random}\ndef reward(r): return F['f']()", "a value of type random.Random is not"),
    ("import random\ndef reward(r): return random.Random().random()", "random.Random without a seed is not allowed"),
    (
        "import numpy as np\ndef reward(r): return np.random.rand()",
        "numpy.random.rand, which is chance, is not allowed",
    ),
    (
        "def reward(r):\n import numpy.random as n\n return n.rand()",
        "numpy.random.rand, which is chance, is not allowed",
    ),
    ("import numpy as np\ndef reward(r): return np.random.default_rng()", "numpy.random.default_rng without a seed"),
    (
        "import numpy as np\ndef reward(r): return np.random.default_rng(None)",
        "numpy.random.default_rng without a seed",
    ),
    ("import uuid\ndef reward(r): return uuid.uuid4().int", "uuid.uuid4, which is chance, is not allowed"),
    ("import secrets\ndef reward(r): return secrets.randbelow(2)", "secrets.randbelow, which is chance, is not"),
    # clocks, files and the process
    ("import time\ndef reward(r): return time.time()", "time.time, which is a clock, is not allowed"),
    ("from time import perf_counter\ndef reward(r): return perf_counter()", "time.perf_counter, which is a clock, is"),
    ("import datetime\ndef reward(r): return datetime.datetime.now()", "datetime.datetime.now, which is a clock, is"),
    ("from datetime import date\ndef reward(r): return date.today()", "datetime.date.today, which is a clock, is not"),
    (
        "from datetime import datetime\nN = datetime.now\ndef reward(r): return N()",
        "datetime.datetime.now, which is a clock",
    ),
    ("def reward(r): return open(r).read()", "builtins.open, which is a file or the machine, is not allowed"),
    (
        "import os\ndef reward(r): return os.environ['HOME']",
        "os.environ, which is a file or the machine, is not allowed",
    ),
    (
        "from os import getenv\ndef reward(r): return getenv('HOME')",
        "os.getenv, which is a file or the machine, is not",
    ),
    ("from pathlib import Path\ndef reward(r): return Path(r).read_text()", "pathlib.Path, which is a file or"),
    ("import sys\ndef reward(r): return len(sys.argv)", "sys.argv, which is a state of the process, is not allowed"),
    ("def reward(r): return hash(r)", "builtins.hash, which is a state of the process, is not allowed"),
    ("def reward(r): return id(r)", "builtins.id, which is a state of the process, is not allowed"),
    ("def reward(r): return __debug__", "builtins.__debug__, which is a state of the process, is not allowed"),
]


@pytest.mark.parametrize(("text", "message"), REFUSALS)
def test_what_cannot_be_told_is_refused(load: Load, text: str, message: str) -> None:
    """The message names the reward, what was found, where, and what is allowed."""
    module = load(text, helpers="import random\ndef dice(): return random.randint(1, 6)\n")

    with pytest.raises(UserMistake) as mistake:
        fingerprint_of(module)

    first, second = str(mistake.value).split("\n")
    assert message.replace("package_N", module.__package__) in first
    assert first.startswith("reward_x: ")
    assert second.startswith("  allowed: ")


def test_a_property_that_was_computed_does_not_count(load: Load) -> None:
    """What a dataclass keeps of an earlier call is no part of it."""
    module = load(dedent(KINDS) + "\nSETTINGS = Hidden(1)\ndef reward(r): return SETTINGS.twice\n")
    before = fingerprint_of(module)

    assert module.reward(None) == 2
    assert fingerprint_of(module) == before


def test_the_name_of_a_reward_counts_in_the_message_only(load: Load) -> None:
    """A key of the registry is no part of the code; the name of the function is."""
    module = load("def reward(r): return 1\ndef reward_v2(r): return 1")

    assert code_fingerprint("a", module.reward) == code_fingerprint("b", module.reward)
    assert code_fingerprint("a", module.reward) != code_fingerprint("a", module.reward_v2)


@pytest.mark.parametrize(
    "text",
    [
        "import random\ndef reward(r, seed): return random.Random(seed).random()",
        "from random import Random\ndef reward(r, seed): return Random(seed).random()",
        "import numpy as np\ndef reward(r, seed): return np.random.default_rng(seed).random()",
        "import numpy as np\ndef reward(r, seed): return np.random.Generator(np.random.PCG64(seed)).random()",
        "def reward(r):\n seen = []\n seen.append(r)\n return seen",  # a local may be changed
        "def reward(r, seen=()):\n seen = list(seen)\n seen.append(r)\n return seen",
        "import numpy as np\ndef reward(r): return np.append(r, 1)",  # no method
        "from scipy.stats import norm\nfrom scipy.special import expit\ndef reward(r): return norm.cdf(r), expit(r)",
        "from datetime import datetime\ndef reward(r): return datetime(2020, 1, 1)",
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING: from os import environ as E\nclass A:\n x: E\ndef reward(r): return A",
        "from grpo_assets.domain.rollouts import Rollout\ndef reward(r): return isinstance(r, Rollout)",
        "import re\ndef reward(r): return bool(re.search('a', r, re.IGNORECASE | re.DOTALL))",
        "import sys\ndef reward(r): return r < sys.float_info.max",
        # classes of all kinds
        "from typing import *\nT = TypeVar('T')\nclass A(Generic[T]):\n x: T\ndef reward(r): return A",
        "from typing import *\nclass A(TypedDict): x: int\nclass B(Protocol): x: A\ndef reward(r): return B",
        "from abc import *\nclass A(ABC):\n @abstractmethod\n def f(self): ...\ndef reward(r): return A",
        "from dataclasses import *\n@dataclass(slots=True)\nclass A:\n x: int = 1\ndef reward(r): return A",
        "from enum import *\nclass A(StrEnum):\n X = auto()\n def f(self): return A.X\ndef reward(r): return A",
        "from functools import *\n@total_ordering\nclass A:\n def __lt__(self, a): return 1\ndef reward(r): return A",
    ],
)
def test_what_follows_from_the_arguments_is_allowed(load: Load, text: str) -> None:
    """Seeded generators, changes of locals, classes of this package and constants of the library have identities."""
    assert len(fingerprint_of(load(text))) == 64


def edit(module: ModuleType, old: str, new: str) -> None:
    """Edits the file of a loaded module."""
    file = Path(module.__file__ or "")
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_lines_that_move_after_loading_do_not_count(load: Load) -> None:
    """A function is found by its name and code, not by its line."""
    module = load("def other(r): return 2\n\n\ndef reward(r):\n    return 1\n")
    before = fingerprint_of(module)

    edit(module, "def other(r): return 2", "# more\n# and more\nX = 1\ndef other(r):\n    return 3\n")

    assert fingerprint_of(module) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rewards", "total < 1e9", "total < 1e8"),
        ("helpers", "max(value, low)", "max(low, value)"),
        ("kinds", "else -1", "else 0"),  # of a method
        ("rewards", "def is_odd", "def is_uneven"),
        ("depths", PROJECT["depths"].strip().split("\n")[0], "("),  # no Python any more
    ],
)
def test_code_that_was_edited_after_loading_is_refused(load: Load, file: str, old: str, new: str) -> None:
    """What runs is what was loaded; the file does not say that any more, and a new process reads it anew."""
    module = load(**PROJECT)

    edit(importlib.import_module(f"{module.__package__}.{file}"), old, new)

    with pytest.raises(UserMistake, match=r"loaded with other code than its file holds|source cannot be read"):
        fingerprint_of(module)


def test_a_reloaded_module_has_its_new_code(load: Load) -> None:
    """After a reload the fingerprint is that of the edited code."""
    module = load("def reward(r): return 1")
    old = module.reward
    edit(module, "return 1", "return 22")

    importlib.reload(module)

    assert fingerprint_of(module) == fingerprint_of(load("def reward(r): return 22"))
    with pytest.raises(UserMistake, match="loaded with other code"):
        code_fingerprint("reward_x", old)


def test_code_of_this_package_is_followed(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward of a user depends on what it calls here, and on the constants behind it."""
    module = load(
        "from grpo_assets.domain.rollouts import is_informative\ndef reward(r): return is_informative([r, 1])"
    )
    before = fingerprint_of(module)

    monkeypatch.setattr("grpo_assets.domain.rollouts.INFORMATIVE_SPREAD", 0.5)

    assert fingerprint_of(module) != before


def test_the_rewards_and_curricula_here_have_fingerprints_of_their_own() -> None:
    """No two of them are taken for each other."""
    known = {**REWARDS, **CURRICULA}

    assert len({code_fingerprint(name, function) for name, function in known.items()}) == len(known)


def in_a_new_process(folder: Path, code: str, *options: str, seed: int = 0) -> str:
    """What a program prints that is run from a folder, and in which `show` prints the fingerprint of a function."""
    show = "from grpo_assets.domain.code_identity import code_fingerprint\n"
    show += "def show(function): print(code_fingerprint('reward_x', function))\n"
    environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join([str(folder), *filter(None, sys.path)])}
    command = [sys.executable, *options, "-c", show + code]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_other_processes_find_the_same(load: Load, tmp_path: Path) -> None:
    """Neither the hash seed, nor `-O`, the folder, the name of the package or the order of imports counts."""
    module = load(**PROJECT)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / module.__package__).rename(tmp_path / "elsewhere" / "renamed")
    load_first = "import renamed.depths, decimal, renamed.kinds\n"
    show = "from renamed.rewards import reward\nshow(reward)\n"

    found = {
        in_a_new_process(tmp_path / "elsewhere", show, seed=1),
        in_a_new_process(tmp_path / "elsewhere", load_first + show, "-OO", seed=2),
    }

    assert found == {fingerprint_of(load(**PROJECT)) + "\n"}


def test_the_version_of_an_installed_library_counts(tmp_path: Path) -> None:
    """Code outside of the project is known by its name and version, not by its text."""
    (tmp_path / "installed.py").write_text("def f(r): return r", encoding="utf-8")
    (tmp_path / "mine.py").write_text("from installed import f\ndef reward(r): return f(r)", encoding="utf-8")
    metadata = tmp_path / "installed-1.dist-info"
    metadata.mkdir()
    (metadata / "top_level.txt").write_text("installed\n", encoding="utf-8")
    found = []

    for version, text in [("1.0", "return r"), ("1.0", "return -r"), ("1.1", "return -r")]:
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: installed\nVersion: {version}\n")
        (tmp_path / "installed.py").write_text(f"def f(r): {text}\n", encoding="utf-8")
        found.append(in_a_new_process(tmp_path, "import mine\nshow(mine.reward)\n"))

    assert found[0] == found[1] != found[2]


def test_modules_without_a_package_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module beside that of the reward belongs to no distribution, so that its code counts."""
    monkeypatch.syspath_prepend(tmp_path)
    found = []

    for number, text in enumerate(["return r", "return -r"]):
        (tmp_path / f"beside_{number}.py").write_text(f"def f(r): {text}\n", encoding="utf-8")
        mine = tmp_path / f"mine_{number}.py"
        mine.write_text(f"from beside_{number} import f\ndef reward(r): return f(r)\n", encoding="utf-8")
        found.append(fingerprint_of(importlib.import_module(f"mine_{number}")))

    assert found[0] != found[1]


def test_a_refusal_says_by_which_way_it_was_reached(load: Load) -> None:
    """The message names the constant and the function that reads it."""
    module = load("from .helpers import f\ndef reward(r): return f(r)", helpers="S = object()\ndef f(r): return S")

    with pytest.raises(UserMistake) as mistake:
        fingerprint_of(module)

    assert str(mistake.value) == (
        f"reward_x: a value of type builtins.object is not allowed in S of {module.__package__}.helpers.f\n"
        "  allowed: numbers, text, containers and arrays of them, enum members, dataclasses, patterns, functions and "
        "classes"
    )
