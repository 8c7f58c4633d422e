"""The decision: which checkpoint is kept, how that was decided, or why there is none."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t

from grpo_assets.domain.contest import Contest, judge
from grpo_assets.domain.mistakes import FailedWork
from grpo_assets.domain.power import chance_of_selection
from grpo_assets.domain.scores import Floats, Scores
from grpo_assets.domain.selection import SELECTION_POLICY, decide, gain_over_untrained
from grpo_assets.domain.specs import Selection
from grpo_assets.domain.tables import MEASURED
from grpo_assets_tests.builders import LAW, table_row

TASKS = 60
NOISE = np.where(np.arange(TASKS) % 2, 0.25, -0.25)
"""A swing from task to task with a mean of 0: a configuration with it has a standard error of .032 from one without."""
CELLS = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["complete"] * 6 + ["failed", "missing"]),
            st.sampled_from([0.25, 0.5, 0.5, 0.75]),
            st.sampled_from([0.0, 0.1]),
            st.integers(0, 3),
        ),
        min_size=2,
        max_size=2,
    ),
    max_size=4,
)
"""For each configuration its two runs: status, pass rate, KL and informative prompts."""


class Table(NamedTuple):
    """What a decision is made from; `axes` are those of the table."""

    rows: list[dict[str, Any]]
    scores: Scores
    costs: dict[str, float]
    axes: dict[str, list]


def rule(minimum: int = 0, **parts: Any) -> Selection:
    return Selection.model_validate({"metric": "dev_pass_rate", "min_informative_prompts": minimum, **parts})


def table(
    configurations: Mapping[str, Sequence[float | Floats]],
    untrained: float | Floats = 0.0,
    clusters: Sequence[int] | None = None,
    costs: Mapping[str, float] | None = None,
    tasks: int = TASKS,
    **parts: Mapping[str, Sequence[Any]],
) -> Table:
    """A table of configurations with the pass rates of their runs, seed 1 first.

    A number is the pass rate on every task.

    Args:
        costs: planned cost of each configuration.
        parts: parts of the rows, for each configuration that has its own one value a run.
    """
    rows, rates = [], {}
    for name, runs in configurations.items():
        for seed, rate in enumerate(runs, start=1):
            slug = f"{name}_s{seed}"
            rates[slug] = np.zeros(tasks) + rate
            own = {part: values[name][seed - 1] for part, values in parts.items() if name in values}
            measured = {"dev_pass_rate": float(rates[slug].mean()), "configuration": name, "seed": seed}
            rows.append(table_row(slug, **{**measured, **own}))
    seeds = sorted({row["seed"] for row in rows}) or [1, 2]
    numbers = np.arange(tasks) if clusters is None else np.array(clusters)
    keys = tuple(f"t{place:03}" for place in range(tasks))
    scores = Scores(keys, numbers, rates, np.zeros(tasks) + untrained)
    planned = {row["variant"]: (costs or {}).get(row["configuration"], 1.0) for row in rows}
    return Table(rows, scores, planned, {"seed": seeds, "curriculum": sorted({r["curriculum"] for r in rows})})


def decided(made: Table, minimum: int = 0, **parts: Any) -> dict[str, Any]:
    """The decision on a table, which must be JSON."""
    decision = decide(made.rows, made.scores, made.costs, rule(minimum, **parts), made.axes)
    json.dumps(decision, allow_nan=False)
    return decision


def absent(row: Mapping[str, Any], status: str = "failed", reason: str = "broke") -> dict[str, Any]:
    """The row of a run that did not come out."""
    return {**row, "status": status, "reason": reason, **dict.fromkeys(MEASURED)}


# The outcomes.


def test_a_configuration_that_is_ahead_is_selected() -> None:
    """The decision names its checkpoint, its runs and the evidence, and tells the others how far they are behind."""
    made = table({"good": [0.75, 0.75], "poor": [0.5, 0.5]}, untrained=0.25, kl_to_base={"good": [0.2, 0.1]})

    decision = decided(made)

    assert decision["outcome"] == "selected"
    assert decision["configuration"] == "good"
    assert decision["selected"] == "good_s2"
    assert decision["checkpoint"] == made.rows[1]["checkpoint"]
    assert decision["folder"] == "variants/good_s2"
    assert decision["runs"] == ["good_s1", "good_s2"]
    assert decision["tie_set"] == ["good"]
    assert decision["reason"] == "ahead of the other 1 eligible configurations by more than one standard error"
    assert decision["passed_over"] == {"poor": "0.250 behind good, more than one standard error (0.000)"}
    assert decision["evidence"]["variant"] == made.rows[1]
    assert decision["evidence"]["checkpoint"] == {"value": 0.75, "interval": [0.75, 0.75], "reason": None}
    assert decision["evidence"]["configuration"]["value"] is None
    assert decision["over_untrained"] == {"gain": 0.5, "error": 0.0, "p": 0.0, "better": True}
    assert decision["raw_maximum"] == {"value": 0.75, "optimism": 0.0}


def test_a_lead_within_one_standard_error_is_a_tie() -> None:
    """The tie-break chooses from the tie set, which is stated, and the best one is told that it lost it."""
    made = table({"best": [0.5 + NOISE] * 2, "cheap": [0.47] * 2, "poor": [0.25] * 2}, costs={"cheap": 0.5})

    decision = decided(made)

    assert decision["outcome"] == "tie"
    assert (decision["configuration"], decision["selected"]) == ("cheap", "cheap_s1")
    assert decision["tie_set"] == ["cheap", "best"]
    assert decision["reason"].endswith("among 2 of 3 eligible configurations within one standard error of the best")
    assert decision["passed_over"] == {
        "best": "tied (0.000 behind the best, standard error 0.000); lost the tie-break",
        "poor": "0.250 behind best, more than one standard error (0.032)",
    }


def test_a_lead_beyond_one_standard_error_is_none() -> None:
    """The same matrix with a cheap one that is .033 behind has one configuration ahead."""
    made = table({"best": [0.5 + NOISE] * 2, "cheap": [0.467] * 2, "poor": [0.25] * 2}, costs={"cheap": 0.5})

    decision = decided(made)

    assert (decision["outcome"], decision["configuration"]) == ("selected", "best")
    assert decision["passed_over"]["cheap"] == "0.033 behind best, more than one standard error (0.032)"


def test_what_is_not_better_than_the_untrained_policy_is_no_winner() -> None:
    """The first configuration is named with its gain, but no checkpoint is kept."""
    decision = decided(table({"a": [0.5 + NOISE] * 2, "b": [0.25] * 2}, untrained=0.475))

    assert decision["outcome"] == "no winner"
    assert [decision[name] for name in ("selected", "checkpoint", "folder")] == [None] * 3
    assert decision["configuration"] == "a"
    assert decision["reason"] == (
        "a is not better than the untrained policy: +0.025, standard error 0.032, p 0.44 over 2 configurations"
    )
    assert list(decision["passed_over"]) == ["b"]
    assert not decision["over_untrained"]["better"]


@pytest.mark.parametrize(
    ("untrained", "outcome"),
    [
        (0.5, "no winner"),  # as good
        (0.75, "no winner"),  # worse
        (0.25, "selected"),  # better on every task, which leaves no doubt
    ],
)
def test_without_any_spread_a_gain_is_certain_or_none(untrained: float, outcome: str) -> None:
    """Where all tasks differ alike there is no error to divide by."""
    assert decided(table({"a": [0.5, 0.5]}, untrained=untrained))["outcome"] == outcome


@pytest.mark.parametrize("samples", [4, 5, 10])
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_training_that_changed_nothing_is_not_better(samples: int, seeds: int) -> None:
    """Runs that score on each task what the untrained policy does gain nothing, in their last digits neither."""
    untrained = np.random.default_rng(0).binomial(samples, 0.3, size=TASKS) / samples

    decision = decided(table({"a": [untrained] * seeds}, untrained=untrained))

    assert decision["over_untrained"]["gain"] == pytest.approx(0, abs=1e-12)
    assert decision["outcome"] == "no winner"


def test_many_configurations_must_be_further_ahead_of_the_untrained_policy() -> None:
    """The level is shared by the configurations that were chosen from."""
    rates = [0.56 + NOISE] * 2

    few = decided(table({"a": rates}, untrained=0.5))
    many = decided(table(dict.fromkeys("abcdefgh", rates), untrained=0.5))

    assert (few["outcome"], many["outcome"]) == ("selected", "no winner")
    assert many["over_untrained"]["p"] == pytest.approx(8 * few["over_untrained"]["p"])


@pytest.mark.parametrize("minimum", [0, 4])
def test_nothing_is_selected_where_nothing_is_eligible(minimum: int) -> None:
    """There is no winner and no evidence, but each configuration has its reason."""
    made = table(
        {"a": [0.5, 0.5], "b": [0.75, 0.75]},
        informative_prompts_training={"a": [3, 9], "b": [9, 3]},
        dev_troubles={"a": [["wavers"], []], "b": [[], ["wavers"]]} if not minimum else {},
    )

    decision = decided(made, minimum)

    assert decision["outcome"] == "nothing eligible"
    assert decision["reason"] == "none of the 2 configurations is eligible"
    assert [decision[name] for name in ("selected", "checkpoint", "folder", "configuration", "evidence")] == [None] * 5
    assert [decision[name] for name in ("runs", "tie_set", "configurations")] == [[]] * 3
    why = "its dev verdicts cannot be trusted: wavers"
    if minimum:
        why = "3 distinct informative prompts (scope training), fewer than 4"
    assert decision["passed_over"] == {"a": f"seed 1: {why}", "b": f"seed 2: {why}"}


def test_a_matrix_that_failed_as_a_whole_has_a_reason_for_each_configuration() -> None:
    """Where no run came out, none of the configurations is eligible, and none is forgotten."""
    made = table({"a": [0.5, 0.5], "b": [0.75, 0.75]})

    decision = decided(made._replace(rows=[absent(row) for row in made.rows]))

    assert decision["outcome"] == "nothing eligible"
    assert decision["reason"] == "none of the 2 configurations is eligible"
    assert decision["passed_over"] == {"a": "seed 1: failed: broke", "b": "seed 1: failed: broke"}


def test_a_configuration_without_one_of_its_runs_does_not_win() -> None:
    """Leaving out the run that failed would flatter it."""
    made = table({"best": [1.0, 1.0], "other": [0.5, 0.5]})
    made.rows[1] = absent(made.rows[1])

    decision = decided(made)

    assert decision["configuration"] == "other"
    assert decision["passed_over"] == {"best": "seed 2: failed: broke"}
    assert [row["configuration"] for row in decision["configurations"]] == ["other"]


# The tie-break, and the run inside the configuration.


@pytest.mark.parametrize(
    ("costs", "kl", "curriculum", "first"),
    [
        ({"a": 1.15e9, "b": 1.0e9}, {"a": [0.1] * 2, "b": [0.2] * 2}, {}, "b"),  # cheaper, whatever its KL
        ({"a": 1.04e9, "b": 1.0e9}, {"a": [0.1] * 2, "b": [0.2] * 2}, {}, "a"),  # as cheap to two digits
        ({}, {"a": [0.1, 0.4], "b": [0.2, 0.2]}, {"b": ["informative"] * 2}, "b"),  # the lower mean KL
        ({}, {}, {"a": ["informative"] * 2}, "b"),  # the static order
        ({}, {}, {"a": ["informative"] * 2, "b": ["random"] * 2}, "a"),  # neither is static: the name
        ({}, {}, {}, "a"),  # the name
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_tie_break_has_four_steps(costs: dict, kl: dict, curriculum: dict, first: str, turned: bool) -> None:
    """Equal configurations are decided by cost to two digits, then mean KL, then static curriculum, then name."""
    made = table({"a": [0.5, 0.5], "b": [0.5, 0.5]}, costs=costs, kl_to_base=kl, curriculum=curriculum)
    if turned:
        made = made._replace(rows=made.rows[::-1])

    decision = decided(made)

    assert decision["outcome"] == "tie"
    assert decision["configuration"] == first
    assert decision["tie_set"] == [first, "ab".replace(first, "")]


def test_the_cost_of_a_configuration_is_that_of_its_runs() -> None:
    """Runs that cost differently count with their mean."""
    made = table({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    made.costs.update({"a_s1": 1.0, "a_s2": 5.0, "b_s1": 2.0, "b_s2": 2.0})

    decision = decided(made)

    assert decision["configuration"] == "b"
    assert [row["planned_cost"] for row in decision["configurations"]] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("rates", "kl", "selected"),
    [
        ([0.5, 0.75, 0.5], [0.1, 0.9, 0.1], "a_s2"),  # the highest, whatever its KL
        ([0.5, 0.75, 0.75], [0.1, 0.9, 0.2], "a_s3"),  # the lower KL of the highest
        ([0.75, 0.75, 0.5], [0.1, 0.1, 0.1], "a_s1"),  # the first slug
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_run_is_the_best_of_its_configuration(
    rates: list[float], kl: list[float], selected: str, turned: bool
) -> None:
    """The highest dev pass rate, then the lower KL, then the slug, in whatever order the table is."""
    made = table({"a": rates}, kl_to_base={"a": kl})

    decision = decided(made._replace(rows=made.rows[::-1]) if turned else made)

    assert decision["selected"] == selected
    assert decision["evidence"]["variant"]["variant"] == selected


def test_runs_with_as_many_passes_are_equal_however_they_add_up() -> None:
    """With three samples a task the mean of thirds depends on their order in its last digit, and the run must not."""
    first, second = (np.array(passes * 15) / 3 for passes in ([3, 2, 1, 0], [2, 0, 1, 3]))
    low, high = sorted((first, second), key=lambda rates: float(rates.mean()))
    assert 0 < high.mean() - low.mean() < 1e-12

    decision = decided(table({"a": [high, low]}, kl_to_base={"a": [0.9, 0.1]}))

    assert decision["selected"] == "a_s2"


def test_a_lucky_run_does_not_make_a_configuration_win() -> None:
    """Configurations are compared by the mean over seeds, and the checkpoint comes from the one that wins."""
    lucky, steady = [0.9, 0.2, 0.2], [0.85, 0.85, 0.85]

    decision = decided(table({"lucky": lucky, "steady": steady}))

    assert decision["configuration"] == "steady"
    assert decision["raw_maximum"]["value"] == pytest.approx(0.9)


# What a decision says.


def test_a_decision_states_its_rule() -> None:
    """What read the dev metrics, by which rule, on which tasks."""
    made = table({"a": [0.5, 0.5]}, clusters=[place // 2 for place in range(TASKS)])

    decision = decided(made, 3, informative_scope="final_step")

    assert decision["selection_policy"] == SELECTION_POLICY == "dev_or_smoke_metrics_only_no_heldout_test"
    assert decision["dev"] == {"tasks": 60, "clusters": 30, "task_keys_sha256": made.scores.keys_sha256}
    stated = {name: decision["rule"][name] for name in ("version", "metric", "min_informative_prompts")}
    assert stated == {"version": 2, "metric": "dev_pass_rate", "min_informative_prompts": 3}
    assert decision["rule"]["informative_scope"] == "final_step"
    assert decision["rule"]["allow_missing"] is False


def test_configurations_stand_in_the_order_of_the_tie_break_with_what_they_scored() -> None:
    """Each has its mean, its runs by seed, how far it is behind, and how often the rule would choose it."""
    made = table({"a": [0.5, 0.75], "b": [0.25, 0.25]}, costs={"b": 0.5})

    rows = decided(made)["configurations"]

    assert [row["configuration"] for row in rows] == ["b", "a"]
    assert [row["dev_pass_rate"] for row in rows] == pytest.approx([0.25, 0.625])
    assert [(run["seed"], run["dev_pass_rate"]) for run in rows[1]["runs"]] == [(1, 0.5), (2, 0.75)]
    assert [row["behind"] for row in rows] == pytest.approx([0.375, 0])
    assert [row["behind_error"] for row in rows] == pytest.approx([(2 * 0.25**2 / 2 / 2 / 2) ** 0.5] * 2)
    assert [row["tied"] for row in rows] == [False, True]
    assert [row["wins"] for row in rows] == [0, 1]
    assert [row["kl_to_base"] for row in rows] == pytest.approx([0.1, 0.1])


def test_three_seeds_have_a_corrected_configuration_score() -> None:
    """With three seeds both scores stand in the evidence; below fifty tasks each has a reason instead."""
    runs = [0.5 + NOISE, 0.5 - NOISE, 0.5 + NOISE]

    enough = decided(table({"a": runs}))["evidence"]
    few = decided(table({"a": [rates[:40] for rates in runs]}, tasks=40))["evidence"]

    assert enough["configuration"]["value"] == pytest.approx(0.5, abs=0.02)
    assert enough["checkpoint"]["interval"][0] < enough["checkpoint"]["value"]
    assert few["checkpoint"]["value"] is None
    assert few["checkpoint"]["reason"].startswith("40 dev tasks: below 50")


def test_a_decision_on_few_tasks_is_made() -> None:
    """Two clusters are enough for a decision, if not for a correction."""
    decision = decided(table({"good": [0.75, 0.75], "poor": [0.5, 0.5]}, tasks=6, clusters=[0, 0, 0, 1, 1, 1]))

    assert decision["configuration"] == "good"
    assert decision["evidence"]["checkpoint"]["reason"].startswith("6 dev tasks in 2 clusters")


def test_the_gain_over_the_untrained_policy_vector() -> None:
    """Paired by task and clustered, with the variance between runs over the seeds; p is one-sided, Student's."""
    made = table({}, untrained=np.repeat([0.25, 0.5, 0.75], 20), clusters=np.repeat(range(30), 2).tolist())
    rng = np.random.default_rng(1)
    all_rates = rng.binomial(4, 0.6, size=(3, 2, 60)) / 4
    rates = all_rates[1]

    found = gain_over_untrained(Contest(made.scores.sums(all_rates), made.scores.sizes), 1, made.scores)

    differences = rates.mean(axis=0) - made.scores.untrained
    gain = differences.mean()
    by_task = sum((pair.sum() - 2 * gain) ** 2 for pair in differences.reshape(30, 2)) / 60**2
    error = (by_task + all_rates.mean(axis=2).var(axis=1, ddof=1).mean() / 2) ** 0.5
    assert found["gain"] == pytest.approx(gain)
    assert found["error"] == pytest.approx(error)
    assert found["p"] == pytest.approx(min(1, 3 * t.sf(gain / error, 29)))
    assert found["better"] == (found["p"] <= 0.05)


