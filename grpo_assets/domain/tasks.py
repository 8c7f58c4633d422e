"""Tasks, their content keys, near-duplicate clusters, and the split that a cluster belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from grpo_assets.domain.duplicates import Pair, cluster_numbers
from grpo_assets.domain.fingerprints import fingerprint, unit_interval

Split = Literal["train", "dev", "heldout"]
SPLITS: tuple[Split, ...] = ("train", "dev", "heldout")

Verification = Literal["exact", "integer", "math", "scorer", "tests"]
"""How a completion is verified: as the answer's text; by its final answer as a whole number, as mathematics, or with
the scorer of the generator; or as a program, by tests."""


@dataclass(frozen=True)
class Tests:
    """How a program is verified.

    Attributes:
        entry_points: the functions of the program that the tests call.
        preamble: code in front of every completion, such as imports and the head of the function.
        setup: code that the judge runs before the tests, with its own copies of what the prompt defines.
        tests: statements that raise where the program is wrong, each a check of its own.
        shown: how many of the tests, from the first, stand in the prompt.
    """

    entry_points: tuple[str, ...]
    tests: tuple[str, ...]
    shown: int
    preamble: str = ""
    setup: str = ""


@dataclass(frozen=True)
class Task:
    """A prompt and how to verify an answer to it.

    Attributes:
        task_id: readable name, unique in its suite.
        answer: the right answer; for a task with tests a program that passes them.
        family: the kind of task within the suite, "" where a suite has only one.
        candidates: wrong completions, most plausible first; what the tabular policy may say besides the answer.
        tests: of a task whose completions are programs.
        entry: JSON of a generated task, as the scorer of its generator needs it.
        source, licence: where the task comes from, and the terms on which it is used.
    """

    task_id: str
    prompt: str
    answer: str
    source: str
    licence: str
    family: str = ""
    candidates: tuple[str, ...] = ()
    verification: Verification = "exact"
    tests: Tests | None = None
    entry: str | None = None


def task_key(task: Task) -> str:
    """Identity by content: whatever a policy or the verifier sees of the task, not its name or origin."""
    content = asdict(task)
    seen = [content[field] for field in ("prompt", "answer", "family", "candidates")]
    graded = [content[field] for field in ("verification", "tests", "entry")]
    return fingerprint(seen if task.verification == "exact" else seen + graded)


def cluster_of(prompt: str) -> str:
    """The name of the cluster of a prompt that has no near-duplicate."""
    return fingerprint(" ".join(prompt.casefold().split()))[:16]


def clusters(prompts: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """The name of the near-duplicate cluster of each prompt: the least of the names of its members."""
    numbers = cluster_numbers(len(prompts), pairs)
    names: dict[int, str] = {}
    for number, prompt in zip(numbers, prompts, strict=True):
        name = cluster_of(prompt)
        names[number] = min(name, names.get(number, name))
    return [names[number] for number in numbers]


def split_of(cluster: str, shares: Mapping[Split, float]) -> Split:
    """The split of a whole cluster, by hash: it depends on nothing else in the suite.

    Args:
        shares: weight of each split that the cluster may go to, 0 or more, one of them above 0.
    """
    point, edge = unit_interval("split", cluster) * sum(shares.values()), 0.0
    for split in SPLITS:
        edge += shares.get(split, 0.0)
        if point < edge:
            return split
    return max(shares, key=lambda split: shares[split])


def leaks_of(rows: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]) -> list[dict[str, str]]:
    """The pairs of near-duplicates whose tasks are in different splits, with the rule that found them."""
    found = []
    for pair in pairs:
        first, second = rows[pair.first], rows[pair.second]
        if first["split"] != second["split"]:
            found.append({str(row["split"]): row["task_id"] for row in (first, second)} | {"rule": pair.rule})
    return found


def isolation_of(rows: list[dict], leaks: Sequence[dict[str, str]] | None = None) -> dict[str, object]:
    """What the dev tasks share with the other splits: ids, contents and clusters, which must be nothing.

    Args:
        rows: the rows of a whole `tasks` table.
        leaks: near-duplicates across the splits of a suite that keeps its official ones; None for any other suite.

    Raises:
        ValueError: when a split shares an id, a content or a cluster with another, leaks aside.
    """
    disjoint = ["task_id", "task_key", *(["cluster"] if not leaks else [])]
    for column in disjoint:
        split_by_value: dict[str, str] = {}
        for row in rows:
            other = split_by_value.setdefault(row[column], row["split"])
            if other != row["split"]:
                raise ValueError(f"{column} {row[column]!r} is in both {other} and {row['split']}")
    dev_keys = sorted(row["task_key"] for row in rows if row["split"] == "dev")
    return {
        "dev_tasks": len(dev_keys),
        "dev_task_keys_sha256": fingerprint(dev_keys),
        "disjoint_from_train_and_heldout": disjoint,
        "leaks": list(leaks or []),
    }
