"""Each rule finds the near-duplicates that it is for and leaves other tasks alone; clusters are what pairs connect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.duplicates import Pair, Text, cluster_numbers, near_duplicates, renamed, without_boilerplate
from grpo_assets_tests.builders import LAW

SUM_OF_SQUARES = (
    "def sum_of_squares(numbers):\n    total = 0\n    for n in numbers:\n        total += n * n\n    return total\n"
)
LONG = "find the longest run of equal neighbours in a list of whole numbers and return its length"


def rules(*texts: Text) -> list[tuple[int, int, str]]:
    return [tuple(pair) for pair in near_duplicates(texts)]


def prompts(*written: str) -> list[tuple[int, int, str]]:
    return rules(*(Text(prompt) for prompt in written))


def sharing(size: int, pairs: list[Pair]) -> set[frozenset[int]]:
    """The positions that share a cluster, as sets."""
    numbers = cluster_numbers(size, pairs)
    return {frozenset(i for i in range(size) if numbers[i] == number) for number in numbers}


@pytest.mark.parametrize(
    "other",
    [
        "Write a function to add two numbers.",
        "write a function to ADD two numbers",
        "  Write a function to add:\ttwo (numbers)!\n",
        "Write  a function\nto add two numbers.",
        "Write a python function to add two numbers.",
        "Write the function that add two numbers.",
        "Write an function which add two numbers.",
        "add two numbers",
    ],
)
def test_prompts_that_differ_in_dress_only_are_the_same(other: str) -> None:
    """Case, punctuation, white space and the lead-in do not tell two prompts apart."""
    assert prompts("Write a function to add two numbers.", other) == [(0, 1, "same_prompt")]


@pytest.mark.parametrize(
    "other",
    [
        "Write a function to add three numbers.",
        "Write a function to add two numbers twice.",
        "Write a function to two add numbers.",
        "Write a function adding two numbers.",
    ],
)
def test_prompts_with_other_words_are_not_the_same(other: str) -> None:
    """One word more, less or elsewhere is another prompt."""
    assert (0, 1, "same_prompt") not in prompts("Write a function to add two numbers.", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("3 + 4 =", "3 - 4 ="), ("3 * 4 =", "3 / 4 ="), ("x < 4", "x > 4"), ("12 + 3", "1 + 23"), ("5 % 2", "5 ^ 2")],
)
def test_operators_tell_prompts_apart(one: str, other: str) -> None:
    """Sums and differences of the same numbers are other tasks."""
    assert prompts(one, other) == []


def test_names_of_own_functions_do_not_tell_prompts_apart() -> None:
    """The same task under another function's name is the same task."""
    one = Text("Write a function `add_two(a, b)` that adds.", ("add_two",))
    other = Text("Write a function `plus_of(a, b)` that adds.", ("plus_of",))

    assert rules(one, other) == [(0, 1, "same_prompt")]


def test_a_function_that_is_called_like_a_word_stays_in_the_prompt() -> None:
    """To return the first or the last item are two tasks, even where the functions have these names."""
    one, other = Text("Return the first item", ("first",)), Text("Return the last item", ("last",))

    assert rules(one, other) == []


def test_prompts_without_words_are_not_the_same() -> None:
    """Where nothing is left to compare, nothing is found."""
    assert prompts("?!", "...", "") == []


@pytest.mark.parametrize(
    "twin",
    [
        SUM_OF_SQUARES.replace("sum_of_squares", "f"),
        SUM_OF_SQUARES.replace("numbers", "xs").replace("total", "t").replace("n *", "n*"),
        SUM_OF_SQUARES.replace("numbers)", "numbers: list[int]) -> int"),
        SUM_OF_SQUARES.replace("    total = 0", '    """Sum squares."""\n    total = 0  # so far'),
        SUM_OF_SQUARES.replace("    ", "\t"),
    ],
    ids=["function", "variables", "annotations", "docstring and comment", "tabs"],
)
def test_programs_that_differ_in_names_only_are_the_same(twin: str) -> None:
    """Names that a program gives, annotations, docstrings, comments and layout do not tell two programs apart."""
    assert rules(Text("a", program=SUM_OF_SQUARES), Text("b", program=twin)) == [(0, 1, "same_program")]


