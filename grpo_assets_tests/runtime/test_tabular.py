"""The tabular policy samples its candidates with chances that are spread over [0, 1]."""

from pathlib import Path

import numpy as np
import pytest

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Sampling
from grpo_assets.runtime import tabular
from grpo_assets.runtime.rollouts import roll_out

SAMPLING = Sampling(temperature=1.0, max_completion_tokens=6)


def test_pass_chances_are_spread_over_the_unit_interval(tasks: list[dict]) -> None:
    """Some tasks nearly always fail, some nearly always pass, and the rest lie between."""
    policy = tabular.TabularPolicy(SAMPLING)

    chances = sorted(policy.chances(task)[0] for task in tasks)

    assert chances[0] < 0.1
    assert chances[-1] > 0.9
    assert 0.3 < np.mean(chances) < 0.7


def test_samples_have_the_chances_of_the_table(tasks: list[dict]) -> None:
    """Over many samples the share of passes is the chance of the right answer, within four standard errors."""
    policy = tabular.TabularPolicy(SAMPLING)
    task = tasks[0]

    rows = roll_out(policy, [task], 4000, "sampled", "test")
    share, chance = np.mean([row["outcome"] == "pass" for row in rows]), policy.chances(task)[0]

    assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000)


def test_a_task_is_sampled_the_same_whoever_else_is_asked(tasks: list[dict]) -> None:
    """Completions depend on the stream, the task and the index, not on the other tasks."""
    policy = tabular.TabularPolicy(SAMPLING)

    alone = policy.complete(tasks[3:4], 8, "sampled", "stream")[0]
    among = policy.complete(tasks, 8, "sampled", "stream")[3]
    other_stream = policy.complete(tasks, 8, "sampled", "other")

    assert alone == among
    assert other_stream != policy.complete(tasks, 8, "sampled", "stream")


def test_greedy_says_the_likeliest_candidate(tasks: list[dict]) -> None:
    """Greedy decoding gives the candidate with the largest chance."""
    policy = tabular.TabularPolicy(SAMPLING)

    said = [group[0].text for group in policy.complete(tasks, 1, "greedy", "")]

    assert said == [tabular.texts_of(task)[int(np.argmax(policy.chances(task)))] for task in tasks]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"temperature": 1.0}, [0.5, 0.3, 0.2]),
        ({"temperature": 0.5}, [25 / 38, 9 / 38, 4 / 38]),
        ({"temperature": 1.0, "top_k": 2}, [5 / 8, 3 / 8, 0]),
        ({"temperature": 1.0, "top_p": 0.5}, [1, 0, 0]),
        ({"temperature": 1.0, "top_p": 0.6}, [5 / 8, 3 / 8, 0]),  # the candidate that crosses the edge stays
    ],
)
def test_every_setting_of_the_sampler_bites(sampling: dict, expected: list[float]) -> None:
    """Temperature, top-k and top-p change the chances as their names say."""
    chances = tabular.sampled_chances(np.log([0.5, 0.3, 0.2]), Sampling(max_completion_tokens=6, **sampling))

    assert chances == pytest.approx(expected)


def test_a_completion_longer_than_the_budget_is_cut(tasks: list[dict]) -> None:
    """Characters count as tokens, and the end as one more."""
    policy = tabular.TabularPolicy(Sampling(temperature=1.0, max_completion_tokens=3))

    assert policy.completion("28") == ("28", 3, False, None, None)
    assert policy.completion("284") == ("284", 3, True, None, None)


def test_a_task_without_candidates_is_refused(tasks: list[dict]) -> None:
    """The message says which task, and where candidates are named."""
    with pytest.raises(UserMistake, match=r"candidates: none[^$]*`fields`"):
        tabular.texts_of({**tasks[0], "candidates": []})


def test_a_saved_policy_comes_back(tmp_path: Path, tasks: list[dict]) -> None:
    """Weights survive the file, and the untrained policy has none."""
    tabular.save({"rev": np.array([1.0, -1.0])}, tmp_path)

    loaded = tabular.load(tmp_path, SAMPLING)

    assert loaded.weights["rev"].tolist() == [1.0, -1.0]
    assert tabular.TabularPolicy(SAMPLING).kl_to_base(tasks[0]) == 0.0
