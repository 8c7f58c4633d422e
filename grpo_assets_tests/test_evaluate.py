"""Held-out tasks are opened once, after the decision, on the record; what comes later carries that it was opened."""

import json
from pathlib import Path

import pytest

from grpo_assets_tests.test_cli import edit, grpo_assets, written

EXPERIMENT = Path("experiments/learns.yaml")
FOLDER = Path("store/experiments/learns")
LEDGER = Path("store/ledgers/few.jsonl")


@pytest.fixture
def decided(data: Path) -> Path:
    """A data folder in which an experiment has selected a checkpoint."""
    done = grpo_assets("run", "learns", data=data)
    assert done.returncode == 0, done.stderr
    return data


def ledger(data: Path) -> list[dict]:
    return [json.loads(line) for line in (data / LEDGER).read_text().splitlines()]


def test_evaluate_opens_the_held_out_tasks_once(decided: Path) -> None:
    """The contrasts stand in heldout.json, the opening in the ledger; a second call opens and makes nothing."""
    done = grpo_assets("evaluate", "learns", data=decided)

    assert done.returncode == 0, done.stderr
    found = json.loads((decided / FOLDER / "heldout.json").read_text())
    assert list(found["contrasts"]) == ["untrained", "curriculum informative"]
    assert found["void_contrasts"] == ["curriculum static"]
    assert found["contrasts"]["curriculum informative"]["over_seeds"]["reason"] == "with 2 seeds the least p is .5"
    assert {row["k"] for row in found["policies"]["selected"]["pass_at"]} == {1, 2, 4}
    assert (decided / FOLDER / "heldout" / f"{found['selected']}.parquet").exists()
    assert len(list((decided / FOLDER / "heldout").iterdir())) == 5  # the untrained policy, both arms with both seeds
    assert [entry["kind"] for entry in ledger(decided)] == ["selection", "opening"]
    for line in ("against untrained: ", "over 2 seeds: ", "selected greedy over untrained majority: "):
        assert line in done.stdout

    before = {name: (decided / name).read_bytes() for name in written(decided) if name.startswith("store/")}
    again = grpo_assets("evaluate", "learns", data=decided)
    assert "everything is current; nothing was made" in again.stdout
    assert "against untrained: " in again.stdout
    assert {name: (decided / name).read_bytes() for name in before} == before


def test_after_an_opening_the_decision_stays(decided: Path) -> None:
    """Another rule asks for another decision: refused with the old one kept, made with a reason, which stays."""
    assert grpo_assets("evaluate", "learns", data=decided).returncode == 0
    before = (decided / FOLDER / "selected_checkpoint.json").read_bytes()
    edit(decided / EXPERIMENT, "min_informative_prompts: 1", "min_informative_prompts: 2")

    refused = grpo_assets("run", "learns", data=decided)

    assert refused.returncode == 1
    assert "the held-out tasks of few were opened for learns" in refused.stderr
    assert '--reopen "REASON"' in refused.stderr
    assert (decided / FOLDER / "selected_checkpoint.json").read_bytes() == before
    assert "selected_checkpoint learns: the held-out tasks" in grpo_assets("status", "learns", data=decided).stdout

    allowed = grpo_assets("run", "learns", "--reopen", "the threshold was a typo", data=decided)
    decision = json.loads((decided / FOLDER / "selected_checkpoint.json").read_text())
    assert allowed.returncode == 0, allowed.stderr
    assert decision["isolation"]["ledger"]["reopened"] == "the threshold was a typo"
    assert decision["isolation"]["ledger"]["selections_on_these_dev_tasks"] == 2
    assert "selected after that because: the threshold was a typo" in allowed.stdout

    second = grpo_assets("evaluate", "learns", data=decided)
    assert second.returncode == 1
    assert "a second look makes the first one part of the search" in second.stderr
    third = grpo_assets("evaluate", "learns", "--reopen", "the threshold was a typo", data=decided)
    assert third.returncode == 0, third.stderr
    found = json.loads((decided / FOLDER / "heldout.json").read_text())
    assert [entry["reopened"] for entry in found["ledger"]] == [None, "the threshold was a typo"]
    assert "reopened: the threshold was a typo" in third.stdout