@pytest.mark.parametrize(
    "other",
    [
        SUM_OF_SQUARES.replace("n * n", "n + n"),
        SUM_OF_SQUARES.replace("n * n", "n * total"),
        SUM_OF_SQUARES.replace("= 0", "= 1"),
        SUM_OF_SQUARES.replace("return total", "return numbers"),
    ],
)
def test_programs_that_do_something_else_are_not_the_same(other: str) -> None:
    """An operator, a number or another one of the names makes another program."""
    assert rules(Text("a", program=SUM_OF_SQUARES), Text("b", program=other)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(xs):\n    return min(xs) + xs[0]\n", "def f(xs):\n    return max(xs) + xs[0]\n"),
        ("def f(xs):\n    return len(set(xs)) + 1\n", "def f(xs):\n    return sum(set(xs)) + 1\n"),
        ("def f(s):\n    return s.upper() + s + s\n", "def f(s):\n    return s.lower() + s + s\n"),
        (
            "import math\ndef f(x):\n    return math.floor(x) + 1\n",
            "import math\ndef f(x):\n    return math.ceil(x) + 1\n",
        ),
        (
            "from math import floor\ndef f(x):\n    return floor(x) + 1\n",
            "from math import ceil\ndef f(x):\n    return ceil(x) + 1\n",
        ),
    ],
)
def test_names_that_a_program_did_not_give_are_kept(one: str, other: str) -> None:
    """The smallest and the largest item are two tasks: names of built-in functions, methods and modules count."""
    assert rules(Text("a", program=one), Text("b", program=other)) == []


def test_a_parameter_that_shadows_a_built_in_name_is_renamed() -> None:
    """A parameter is a name that the program gives, whatever it is called."""
    one, other = "def f(list):\n    return list[0] + list[1]\n", "def f(items):\n    return items[0] + items[1]\n"

    assert renamed(one) == renamed(other) != ""


@pytest.mark.parametrize("trivial", ["def f(s):\n    return s\n", "def f(s):\n    return len(s)\n", "return len(s)"])
def test_trivial_programs_are_exempt(trivial: str) -> None:
    """Programs that do next to nothing are equal by chance."""
    assert rules(Text("a", program=trivial), Text("b", program=trivial)) == []


def test_programs_of_a_few_more_parts_are_compared() -> None:
    """One line that does more than call a function tells two tasks to be the same."""
    short = "def f(s):\n    return -len(s) + 1\n"

    assert rules(Text("a", program=short), Text("b", program=short)) == [(0, 1, "same_program")]


@pytest.mark.parametrize(
    "text",
    ["", "def f(:\n    pass\n", "    return x + 1 + 2 + 3\n", "x = 1\0 + 2 + 3 + 4", "(" * 500 + ")" * 500],
    ids=["nothing", "syntax", "indentation", "a null character", "too deep"],
)
def test_programs_that_do_not_parse_are_no_twins(text: str) -> None:
    """What is no program has no form, so it equals nothing."""
    assert renamed(text) == ""
    assert rules(Text("a", program=text), Text("b", program=text)) == []


@pytest.mark.parametrize(
    "program",
    [
        "total = " + " + ".join(["1"] * 1500),
        "def f(x):\n    if x == 0:\n        return 0\n"
        + "".join(f"    elif x == {n}:\n        return {n}\n" for n in range(1, 400)),
    ],
    ids=["a long sum", "many branches"],
)
def test_programs_that_are_deep_are_compared_or_left_out(program: str) -> None:
    """A program that parses but is too deep to walk through stops nothing."""
    found = rules(Text("a", program=program), Text("b", program=program))

    assert found in ([], [(0, 1, "same_program")])


def test_the_same_tests_of_another_function_are_the_same() -> None:
    """The order of the tests, the white space in them and the name of the function do not count."""
    one = Text("a", ("add",), tests=("assert add(1, 2) == 3", "assert add(0, 0) == 0"))
    other = Text("b", ("plus",), tests=("assert plus(0,  0) == 0 ", "assert plus(1, 2) == 3"))

    assert rules(one, other) == [(0, 1, "same_tests")]


@pytest.mark.parametrize(
    "tests",
    [
        ("assert plus(1, 2) == 3", "assert plus(0, 0) == 1"),
        ("assert plus(1, 2) == 3",),
        ("assert plus(1, 2) == 3", "assert plus(0, 0) == 0", "assert plus(1, 1) == 2"),
        ("assert minus(1, 2) == 3", "assert minus(0, 0) == 0"),
        (),
    ],
)
def test_other_tests_are_not_the_same(tests: tuple[str, ...]) -> None:
    """Another value, a test more or less, or a function that is not the task's own makes other tests."""
    one = Text("a", ("add",), tests=("assert add(1, 2) == 3", "assert add(0, 0) == 0"))

    assert rules(one, Text("b", ("plus",), tests=tests)) == []


