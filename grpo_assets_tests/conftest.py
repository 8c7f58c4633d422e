"""One data folder for the whole session: the shipped specs, and small experiments beside them.

Dagster's definitions read the data folder when they are imported, so it is made before any test module is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

ROOT = Path(__file__).parent.parent
SESSION = Path(tempfile.mkdtemp(prefix="grpo_assets_tests_"))

SMALL = {
    "suites/few.yaml": {"source": "digits", "seed": 1, "tasks": 60},
    "suites/untrustworthy.yaml": {"source": "code", "path": "tasks/untrustworthy.jsonl", "licence": "CC0-1.0"},
    "tasks/untrustworthy.jsonl": {
        "id": "shout",
        "text": "Write a function `shout(text)` that returns text in capitals.",
        "entry_point": "shout",
        "visible_tests": ["assert shout('a') == 'A'"],
        "hidden_tests": ["assert shout('b') == 'A'"],
        "reference": "def shout(text):\n    return text.upper()\n",
    },
    "policies/quick.yaml": {
        "kind": "built",
        "suite": "digits",
        "pretraining": {"steps": 60, "batch_size": 64},
        "sampling": {"temperature": 1.0, "max_completion_tokens": 6},
    },
    "experiments/mini.yaml": {
        "suite": "few",
        "policy": "tabular",
        "trainer": "smoke",
        "pilot": {"samples_per_prompt": 4},
        "recipe": {"steps": 4, "rollouts_per_step": 8, "learning_rate": 0.5},
        "matrix": {
            "seeds": [1, 2],
            "group_sizes": [2, 4],
            "kl_betas": [0.0],
            "rewards": ["reward_v0_correctness", "reward_v1_shaped"],
            "curricula": ["informative", "random"],
        },
        "evaluation": {"samples_per_task": 2},
        "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 1},
    },
    "experiments/learns.yaml": {
        "suite": "few",
        "policy": "tabular",
        "trainer": "smoke",
        "pilot": {"samples_per_prompt": 4},
        "recipe": {"steps": 40, "rollouts_per_step": 16, "learning_rate": 2.0},
        "matrix": {
            "seeds": [1, 2],
            "group_sizes": [4],
            "kl_betas": [0.0],
            "rewards": ["reward_v0_correctness"],
            "curricula": ["static", "informative"],
        },
        "evaluation": {"samples_per_task": 4},
        "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 1},
        "heldout": {"contrasts": [{"curriculum": "static"}, {"curriculum": "informative"}]},
        "controls": "none",
    },
    "experiments/mini-trl.yaml": {
        "suite": "few",
        "policy": "quick",
        "trainer": "trl",
        "pilot": {"samples_per_prompt": 4},
        "recipe": {"steps": 3, "rollouts_per_step": 8, "learning_rate": 0.01, "lora_rank": 2},
        "matrix": {
            "seeds": [1, 2],
            "group_sizes": [4],
            "kl_betas": [0.1],
            "rewards": ["reward_v1_shaped"],
            "curricula": ["static"],
        },
        "evaluation": {"samples_per_task": 1},
        "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 0},
    },
    "experiments/long-trl.yaml": {
        "suite": "few",
        "policy": "quick",
        "trainer": "trl",
        "pilot": {"samples_per_prompt": 4},
        "recipe": {"steps": 150, "rollouts_per_step": 8, "learning_rate": 0.001, "lora_rank": 2},
        "matrix": {
            "seeds": [1, 2],
            "group_sizes": [4],
            "kl_betas": [0.1],
            "rewards": ["reward_v1_shaped"],
            "curricula": ["static"],
        },
        "evaluation": {"samples_per_task": 1},
        "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 0},
    },
    "experiments/half-broken.yaml": {
        "suite": "few",
        "policy": "tabular",
        "trainer": "smoke",
        "pilot": {"samples_per_prompt": 4},
        "recipe": {"steps": 12, "rollouts_per_step": 8, "learning_rate": 0.5},
        "matrix": {
            "seeds": [1, 2],
            "group_sizes": [4],
            "kl_betas": [0.0, 1.7e308],  # the second one overflows
            "rewards": ["reward_v0_correctness"],
            "curricula": ["static"],
        },
        "evaluation": {"samples_per_task": 2},
        "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 0, "allow_missing": True},
    },
}


def make_data_folder(folder: Path) -> Path:
    """Write the shipped specs and the small ones into a new folder."""
    for kind in ("suites", "policies", "experiments", "tasks"):
        shutil.copytree(ROOT / "data" / kind, folder / kind)
    for name, content in SMALL.items():
        text = json.dumps(content) if name.endswith(".jsonl") else yaml.safe_dump(content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


os.environ["GRPO_DATA_DIR"] = str(make_data_folder(SESSION / "data"))
os.environ["DAGSTER_HOME"] = str(SESSION / "dagster_home")


@pytest.fixture(scope="session", autouse=True)
def _session_folder() -> Iterator[None]:
    yield
    shutil.rmtree(SESSION)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of the test's own."""
    return make_data_folder(tmp_path / "data")


@pytest.fixture(scope="session")
def instance() -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of the session, on disk as a user's is."""
    from grpo_assets.instance import open_instance

    with open_instance(SESSION / "data") as opened:
        yield opened
