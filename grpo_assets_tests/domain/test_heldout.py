"""The final results: the selected checkpoint and the declared contrasts on the held-out tasks."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from grpo_assets.domain.final_test import holm, paired_comparison, pass_at
from grpo_assets.domain.heldout import UNTRAINED, Contrast, Outcomes, final_results, outcomes_of
from grpo_assets_tests.builders import evaluation_rows, group_rows

TASKS = 40
CLUSTERS = [f"c{place // 2}" for place in range(TASKS)]


def outcomes(chance: float, seed: int, samples: int = 4) -> Outcomes:
    """What a policy with this chance of passing did on all tasks."""
    rng = np.random.default_rng([seed, samples])
    passes = rng.binomial(samples, chance, size=TASKS)
    return Outcomes(np.full(TASKS, samples), passes, rng.binomial(1, chance, size=TASKS).astype(float))


def results(samples: int = 4, **parts: Any) -> dict[str, Any]:
    """Final results with one declared contrast, which must be JSON."""
    given: dict[str, Any] = {
        "untrained": outcomes(0.3, 1, samples),
        "selected": outcomes(0.7, 2, samples),
        "contrasts": {
            "curriculum static": Contrast(
                [outcomes(0.7, seed, samples) for seed in (2, 3)], [outcomes(0.6, seed, samples) for seed in (4, 5)]
            )
        },
        "clusters": CLUSTERS,
        "majority": None,
    }
    found = final_results(**{**given, **parts})
    json.dumps(found, allow_nan=False)
    return found


def test_outcomes_count_completions_with_a_verdict() -> None:
    """Sampled completions are counted by task in the order of the tasks; the greedy one is apart."""
    rows = [
        *evaluation_rows("b", sampled="ppfn", greedy="f"),
        *evaluation_rows("a", sampled="fff", greedy="p"),
    ]

    found = outcomes_of(rows)

    assert found.samples.tolist() == [3, 3]
    assert found.passes.tolist() == [2, 0]
    assert found.greedy.tolist() == [0.0, 1.0]
    assert found.rates.tolist() == [2 / 3, 0.0]


def test_outcomes_are_in_the_order_of_the_tasks_however_decodings_lie() -> None:
    """An evaluation holds first the sampled completions of all tasks and then the greedy ones."""
    rows = group_rows("b", "pf") + group_rows("a", "ff")
    rows += group_rows("b", "f", decoding="greedy") + group_rows("a", "p", decoding="greedy")

    found = outcomes_of(rows)

    assert (found.passes.tolist(), found.greedy.tolist()) == ([1, 0], [0.0, 1.0])


@pytest.mark.parametrize(
    "rows",
    [
        evaluation_rows("a", "pp") + evaluation_rows("b", "nn"),  # no sampled verdict
        evaluation_rows("a", "pp") + evaluation_rows("b", "pp", greedy="n"),  # no greedy one
        [],
    ],
)
def test_a_task_without_a_verdict_is_refused(rows: list[dict]) -> None:
    """A pass rate of nothing is no 0."""
    with pytest.raises(ValueError, match=r"of \d tasks have no (sampled|greedy) rollout with a verdict"):
        outcomes_of(rows)


def test_the_selected_checkpoint_is_compared_with_the_untrained_policy() -> None:
    """Paired by task with near-duplicates as one unit, beside the pass rates of both."""
    before, after = outcomes(0.3, 1), outcomes(0.7, 2)

    found = results()

    contrast = found["contrasts"][UNTRAINED]
    expected = paired_comparison(after.rates, before.rates, CLUSTERS, seed=1)
    for name in ("tasks", "clusters", "ours", "theirs", "difference", "error", "detectable"):
        assert contrast[name] == expected[name]
    assert contrast["clusters"] == 20
    assert found["policies"][UNTRAINED]["pass_rate"] == pytest.approx(before.passes.sum() / 160)
    assert found["policies"]["selected"]["greedy_pass_rate"] == pytest.approx(after.greedy.mean())


def test_pass_at_k_goes_up_to_the_samples() -> None:
    """Each policy has its unbiased pass@k for the powers of two."""
    after = outcomes(0.7, 2)

    found = results()["policies"]["selected"]["pass_at"]

    assert [row["k"] for row in found] == [1, 2, 4]
    assert [row["value"] for row in found] == pytest.approx(
        [pass_at(after.samples, after.passes, k).mean() for k in (1, 2, 4)]
    )


def test_a_declared_contrast_is_one_of_means_over_seeds() -> None:
    """Tasks are paired on the mean of each arm's runs, and the seeds are matched by position."""
    ours, theirs = ([outcomes(0.7, seed) for seed in seeds] for seeds in ((2, 3), (4, 5)))

    contrast = results()["contrasts"]["curriculum static"]

    assert contrast["ours"] == pytest.approx(np.mean([run.rates.mean() for run in ours]))
    assert contrast["difference"] == pytest.approx(contrast["ours"] - contrast["theirs"])
    assert contrast["over_seeds"]["seeds"] == 2
    assert contrast["over_seeds"]["difference"] == pytest.approx(contrast["difference"])
    assert contrast["over_seeds"]["p"] is None
    assert contrast["over_seeds"]["reason"] == "with 2 seeds the least p is .5"
    swapped = results(contrasts={"c": Contrast(theirs, ours)})["contrasts"]["c"]
    straight = results(contrasts={"c": Contrast(ours, theirs)})["contrasts"]["c"]
    assert swapped["difference"] == pytest.approx(-straight["difference"])


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b"]])
def test_holm_goes_over_the_untrained_policy_and_all_that_was_declared(names: Sequence[str]) -> None:
    """Each contrast has its p and the one that is adjusted for all of them."""
    arms = {
        name: Contrast(
            [outcomes(0.7, 10 * place + seed) for seed in (1, 2)],
            [outcomes(0.62, 10 * place + seed) for seed in (3, 4)],
        )
        for place, name in enumerate(names, start=2)
    }

    found = results(contrasts=arms)["contrasts"]

    assert list(found) == [UNTRAINED, *names]
    assert {name: row["p_holm"] for name, row in found.items()} == holm({name: row["p"] for name, row in found.items()})
    assert found[UNTRAINED]["p_holm"] == pytest.approx((1 + len(names)) * found[UNTRAINED]["p"])