@pytest.mark.parametrize("inside", ["{}er", "re{}", "re{}er", "{}_all", "_{}"])
def test_a_name_inside_another_name_is_no_name_of_a_function(inside: str) -> None:
    """Only whole names are replaced: with `add` and `plus`, `adder` and `pluser` do not become the same."""
    one = Text("a", ("add",), tests=(f"assert {inside.format('add')}(1) == add(2)",))
    other = Text("b", ("plus",), tests=(f"assert {inside.format('plus')}(1) == plus(2)",))

    assert rules(one, other) == []


def test_tasks_without_program_or_tests_share_none() -> None:
    """Two questions with answers are no twins for having no program."""
    assert prompts("what is one", "how was two") == []


def test_a_prompt_that_another_one_mostly_contains_is_covered() -> None:
    """A prompt most of whose words stand in a row in a longer one is its near-duplicate."""
    longer = f"you are given something else entirely here, so first of all {LONG} " + "and " + " ".join("abcdefghijklm")

    assert prompts(LONG, longer) == [(0, 1, "coverage")]
    assert prompts(longer, LONG) == [(0, 1, "coverage")]


@pytest.mark.parametrize(("length", "found"), [(15, [(0, 1, "coverage")]), (16, []), (17, [])])
def test_coverage_is_more_than_half(length: int, found: list) -> None:
    """Eight words in a row make a near-duplicate of a prompt of up to 15 words."""
    shared = [f"shared{n}" for n in range(8)]
    one = " ".join([*shared, *(f"one{n}" for n in range(length - 8))])
    other = " ".join([*(f"other{n}" for n in range(40)), *shared])

    assert prompts(one, other) == found


def test_seven_words_in_a_row_cover_nothing() -> None:
    """Short phrases are common to many prompts."""
    shared = " ".join(f"shared{n}" for n in range(7))

    assert prompts(f"{shared} one", " ".join([*(f"other{n}" for n in range(9)), shared])) == []


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        # a b c, b c d, c d e against a b c, b c d, c d x: 2 of 4
        ("a b c d e", "a b c d x", [(0, 1, "jaccard")]),
        # a b c, b c d, c d e against a b c, b c x, c x y: 1 of 5
        ("a b c d e", "a b c x y", []),
        # 3 of 6 against 3 of 7
        ("a b c d e f", "b c d e f g", [(0, 1, "jaccard")]),
        ("a b c d e f g", "c d e f g x y", []),
        # two words have no 3-gram, and 3 words one
        ("a b", "a c", []),
        ("a b c", "a b d", []),
    ],
)
def test_prompts_with_half_their_3_grams_in_common_are_alike(one: str, other: str, found: list) -> None:
    """Near-duplicates share at least half of the 3-grams that either has."""
    assert prompts(one, other) == found


def test_a_pair_has_the_first_rule_that_finds_it() -> None:
    """Twins in everything are found once, as the same prompt."""
    twin = Text(LONG, ("f",), SUM_OF_SQUARES, ("assert f(1) == 2",))

    assert rules(twin, twin) == [(0, 1, "same_prompt")]


TEMPLATE = "You are a careful clerk. Read the question below and answer with one word on a line of its own. Question:"
QUESTIONS = (
    "capital of Peru",
    "largest planet",
    "author of Hamlet",
    "boiling metal",
    "fastest bird",
    "oldest tree ring ever counted",
)


def test_a_template_does_not_make_a_suite_one_cluster() -> None:
    """Six prompts that share all but their last words are six tasks."""
    assert prompts(*(f"{TEMPLATE} {question}?" for question in QUESTIONS)) == []


def test_five_prompts_have_no_template() -> None:
    """In so few prompts, common words are no template, and they make them near-duplicates."""
    found = prompts(*(f"{TEMPLATE} {question}?" for question in QUESTIONS[:5]))

    assert sharing(5, [Pair(*pair) for pair in found]) == {frozenset(range(5))}


