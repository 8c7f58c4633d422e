"""A small pre-trained model and the tasks that go with it, built once."""

from pathlib import Path

import pytest

from grpo_assets.domain.specs import Pretraining, Suite
from grpo_assets.runtime.suites import read_tasks

SUITE = Suite(source="digits", seed=1, tasks=60)
QUICK = Pretraining(steps=60, batch_size=64)


@pytest.fixture(scope="session")
def quick_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model that has learned a little: every completion is still possible."""
    from grpo_assets.runtime import tiny_digits

    folder = tmp_path_factory.mktemp("policy")
    tiny_digits.build(QUICK, SUITE.splits, folder)
    return folder


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Rows of 60 tasks."""
    return read_tasks("few", SUITE, tmp_path_factory.mktemp("data")).rows
