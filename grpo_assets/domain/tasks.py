"""Tasks, their content keys, near-duplicate clusters, and the split that a cluster belongs to."""

from dataclasses import asdict, dataclass
from typing import Literal

from grpo_assets.domain.fingerprints import fingerprint, unit_interval

Split = Literal["train", "dev", "heldout"]
SPLITS: tuple[Split, ...] = ("train", "dev", "heldout")


@dataclass(frozen=True)
class Task:
    """A prompt and how to verify an answer to it.

    Attributes:
        task_id: readable name, unique in its suite.
        family: the kind of task within the suite, "" where a suite has only one.
        candidates: wrong completions, most plausible first; what the tabular policy may say besides the answer.
        source, licence: where the task comes from, and the terms on which it is used.
    """

    task_id: str
    prompt: str
    answer: str
    source: str
    licence: str
    family: str = ""
    candidates: tuple[str, ...] = ()


def task_key(task: Task) -> str:
    """Identity by content: whatever a policy or the verifier sees of the task, not its name or origin."""
    content = asdict(task)
    return fingerprint([content[field] for field in ("prompt", "answer", "family", "candidates")])


def cluster_of(prompt: str) -> str:
    """The near-duplicate cluster of a prompt: prompts that differ in case or white space only share one."""
    return fingerprint(" ".join(prompt.casefold().split()))[:16]


def split_of(cluster: str, shares: dict[Split, float]) -> Split:
    """The split of a whole cluster, by hash: it depends on nothing else in the suite.

    Args:
        shares: share of the clusters for each split, in [0, 1], summing to 1.
    """
    point, edge = unit_interval("split", cluster), 0.0
    for split in SPLITS:
        edge += shares[split]
        if point < edge:
            return split
    return SPLITS[-1]


def isolation_of(rows: list[dict]) -> dict[str, object]:
    """What the dev tasks share with the other splits: ids, contents and clusters, which must be nothing.

    Args:
        rows: the rows of a whole `tasks` table.

    Raises:
        ValueError: when a split shares an id, a content or a cluster with another.
    """
    for column in ("task_id", "task_key", "cluster"):
        split_by_value: dict[str, str] = {}
        for row in rows:
            other = split_by_value.setdefault(row[column], row["split"])
            if other != row["split"]:
                raise ValueError(f"{column} {row[column]!r} is in both {other} and {row['split']}")
    dev_keys = sorted(row["task_key"] for row in rows if row["split"] == "dev")
    return {
        "dev_tasks": len(dev_keys),
        "dev_task_keys_sha256": fingerprint(dev_keys),
        "disjoint_from_train_and_heldout": ["task_id", "task_key", "cluster"],
    }