def test_the_template_of_few_prompts_in_a_large_suite_is_none() -> None:
    """What a fifth of the prompts or fewer share tells them from the others."""
    shared = [f"{TEMPLATE} {question}?".casefold().split() for question in QUESTIONS]
    others = [[f"word{n}of{prompt}" for n in range(6)] for prompt in range(24)]

    assert without_boilerplate([*shared, *others]) == [*shared, *others]
    assert without_boilerplate([*shared, *others[:-1]])[:6] == [tokens[len(TEMPLATE.split()) :] for tokens in shared]


def test_a_prompt_that_is_all_template_stays_whole() -> None:
    """A prompt of which nothing would be left is compared as it is."""
    template = ["name", "the", "first", "words", "of", "the", "poem"]
    longer = [[*template, f"poem{n}"] for n in range(6)]

    assert without_boilerplate([template, *longer]) == [template, *([f"poem{n}"] for n in range(6))]


def test_tasks_of_one_template_are_still_found_where_they_are_twins() -> None:
    """Without the template the rest is compared."""
    written = [f"{TEMPLATE} {question}?" for question in QUESTIONS]

    assert prompts(*written, f"{TEMPLATE} Oldest tree (ring) ever counted") == [(5, 6, "same_prompt")]
    assert prompts(*written, f"{TEMPLATE} name the oldest tree ring ever counted") == [(5, 6, "jaccard")]


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([], [{0}, {1}, {2}, {3}, {4}]),
        ([(0, 1), (1, 2)], [{0, 1, 2}, {3}, {4}]),
        ([(0, 4), (2, 3), (3, 4)], [{0, 2, 3, 4}, {1}]),
        ([(0, 1), (0, 1), (0, 2), (1, 2)], [{0, 1, 2}, {3}, {4}]),
    ],
)
def test_clusters_are_what_pairs_connect(pairs: list[tuple[int, int]], found: list[set[int]]) -> None:
    """A near-duplicate of a near-duplicate is in the same cluster."""
    connected = [Pair(first, second, "jaccard") for first, second in pairs]

    assert sharing(5, connected) == {frozenset(members) for members in found}


def test_no_tasks_have_no_clusters() -> None:
    """Nothing is compared where there is nothing."""
    assert near_duplicates([]) == []
    assert cluster_numbers(0, []) == []


@LAW
@given(ends=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=14))
def test_clusters_are_the_transitive_closure(ends: list[tuple[int, int]]) -> None:
    """Two tasks share a cluster exactly if a chain of pairs leads from one to the other."""
    reached = [{position} for position in range(12)]
    for _ in range(12):
        for first, second in ends:
            reached[first] |= reached[second]
            reached[second] |= reached[first]
    closure = {frozenset(chain) for chain in reached}

    assert sharing(12, [Pair(first, second, "coverage") for first, second in ends]) == closure


PHRASES = [
    LONG,
    f"{LONG} or minus one",
    "count the vowels",
    "Count the VOWELS!",
    TEMPLATE,
    "reverse it",
    "",
    "a b c d e",
]
PROGRAMS = ["", "no program (", SUM_OF_SQUARES, SUM_OF_SQUARES.replace("total", "t"), "def f(s):\n    return len(s)\n"]
TESTS: list[tuple[str, ...]] = [(), ("assert f(1) == 2",), ("assert g(1) == 2",), ("assert f(1) == 2", "assert f(2)")]
TEXTS = st.builds(
    Text,
    st.lists(st.sampled_from(PHRASES), min_size=1, max_size=2).map(" ".join),
    st.sampled_from([("f",), ("g",)]),
    st.sampled_from(PROGRAMS),
    st.sampled_from(TESTS),
)


@LAW
@given(drawn=st.data(), texts=st.lists(TEXTS, min_size=1, max_size=12))
def test_the_order_of_tasks_does_not_change_which_share_a_cluster(drawn: st.DataObject, texts: list[Text]) -> None:
    """A file may be sorted anew, and every task keeps its company."""
    order = drawn.draw(st.permutations(range(len(texts))))

    before = sharing(len(texts), near_duplicates(texts))
    after = sharing(len(texts), near_duplicates([texts[position] for position in order]))

    assert {frozenset(order[position] for position in members) for members in after} == before


@LAW
@given(texts=st.lists(TEXTS, max_size=12))
def test_pairs_stand_in_order_and_once(texts: list[Text]) -> None:
    """The first of a pair stands before the second, no pair stands twice, and positions ascend."""
    found = [(pair.first, pair.second) for pair in near_duplicates(texts)]

    assert all(first < second < len(texts) for first, second in found)
    assert found == sorted(set(found))