# Refusals.


def test_a_pass_rate_that_is_not_the_mean_of_its_scores_is_refused() -> None:
    """A table and scores of different evaluations do not go together."""
    made = table({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    made.rows[2]["dev_pass_rate"] = 0.51

    with pytest.raises(FailedWork, match="b_s1: its dev_pass_rate is not the mean of its scores"):
        decided(made)


def test_one_cluster_is_refused() -> None:
    """Near-duplicates of one task have no spread."""
    with pytest.raises(FailedWork, match="60 dev tasks in one cluster"):
        decided(table({"a": [0.5, 0.5]}, clusters=[0] * 60))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"kl_to_base": float("nan")}, "a_s1: kl_to_base is nan, no finite number"),
        ({"recipe": "another"}, "mixed recipes: "),
        ({"weights": table_row("a_s2")["weights"]}, "are the same checkpoint under different seeds"),
        ({"seed": 2}, "seed 2 stands twice for a"),
    ],
)
def test_a_table_on_which_no_choice_can_stand_is_refused(parts: dict[str, Any], message: str) -> None:
    """The refusals of the table are those of the decision."""
    made = table({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    made.rows[0].update(parts)

    with pytest.raises(FailedWork, match=message):
        decided(made)


def test_one_seed_is_refused() -> None:
    """There is no decision on the luck of one run."""
    with pytest.raises(FailedWork, match=r"^one seed: "):
        decided(table({"a": [0.5], "b": [0.75]}))


def test_an_axis_value_without_a_complete_variant_is_refused_unless_allowed() -> None:
    """With `allow_missing` the decision is made on what there is."""
    made = table({"a": [0.5, 0.5], "b": [0.75, 0.75]}, curriculum={"b": ["informative"] * 2})
    made = made._replace(rows=[*made.rows[:2], *(absent(row) for row in made.rows[2:])])

    with pytest.raises(FailedWork, match="no variant with curriculum informative is complete"):
        decided(made)
    assert decided(made, allow_missing=True)["configuration"] == "a"


# Laws.


def drawn(cells: list[list[tuple[str, float, float, int]]]) -> Table:
    """A table of what hypothesis drew, with a swing from task to task for every other configuration."""
    made = table(
        {f"c{n}": [run[1] + NOISE[:20] * (n % 2) for run in runs] for n, runs in enumerate(cells)},
        tasks=20,
        kl_to_base={f"c{n}": [run[2] for run in runs] for n, runs in enumerate(cells)},
        informative_prompts_training={f"c{n}": [run[3] for run in runs] for n, runs in enumerate(cells)},
    )
    statuses = [run[0] for runs in cells for run in runs]
    rows = [
        row if status == "complete" else absent(row, status) for row, status in zip(made.rows, statuses, strict=True)
    ]
    return made._replace(rows=rows)


def decided_or_refused(made: Table, minimum: int) -> dict[str, Any] | None:
    """The decision on what there is; None where only one seed came out."""
    try:
        return decided(made, minimum, allow_missing=True)
    except FailedWork:
        return None


@LAW
@given(cells=CELLS, minimum=st.integers(0, 3), shuffle=st.randoms(use_true_random=False))
def test_the_order_of_the_table_does_not_count(cells: list, minimum: int, shuffle: Random) -> None:
    """The same variants in another order lead to the same decision."""
    made = drawn(cells)
    rows, variants = list(made.rows), list(made.scores.variants.items())
    shuffle.shuffle(rows)
    shuffle.shuffle(variants)
    scores = Scores(made.scores.tasks, made.scores.clusters, dict(variants), made.scores.untrained)

    turned = made._replace(rows=rows, scores=scores)

    assert decided_or_refused(turned, minimum) == decided_or_refused(made, minimum)


@LAW
@given(cells=CELLS, minimum=st.integers(0, 3))
def test_every_other_configuration_is_passed_over(cells: list, minimum: int) -> None:
    """No configuration is forgotten, and each that is not the decision's has a reason."""
    made = drawn(cells)

    decision = decided_or_refused(made, minimum)

    assume(decision is not None)
    assert decision is not None
    own = [decision["configuration"]] if decision["configuration"] else []
    assert sorted([*decision["passed_over"], *own]) == sorted({row["configuration"] for row in made.rows})
    assert all(decision["passed_over"].values())


@LAW
@given(cells=CELLS, minimum=st.integers(0, 3))
def test_the_decision_is_in_its_tie_set_and_nothing_else_is_selected(cells: list, minimum: int) -> None:
    """A checkpoint is kept with the outcomes `selected` and `tie` alone, of a configuration whose runs are eligible."""
    made = drawn(cells)

    decision = decided_or_refused(made, minimum)

    assume(decision is not None)
    assert decision is not None
    kept = decision["outcome"] in ("selected", "tie")
    assert (decision["selected"] is not None) == kept
    if decision["outcome"] == "nothing eligible":
        return
    assert decision["configuration"] == decision["tie_set"][0]
    assert (decision["outcome"] == "tie") <= (len(decision["tie_set"]) > 1)
    runs = [row for row in made.rows if row["variant"] in decision["runs"]]
    assert len(runs) == 2
    assert all(row["status"] == "complete" and row["informative_prompts_training"] >= minimum for row in runs)
    if kept:
        assert decision["selected"] in decision["runs"]
    assert sum(row["wins"] for row in decision["configurations"]) == pytest.approx(1)


# The promise of the plan, simulated.

BETTER, CONFIGURATIONS, SAMPLES, DEV_TASKS = 5, 16, 4, 100


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("seed_deviation", [0.0, 0.01, 0.02, 0.03])
@pytest.mark.parametrize("run_variance", [0.0, 0.03])
def test_the_planned_chance_of_selection_is_the_rule_s(seeds: int, seed_deviation: float, run_variance: float) -> None:
    """A configuration that is .05 better is alone in the tie set as often as the plan says, within .05.

    Chances are shifted by run and by run and task, and none of them reaches 0 or 1, where it would be cut.
    """
    rng = np.random.default_rng([seeds, int(1000 * seed_deviation), int(1000 * run_variance)])
    weights, counts = np.ones((1, DEV_TASKS)), np.ones(seeds, dtype=np.int64)
    alone, sampling = [], []
    for _ in range(1000):
        shape = (CONFIGURATIONS, seeds, DEV_TASKS)
        chances = 0.4 + 0.2 * rng.beta(2, 2, size=DEV_TASKS)
        chances = chances + rng.normal(0, seed_deviation, size=(CONFIGURATIONS, seeds, 1))
        chances = chances + (run_variance / 2) ** 0.5 * rng.choice([-1.0, 1.0], size=shape)
        chances[BETTER] += 0.05
        assert 0 < chances.min() <= chances.max() < 1
        found = judge(Contest(rng.binomial(SAMPLES, chances) / SAMPLES, np.ones(DEV_TASKS)), weights, counts)
        alone.append(found.tied[0].sum() == 1 and found.tied[0, BETTER])
        sampling.append((chances * (1 - chances)).mean())

    planned = chance_of_selection(
        0.05, CONFIGURATIONS, seeds, DEV_TASKS, SAMPLES, seed_deviation, float(np.mean(sampling)), run_variance
    )

    assert np.mean(alone) == pytest.approx(planned, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("seed_deviation", [0.0, 0.03])
def test_training_that_does_nothing_has_no_winner(seeds: int, seed_deviation: float) -> None:
    """Of 16 configurations that are as good as the untrained policy, one is kept in at most 5% of the simulations."""
    rng = np.random.default_rng([7, seeds, int(1000 * seed_deviation)])
    kept = []
    for _ in range(400):
        chances = 0.3 + 0.4 * rng.beta(2, 2, size=DEV_TASKS)
        shifted = chances + rng.normal(0, seed_deviation, size=(CONFIGURATIONS, seeds, 1)) + np.zeros(DEV_TASKS)
        sums = rng.binomial(SAMPLES, shifted) / SAMPLES
        before = rng.binomial(SAMPLES, chances) / SAMPLES
        scores = Scores(tuple(map(str, range(DEV_TASKS))), np.arange(DEV_TASKS), {}, before)
        contest = Contest(sums, scores.sizes)
        found = judge(contest, np.ones((1, DEV_TASKS)), np.ones(seeds, dtype=np.int64))
        kept.append(gain_over_untrained(contest, int(found.winner[0]), scores)["better"])

    assert np.mean(kept) <= 0.05