def test_one_sample_a_task_has_mcnemars_test() -> None:
    """Wins and losses are counted of tasks that one policy passed and the other did not."""
    before, after = outcomes(0.3, 1, samples=1), outcomes(0.7, 2, samples=1)

    found = results(samples=1)

    assert found["contrasts"][UNTRAINED]["mcnemar"]["wins"] == int((after.passes > before.passes).sum())
    assert found["contrasts"][UNTRAINED]["mcnemar"]["losses"] == int((after.passes < before.passes).sum())
    assert "mcnemar" not in found["contrasts"]["curriculum static"]  # its arms are means over seeds
    assert [row["k"] for row in found["policies"]["selected"]["pass_at"]] == [1]


@pytest.mark.parametrize(("before", "after"), [(4, 4), (1, 4), (4, 1)])
def test_several_samples_a_task_have_no_mcnemar(before: int, after: int) -> None:
    """The test is one of passed or failed tasks."""
    found = results(untrained=outcomes(0.3, 1, before), selected=outcomes(0.7, 2, after))

    assert "mcnemar" not in found["contrasts"][UNTRAINED]


def test_programs_have_no_majority_but_a_reason() -> None:
    """Without answers to vote on there is no majority, and the greedy completion is the only best guess."""
    found = results(majority=None)["sharpening"]

    assert found["majority"] is None
    assert found["majority_reason"] == "programs have no answer to vote on"
    assert [name for name in found if name.startswith("selected")] == ["selected greedy over untrained greedy"]


def test_the_best_guesses_of_the_untrained_policy_are_what_training_must_beat() -> None:
    """Greedy against greedy, and greedy against the vote."""
    before, after = outcomes(0.3, 1), outcomes(0.7, 2)
    votes = np.where(np.arange(TASKS) < 24, 1.0, 0.0)

    found = results(majority=votes)["sharpening"]

    assert (found["majority"], found["majority_reason"]) == (0.6, None)
    greedy, majority = (found[f"selected greedy over untrained {name}"] for name in ("greedy", "majority"))
    assert greedy["difference"] == pytest.approx(after.greedy.mean() - before.greedy.mean())
    assert majority["difference"] == pytest.approx(after.greedy.mean() - 0.6)


def test_results_are_drawn_alike_each_time() -> None:
    """Resampling has a seed that depends on the tasks' clusters alone."""
    assert results() == results()
