"""The answer that a policy gives most often: what sampling it many times and taking a vote would say."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from grpo_assets.domain.scores import Floats
from grpo_assets.runtime.verifier.answers import final_answer, whole_number


def majority(rows: Sequence[dict], tasks: Sequence[dict]) -> Floats | None:
    """1.0 for each task whose most frequent sampled answer passed, else 0.0; None where completions are programs.

    Of answers that are as frequent the first one counts; completions without an answer are no votes.

    Args:
        rows: rollouts of an evaluation.
        tasks: its tasks, rows of `schemas.TASKS`.
    """
    if any(task["verification"] == "tests" for task in tasks):
        return None
    by_key = {task["task_key"]: task for task in tasks}
    votes: dict[str, Counter] = {key: Counter() for key in by_key}
    passed = set()
    for row in rows:
        if row["decoding"] == "sampled":
            vote = vote_of(by_key[row["task_key"]], row["completion"])
            if vote is not None:
                votes[row["task_key"]][vote] += 1
                if row["outcome"] == "pass":
                    passed.add((row["task_key"], vote))
    return np.array([float(bool(v) and (key, v.most_common(1)[0][0]) in passed) for key, v in votes.items()])


def vote_of(task: dict, completion: str) -> str | None:
    """The answer that a completion gives, so that equal ones are equal texts; None where it gives none."""
    if task["verification"] == "exact":
        return completion.strip() or None
    answer = final_answer(completion)
    if answer is None:
        return None
    if task["verification"] == "integer":
        number = whole_number(answer)
        return answer if number is None else str(number)
    try:
        return str(Fraction(answer.replace(",", "").strip("$ ")))
    except (ValueError, ZeroDivisionError):
        return answer