def test_another_experiment_on_opened_tasks_needs_a_reason(decided: Path) -> None:
    """What was seen for one experiment can lead the choice in the next one on the same suite."""
    assert grpo_assets("evaluate", "learns", data=decided).returncode == 0
    (decided / "experiments" / "next.yaml").write_text((decided / EXPERIMENT).read_text())
    edit(decided / "experiments" / "next.yaml", "learning_rate: 2.0", "learning_rate: 1.5")

    refused = grpo_assets("run", "next", data=decided)
    assert refused.returncode == 1
    assert "a selection made now could be led by what was seen" in refused.stderr
    assert (decided / "store/experiments/next/summary.json").exists()

    assert grpo_assets("run", "next", "--reopen", "a new learning rate", data=decided).returncode == 0
    opened = grpo_assets("evaluate", "next", data=decided)
    assert opened.returncode == 0, opened.stderr
    summary = json.loads((decided / "store/experiments/next/summary.json").read_text())
    assert [entry["experiment"] for entry in summary["heldout_openings"]] == ["learns"]
    compared = grpo_assets("compare", "learns", "next", data=decided)
    assert compared.returncode == 0, compared.stderr
    assert "19 dev tasks, paired" in compared.stdout


def test_a_contrast_must_be_declared_before_training(decided: Path) -> None:
    """One that is added afterwards opens nothing."""
    edit(decided / EXPERIMENT, "- curriculum: informative", "- curriculum: informative\n    kl_beta: 0.0")

    refused = grpo_assets("evaluate", "learns", data=decided)

    assert refused.returncode == 1
    assert "was not declared before the training of" in refused.stderr
    assert [entry["kind"] for entry in ledger(decided)] == ["selection"]


def test_nothing_is_opened_where_nothing_was_selected(data: Path) -> None:
    """Without a current decision, or with one that selected nothing, the held-out tasks stay closed."""
    too_early = grpo_assets("evaluate", "mini", data=data)
    assert (too_early.returncode, "make it first: grpo-assets run mini" in too_early.stderr) == (2, True)

    assert grpo_assets("run", "mini", data=data).returncode == 0
    nothing = grpo_assets("evaluate", "mini", data=data)
    assert nothing.returncode == 2
    assert "nothing was selected, so the held-out tasks stay closed" in nothing.stderr
    assert not (data / "store/heldout_tasks").exists()


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines"])
def test_a_reason_is_one_in_words(data: Path, reason: str) -> None:
    """An empty reason is none."""
    done = grpo_assets("run", "learns", "--reopen", reason, data=data)

    assert done.returncode == 2
    assert "a reason in words" in done.stderr
    assert not written(data)


def test_doctor_finds_a_ledger_that_was_tampered_with(decided: Path) -> None:
    """A changed entry, and an end that was cut off, are found; nothing is opened on such a ledger."""
    whole = grpo_assets("doctor", data=decided)
    assert "ledger few         whole: 1 entries, 0 openings" in whole.stdout
    (decided / LEDGER).unlink()

    cut = grpo_assets("doctor", data=decided)
    assert cut.returncode == 1
    assert "it has no entry of the selection of learns: its end is gone" in cut.stdout

    (decided / LEDGER).write_text('{"kind": "selection"}\n')
    assert grpo_assets("doctor", data=decided).returncode == 1
    refused = grpo_assets("evaluate", "learns", data=decided)
    assert refused.returncode == 1
    assert "entry 1 is no entry" in refused.stderr


def test_only_experiments_on_the_same_dev_tasks_are_compared(data: Path) -> None:
    """Another suite, or another number of samples, is named."""
    refused = grpo_assets("compare", "learns", "smoke", data=data)

    assert refused.returncode == 2
    assert "experiments/smoke.yaml: suite: 'python-basics' is not allowed" in refused.stderr
