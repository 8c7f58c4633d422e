"""Generated suites depend on their seed alone, and what cannot be generated or verified is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.runtime.reasoning_gym_tasks import INSTRUCTION, UNFIT, reasoning_gym_tasks
from grpo_assets.runtime.rows import SourceTask
from grpo_assets.runtime.suites import read_tasks
from grpo_assets.runtime.verifier.admission import admit

reasoning_gym = pytest.importorskip("reasoning_gym", reason="reasoning-gym is not installed; it is an extra")

ALL = sorted(reasoning_gym.factory.DATASETS)
WHERE = "suites/mine.yaml"
SHORT_SUMS = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}


def suite(dataset: str = "chain_sum", **parts: object) -> Suite:
    return Suite(**{"source": "reasoning-gym", "dataset": dataset, "seed": 7, "tasks": 5, **parts})


def generated(dataset: str = "chain_sum", **parts: object) -> list[SourceTask]:
    return reasoning_gym_tasks(suite(dataset, **parts), WHERE)


def refused(dataset: str = "chain_sum", **parts: object) -> str:
    with pytest.raises(UserMistake) as mistake:
        generated(dataset, **parts)
    return str(mistake.value)


def test_a_generated_task_has_what_its_scorer_needs() -> None:
    """The prompt asks for one final answer, and the entry of the generator goes with the task."""
    found = generated()

    assert [source.task.task_id for source in found] == [f"chain_sum-{number}" for number in range(5)]
    for source in found:
        task, entry = source.task, json.loads(source.task.entry)
        assert (entry["answer"], entry["metadata"]["source_dataset"]) == (task.answer, "chain_sum")
        assert task.prompt == f"{entry['question']}\n{INSTRUCTION}"
        assert (task.verification, task.tests, task.candidates) == ("scorer", None, ())
        assert (task.source, task.licence) == ("reasoning-gym chain_sum", "Apache-2.0")
        assert (source.description, source.split) == (entry["question"], None)


def test_the_same_seed_gives_the_same_tasks() -> None:
    """And another one gives others."""
    assert generated() == generated()
    assert not {source.task.prompt for source in generated()} & {source.task.prompt for source in generated(seed=9000)}


def test_more_tasks_begin_with_the_same_ones() -> None:
    """A suite that grows keeps its tasks."""
    assert generated(tasks=9)[:5] == generated()


EVERY_DATA_SET = f"""
import json, sys
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Suite
from grpo_assets.domain.tasks import task_key
from grpo_assets.runtime.reasoning_gym_tasks import reasoning_gym_tasks

keys = {{}}
for dataset in json.loads(sys.argv[1]):
    suite = Suite(source="reasoning-gym", dataset=dataset, seed=1, tasks=2)
    try:
        keys[dataset] = [task_key(source.task) for source in reasoning_gym_tasks(suite, {WHERE!r})]
    except UserMistake:
        keys[dataset] = "refused"
print()  # some generators print dots
print(json.dumps(keys))
"""


def keys_in_a_process(datasets: list[str], hash_seed: int) -> dict[str, object]:
    """The keys of the first tasks of each data set, generated one after the other in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    arguments = [sys.executable, "-c", EVERY_DATA_SET, json.dumps(datasets)]
    ended = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def test_every_data_set_gives_the_same_tasks_in_another_process() -> None:
    """The seed decides, not the order of a set in memory nor what was generated before; or the data set is refused."""
    first, second = keys_in_a_process(ALL, 1), keys_in_a_process(ALL[::-1], 2)

    assert {name for name in ALL if first[name] != second[name]} == set()
    assert {name for name in ALL if first[name] == "refused"} >= UNFIT.keys()
    assert first["chain_sum"] != "refused"


def test_tasks_that_repeat_themselves_are_dropped() -> None:
    """Small settings have few tasks; each is kept once, and the others are numbered without gaps."""
    one_digit = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
    found = generated("chain_sum", tasks=400, config=one_digit)

    prompts = [source.task.prompt for source in found]
    assert 1 < len(found) < 400
    assert len(set(prompts)) == len(prompts)
    assert [source.task.task_id for source in found] == [f"chain_sum-{number}" for number in range(len(found))]


def test_settings_change_the_tasks() -> None:
    """What the suite sets reaches the generator."""
    found = generated(config=SHORT_SUMS, tasks=20)

    for source in found:
        assert json.loads(source.task.entry)["metadata"]["num_terms"] == 2


def test_size_and_seed_are_those_of_the_suite() -> None:
    """Settings of the same names do not count beside the suite's own keys."""
    assert generated(config={"size": 3, "seed": 99}) == generated()


@pytest.mark.parametrize("dataset", ["no_such_data_set", "", "Chain_Sum"])
def test_an_unknown_data_set_is_refused_with_those_that_are_known(dataset: str) -> None:
    """The message lists what is allowed, without the unfit ones."""
    message = refused(dataset)

    assert message.startswith(f"{WHERE}: dataset: {dataset!r} is not allowed\n  allowed: one of ")
    listed = message.partition("allowed: one of ")[2].split(", ")
    assert "chain_sum" in listed
    assert not UNFIT.keys() & set(listed)


@pytest.mark.parametrize("dataset", UNFIT)
def test_an_unfit_data_set_is_refused_with_the_reason(dataset: str) -> None:
    """Its scorer can be fooled, or its own answer does not pass."""
    message = refused(dataset)

    assert message.startswith(f"{WHERE}: dataset: {dataset!r} is not allowed\n  allowed: one of ")
    assert message.endswith(f"({UNFIT[dataset]})")


def test_unfit_data_sets_are_ones_that_there_are() -> None:
    """A misspelt name would keep nothing out."""
    assert UNFIT.keys() <= set(ALL)


@pytest.mark.filterwarnings("ignore:.*will raise TypeError in the future:DeprecationWarning")
@pytest.mark.parametrize(
    "config",
    [
        {"no_such_setting": 1},
        {"min_terms": 0},  # refused by its own check
        {"min_terms": 5, "max_terms": 2},
        {"min_terms": "two"},  # of a wrong type
        {"min_terms": None},
        {"min_terms": 2.5, "max_terms": 3.5},  # found out only by generating
    ],
    ids=str,
)
def test_settings_that_the_data_set_does_not_take_are_refused(config: dict) -> None:
    """The message has the settings and what the generator says of them."""
    message = refused(config=config)

    assert message.startswith(
        f"{WHERE}: config: {config!r} is not allowed\n  allowed: settings of chain_sum; it says: "
    )
    assert not message.endswith("it says: ")


def test_a_generated_suite_is_read_and_admitted(tmp_path: Path) -> None:
    """Its own answers pass its scorer in full, and garbage does not."""
    rows = read_tasks("mine", suite(), tmp_path).rows

    admitted, rejected = admit(rows)

    assert rejected == []
    assert len(admitted) == len(rows) == 5
    assert {row["verification"] for row in rows} == {"scorer"}
