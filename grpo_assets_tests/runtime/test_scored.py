"""Pass rates by task survive their files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.schemas import TASK_RATES
from grpo_assets.domain.scores import Scores
from grpo_assets.runtime.scored import read_rates, read_scores, write_scores
from grpo_assets.runtime.store import write_table
from grpo_assets_tests.builders import LAW

RATE = st.floats(0, 1)


def test_an_evaluation_s_rates_come_back(tmp_path: Path) -> None:
    """Tasks, sampled and greedy rates are read in the order in which they were written."""
    rows = [
        {"task_key": "b", "sampled": 1 / 3, "greedy": 1.0},
        {"task_key": "a", "sampled": 0.0, "greedy": 0.0},
    ]
    write_table(tmp_path / "pass_rates.parquet", rows, TASK_RATES)

    found = read_rates(tmp_path)

    assert found.tasks == ["b", "a"]
    assert found.sampled.tolist() == [1 / 3, 0.0]
    assert found.greedy.tolist() == [1.0, 0.0]


@LAW
@given(
    tasks=st.lists(st.tuples(st.integers(0, 3), RATE, RATE, RATE), min_size=1, max_size=12), variants=st.integers(0, 2)
)
def test_scores_come_back(tmp_path_factory: pytest.TempPathFactory, tasks: list[tuple], variants: int) -> None:
    """Scores of any number of variants, none included, are read bit for bit as they were written."""
    clusters, *columns = (np.array(column) for column in zip(*tasks, strict=True))
    numbers = np.unique(clusters, return_inverse=True)[1]
    named = {f"v{place}": columns[1 + place] for place in range(variants)}
    scores = Scores(tuple(f"t{place}" for place in range(len(tasks))), numbers, named, columns[0])
    folder = tmp_path_factory.mktemp("scores")

    write_scores(folder, scores)
    found = read_scores(folder)

    assert found.tasks == scores.tasks
    assert found.clusters.tolist() == numbers.tolist()
    assert found.untrained.tolist() == columns[0].tolist()
    assert {n: r.tolist() for n, r in found.variants.items()} == {n: r.tolist() for n, r in named.items()}
    assert found.keys_sha256 == scores.keys_sha256
