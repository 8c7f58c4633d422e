"""Equal values have one text and one fingerprint, and what is no JSON has none."""

import hashlib
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.fingerprints import canonical_json, fingerprint, seed_of, unit_interval
from grpo_assets_tests.builders import LAW

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=3),
    max_leaves=8,
)


@LAW
@given(pairs=st.dictionaries(KEYS, JSON, max_size=5), shuffle=st.randoms(use_true_random=False))
def test_key_order_does_not_count(pairs: dict, shuffle: Random) -> None:
    """A mapping has one text whatever the order of its keys."""
    items = list(pairs.items())
    shuffle.shuffle(items)

    assert canonical_json(dict(items)) == canonical_json(pairs)
    assert fingerprint(dict(items)) == fingerprint(pairs)


def test_inner_key_order_does_not_count() -> None:
    """Keys are sorted at every level."""
    assert canonical_json([{"b": {"d": 1, "c": 2}, "a": 3}]) == '[{"a":3,"b":{"c":2,"d":1}}]'


def test_text_stays_as_it_is() -> None:
    """Letters outside ASCII are not escaped, so the text is the same as in the files."""
    assert canonical_json({"ä": "é"}) == '{"ä":"é"}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_outside_json_are_refused(number: float) -> None:
    """NaN and the infinities have no text."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"value": [number]})


def test_values_without_json_are_refused() -> None:
    """What JSON cannot say is an error, not its `repr`."""
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        canonical_json({1, 2})


def test_fingerprint_is_the_sha256_of_the_text() -> None:
    """A fingerprint can be recomputed with any tool that knows sha256."""
    assert fingerprint({"a": 1}) == hashlib.sha256(b'{"a":1}').hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),  # the order of a list counts
        ("1", 1),
        (True, 1),
        (None, "null"),
        (["ab", "c"], ["a", "bc"]),  # parts do not run into each other
        ({"a": None}, {}),
    ],
)
def test_different_values_have_different_fingerprints(one: object, other: object) -> None:
    """Values that differ in content or kind are told apart."""
    assert fingerprint(one) != fingerprint(other)


@LAW
@given(parts=st.lists(JSON, max_size=3))
def test_unit_interval_is_at_least_0_and_below_1(parts: list) -> None:
    """The number of any parts lies in [0, 1), and depends on them alone."""
    point = unit_interval(*parts)

    assert 0 <= point < 1
    assert unit_interval(*parts) == point


def test_unit_interval_spreads_evenly() -> None:
    """Each tenth of [0, 1) holds about a tenth of the numbers."""
    tenths = [int(10 * unit_interval("even", index)) for index in range(2000)]

    shares = [tenths.count(tenth) / 2000 for tenth in range(10)]

    assert min(shares) > 0.07
    assert max(shares) < 0.13


def test_seed_has_64_bits_and_depends_on_the_parts() -> None:
    """Seeds of different parts differ, and fit an unsigned integer of 64 bits."""
    seeds = {seed_of("shuffle", index) for index in range(100)}

    assert len(seeds) == 100
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert seed_of("shuffle", 7) in seeds
