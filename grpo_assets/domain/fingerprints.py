"""Identity by content: the sha256 of a value's canonical JSON."""

import hashlib
import json


def canonical_json(value: object) -> str:
    """One text for equal values: keys sorted, no spaces.

    Raises:
        ValueError: for NaN and the infinities, which are no JSON and equal nothing.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(value: object) -> str:
    """The sha256 of a JSON value, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def unit_interval(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone, spread evenly over different parts."""
    return int(fingerprint([*parts])[:13], 16) / 16**13


def seed_of(*parts: object) -> int:
    """A 64-bit seed that depends on the parts alone."""
    return int(fingerprint([*parts])[:16], 16)
