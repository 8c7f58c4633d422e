"""The two ways in which work ends badly: the user's mistake and work that failed."""

from collections.abc import Iterable


class UserMistake(Exception):
    """Something that only the user can put right; the command line exits with 2.

    The message names the file, the field, the value and what is allowed.
    """


class FailedWork(Exception):
    """Work that was rightly asked for and failed; the command line exits with 1."""


def refuse(where: str, field: str, value: object, allowed: str) -> UserMistake:
    """The mistake of a value that is not allowed, ready to be raised."""
    return UserMistake(f"{where}: {field}: {value!r} is not allowed\n  allowed: {allowed}")


def listed(names: Iterable[object]) -> str:
    """Names as the words of a message: sorted, separated by commas."""
    return ", ".join(sorted(map(str, names))) or "(none)"
