"""The graph leaks nothing, is in order, and every setting changes the request of exactly what it can change."""

from collections.abc import Sequence
from typing import Any

import pytest

from grpo_assets.domain import lineage
from grpo_assets.domain.lineage import GRAIN, Ref, ancestors, nodes, request
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Catalog, GoldCase
from grpo_assets_tests.builders import (
    built_policy_dict,
    catalog,
    declared_reward,
    experiment_dict,
    file_suite_dict,
    gold_case,
    loaded_reward,
    policy_dict,
    suite_dict,
    trl_experiment_dict,
)

RECORDED = frozenset(
    {"experiment_spec", "experiment_plan", "experiment_table", "selected_checkpoint", "heldout_evaluation"}
)
"""What holds the declared experiment itself or is made from it: the spec, plan, table and decision."""
TRAINED = RECORDED | {"checkpoint", "dev_evaluation"}
ORDERED = TRAINED | {"curriculum"}
SCORED = ORDERED | {"prompt_statistics"}
PILOTED = SCORED | {"pilot_rollouts"}
SAMPLED = (PILOTED | {"baseline_evaluation"}) - {"experiment_spec"}
SPLIT = frozenset({"tasks", "train_tasks", "dev_tasks", "heldout_tasks"})


def requests(of: Catalog) -> dict[Ref, str]:
    """What is asked of each artifact; an input counts by what is asked of it."""
    asked: dict[Ref, str] = {}
    for ref, node in nodes(of).items():
        asked[ref] = request(node, asked)
    return asked


def changed(before: Catalog, after: Catalog) -> set[str]:
    """The assets of which something else is asked."""
    asked = [requests(of) for of in (before, after)]
    by_asset = [{name: {asked[ref] for ref in asked if ref.asset == name} for name in GRAIN} for asked in asked]
    return {name for name in GRAIN if by_asset[0][name] != by_asset[1][name]}


def smoke(**parts: Any) -> Catalog:
    """A catalog with one experiment of the smoke trainer."""
    return catalog(experiments={"mini": experiment_dict(**parts)})


def trl(**parts: Any) -> Catalog:
    """A catalog with one experiment of TRL."""
    return catalog(experiments={"mini": trl_experiment_dict(**parts)})


def trl_with(**kinds: Any) -> Catalog:
    """A catalog with one experiment of TRL, and keywords as in `catalog`."""
    return catalog(experiments={"mini": trl_experiment_dict()}, **kinds)


def full() -> Catalog:
    """A catalog with two experiments that use every axis."""
    axes = {
        "seeds": [1, 2],
        "group_sizes": [2, 4],
        "kl_betas": [0.0, 0.1],
        "rewards": ["reward_v0_correctness", "reward_v1_shaped"],
        "curricula": ["static", "informative", "random"],
    }
    return catalog(experiments={"mini": experiment_dict(matrix=axes), "trl": trl_experiment_dict(matrix=axes)})


def test_the_graph_is_the_designed_one() -> None:
    """Each asset is made from the assets of the design, and from no other."""
    inputs = {name: set() for name in GRAIN}
    for node in nodes(full()).values():
        inputs[node.ref.asset] |= {ref.asset for ref in node.inputs}

    assert inputs == {
        "tasks": set(),
        "train_tasks": {"tasks"},
        "dev_tasks": {"tasks"},
        "heldout_tasks": {"tasks"},
        "base_policy": set(),
        "reward": set(),
        "pilot_rollouts": {"base_policy", "train_tasks"},
        "prompt_statistics": {"pilot_rollouts", "reward"},
        "curriculum": {"prompt_statistics", "train_tasks"},
        "experiment_spec": set(),
        "experiment_plan": {"experiment_spec", "base_policy", "train_tasks", "prompt_statistics"},
        "baseline_evaluation": {"base_policy", "dev_tasks"},
        "checkpoint": {"curriculum", "train_tasks", "reward", "base_policy"},
        "dev_evaluation": {"checkpoint", "base_policy", "dev_tasks"},
        "experiment_table": {
            *("experiment_spec", "dev_tasks", "baseline_evaluation", "reward", "checkpoint", "dev_evaluation")
        },
        "selected_checkpoint": {"experiment_table", "experiment_plan"},
        "heldout_evaluation": {"selected_checkpoint", "heldout_tasks", "base_policy", "checkpoint"},
    }


def test_no_path_leads_from_the_heldout_tasks_to_the_decision() -> None:
    """What is held out decides nothing."""
    graph = nodes(full())

    behind = ancestors(graph, [ref for ref in graph if ref.asset == "selected_checkpoint"])

    assert "heldout_tasks" not in {node.ref.asset for node in behind}
    assert "dev_tasks" in {node.ref.asset for node in behind}


def test_a_graph_in_which_held_out_tasks_lead_to_a_decision_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands between them: here the plan, which a decision reads, is made from held-out tasks."""
    add_experiment = lineage._add_experiment

    def leaking(add: Any, name: str, declared: Any, of: Catalog) -> None:
        def add_with_leak(asset: str, key: str, inputs: Any = (), *rest: Any, **settings: Any) -> Ref:
            more = [Ref("heldout_tasks", declared.suite)] if asset == "experiment_plan" else []
            return add(asset, key, [*inputs, *more], *rest, **settings)

        add_experiment(add_with_leak, name, declared, of)

    monkeypatch.setattr(lineage, "_add_experiment", leaking)
    with pytest.raises(ValueError, match="heldout_tasks few leads to a selected checkpoint"):
        nodes(full())


def test_nothing_that_is_trained_reads_dev_tasks() -> None:
    """Dev tasks are for the decision alone: no checkpoint, curriculum or pilot comes from them."""
    graph = nodes(full())

    behind = ancestors(graph, [ref for ref in graph if ref.asset == "checkpoint"])

    assert {node.ref.asset for node in behind} == {
        "tasks", "train_tasks", "base_policy", "reward", "pilot_rollouts", "prompt_statistics", "curriculum",
        "checkpoint",
    }  # fmt: skip


def test_only_the_splits_read_all_tasks() -> None:
    """Whatever else reads tasks reads those of one split."""
    readers = {node.ref.asset for node in nodes(full()).values() for ref in node.inputs if ref.asset == "tasks"}

    assert readers == {"train_tasks", "dev_tasks", "heldout_tasks"}


def test_each_artifact_comes_after_its_inputs() -> None:
    """Work in the order of the graph never waits for an input."""
    done: set[Ref] = set()
    for ref, node in nodes(full()).items():
        assert ref == node.ref
        assert set(node.inputs) <= done
        done.add(ref)


def test_every_asset_has_partitions() -> None:
    """An experiment with every axis calls for an artifact of each asset."""
    assert {ref.asset for ref in nodes(full())} == set(GRAIN)


def test_only_results_of_variants_may_miss() -> None:
    """A table can be made while variants failed, and nothing else without all of its inputs."""
    graph = nodes(full())

    for ref, node in graph.items():
        may = {"experiment_table": {"checkpoint", "dev_evaluation"}, "heldout_evaluation": {"checkpoint"}}
        assert {missing.asset for missing in node.may_miss} == may.get(ref.asset, set())
        assert node.may_miss <= set(node.inputs)


def test_keys_say_what_an_artifact_is() -> None:
    """Keys are built from names and numbers; only a seeded order has a seed."""
    keys = {asset: {ref.key for ref in nodes(full()) if ref.asset == asset} for asset in GRAIN}

    assert keys["pilot_rollouts"] == {"tabular.few.k8.r1", "built.few.k8.r1"}
    assert "tabular.few.k8.r1.reward_v0_correctness" in keys["prompt_statistics"]
    assert "tabular.few.k8.r1.reward_v0_correctness.informative.g4" in keys["curriculum"]
    assert "tabular.few.k8.r1.reward_v0_correctness.random.g4.s1" in keys["curriculum"]
    assert keys["baseline_evaluation"] == {"tabular.few.k2", "built.few.k2"}
    assert keys["dev_evaluation"] == keys["checkpoint"]
    assert "mini/reward_v0_correctness_static_seed-1_g-4_kl-0.1_static" in keys["checkpoint"]
    assert keys["selected_checkpoint"] == {"mini", "trl"}


@pytest.mark.parametrize(
    ("part", "assets"),
    [
        # each axis
        ({"matrix": {"seeds": [2]}}, TRAINED),
        ({"matrix": {"kl_betas": [0.1]}}, TRAINED),
        ({"matrix": {"group_sizes": [2]}}, ORDERED),
        ({"matrix": {"curricula": ["informative"]}}, ORDERED),
        ({"matrix": {"rewards": ["reward_v1_shaped"]}}, SCORED),
        # the recipe
        ({"recipe": {"steps": 5}}, TRAINED),
        ({"recipe": {"rollouts_per_step": 16}}, TRAINED),
        ({"recipe": {"learning_rate": 0.25}}, TRAINED),
        ({"trainer": "trl"}, TRAINED),  # its policy would not fit, which is refused elsewhere
        # the pilot
        ({"pilot": {"samples_per_prompt": 4}}, PILOTED),
        ({"pilot": {"round": 2}}, PILOTED),
        # evaluation and selection
        ({"evaluation": {"samples_per_task": 4}}, {"baseline_evaluation", "dev_evaluation"} | RECORDED),
        ({"selection": {"min_informative_prompts": 2}}, RECORDED),
        ({"selection": {"informative_scope": "final_step"}}, RECORDED),
        # other tasks, another policy
        ({"suite": "own"}, {"baseline_evaluation"} | PILOTED),
        # what is said again in other words
        ({"recipe": {"lora_rank": None}}, set()),
        ({"matrix": {"kl_betas": [0]}}, set()),
        ({"selection": {"informative_scope": "training"}}, set()),
    ],
    ids=str,
)
def test_settings_of_an_experiment_bite(part: dict, assets: set[str]) -> None:
    """Each setting changes what is asked of the assets that it can change, and of no other."""
    assert changed(smoke(), smoke(**part)) == assets


@pytest.mark.parametrize(
    ("part", "assets"),
    [
        ({"recipe": {"lora_rank": 4}}, TRAINED),
        ({"recipe": {"learning_rate": 0.25}}, TRAINED),
    ],
    ids=str,
)
def test_settings_of_a_trl_experiment_bite(part: dict, assets: set[str]) -> None:
    """What only TRL has changes its checkpoints and what comes after."""
    assert changed(trl(), trl(**part)) == assets


def test_seeds_change_seeded_curricula() -> None:
    """A seed changes the order too where the order is seeded."""
    before = smoke(matrix={"curricula": ["random"]})

    after = smoke(matrix={"curricula": ["random"], "seeds": [2]})

    assert changed(before, after) == ORDERED


@pytest.mark.parametrize(
    "part", [{"temperature": 0.5}, {"top_p": 0.9}, {"top_k": 5}, {"max_completion_tokens": 7}], ids=str
)
@pytest.mark.parametrize(("make", "name"), [(policy_dict, "tabular"), (built_policy_dict, "built")])
def test_the_sampler_changes_all_that_is_sampled(make: Any, name: str, part: dict) -> None:
    """Pilots, training and evaluations share one sampler; the weights of the base policy do not depend on it."""
    sampling = {"temperature": 1.0, "max_completion_tokens": 6}
    mini = {"mini": experiment_dict() if name == "tabular" else trl_experiment_dict()}
    before = catalog(experiments=mini, policies={name: make(sampling=sampling)})

    after = catalog(experiments=mini, policies={name: make(sampling={**sampling, **part})})

    assert changed(before, after) == SAMPLED


@pytest.mark.parametrize(
    "pretraining", [{"steps": 61}, {"batch_size": 64}, {"learning_rate": 0.01}, {"seed": 1}], ids=str
)
def test_pretraining_changes_the_base_policy(pretraining: dict) -> None:
    """Each setting of the pre-training makes another policy, and with it all that is sampled from it."""
    after = trl_with(policies={"built": built_policy_dict(pretraining={"steps": 60, **pretraining})})

    assert changed(trl_with(), after) == {"base_policy"} | SAMPLED


@pytest.mark.parametrize(
    ("suite", "assets"),
    [
        (suite_dict(seed=2), SPLIT | SAMPLED),
        (suite_dict(tasks=61), SPLIT | SAMPLED),
        # the training side of another split is another one to pre-train on
        (suite_dict(splits={"train": 0.5, "dev": 0.25, "heldout": 0.25}), SPLIT | SAMPLED | {"base_policy"}),
    ],
)
def test_generated_suites_change_their_tasks(suite: dict, assets: set[str]) -> None:
    """Each setting of a generated suite makes other tasks."""
    assert changed(trl_with(), trl_with(suites={"few": suite})) == assets


@pytest.mark.parametrize(
    ("part", "assets"),
    [
        ({"path": "elsewhere/own.jsonl"}, set()),  # the same content
        ({"licence": "MIT"}, SPLIT | SAMPLED),  # it stands in the rows
        ({"fields": {"task_id": "name"}}, SPLIT | SAMPLED),
    ],
    ids=str,
)
def test_suites_from_a_file_go_by_content(part: dict, assets: set[str]) -> None:
    """Where a file lies does not matter; how it is read does."""
    mini = {"mini": experiment_dict(suite="own")}

    after = catalog(experiments=mini, suites={"own": file_suite_dict(**part)})

    assert changed(catalog(experiments=mini), after) == assets


def test_the_content_of_a_task_file_changes_its_tasks() -> None:
    """Another content behind the same path is another suite."""
    mini = {"mini": experiment_dict(suite="own")}

    after = catalog(experiments=mini, suite_sources={"own": "6" * 64})

    assert changed(catalog(experiments=mini), after) == SPLIT | SAMPLED


@pytest.mark.parametrize(
    ("library", "smoke_assets", "trl_assets"),
    [
        # both base policies stand in the catalog, so either side sees its own and the other's change
        ("numpy", {"base_policy"} | SAMPLED, {"base_policy"} | SAMPLED),
        ("torch", {"base_policy"}, {"base_policy"} | SAMPLED),
        ("transformers", {"base_policy"}, {"base_policy"} | SAMPLED),
        ("trl", set(), TRAINED - {"experiment_spec", "experiment_plan"}),
        ("peft", set(), TRAINED - {"experiment_spec", "experiment_plan"}),
    ],
)
def test_libraries_change_what_they_compute(library: str, smoke_assets: set[str], trl_assets: set[str]) -> None:
    """Another version of a library asks for what it computes again, and for nothing else."""
    mini = {"mini": experiment_dict()}

    assert changed(catalog(), catalog(experiments=mini, libraries={library: "99"})) == smoke_assets
    assert changed(trl_with(), trl_with(libraries={library: "99"})) == trl_assets


def with_reward(version: str = "1" * 64, gold: Sequence[GoldCase] = ()) -> Catalog:
    """A catalog whose experiment is on a reward of this version, with these gold cases."""
    name = "reward_v0_correctness"
    return catalog(rewards={name: loaded_reward(name, version, gold)})


def test_other_code_of_a_reward_changes_what_is_scored() -> None:
    """A changed reward asks for statistics, order and training again, but never for rollouts."""
    before, after = requests(with_reward("1" * 64)), requests(with_reward("2" * 64))

    expected = (SCORED | {"reward"}) - {"experiment_spec"}
    assert {ref.asset for ref in before if before[ref] != after[ref]} == expected


def test_a_gold_case_is_a_setting_of_its_reward_alone() -> None:
    """Another case asks for the check again; what follows hangs on the identity of the reward, which is its code."""
    settings = [nodes(with_reward(gold=gold)) for gold in ((), (GoldCase(**gold_case()),))]

    assert {ref for ref in settings[0] if settings[0][ref] != settings[1][ref]} == {
        Ref("reward", "reward_v0_correctness")
    }


def test_the_declaration_of_a_reward_is_no_setting_of_its_experiment() -> None:
    """Gold cases and path stand in the YAML of the experiment, and change nothing there."""
    assert changed(smoke(), smoke(rewards=[declared_reward()])) == set()


@pytest.mark.parametrize("asset", GRAIN)
def test_other_code_of_an_asset_changes_what_is_asked_of_it(asset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A raised version asks for the asset and all that comes after it."""
    before = requests(smoke())
    monkeypatch.setitem(lineage.CODE, asset, 99)

    after = requests(smoke())

    graph = nodes(smoke())
    for ref in graph:
        touched = asset in {node.ref.asset for node in ancestors(graph, [ref])}
        assert (before[ref] != after[ref]) == touched


def test_another_verifier_changes_all_that_has_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A raised version of the verifier asks for pilots, training and evaluations again."""
    before = requests(smoke())
    monkeypatch.setattr(lineage, "VERIFIER", 99)

    after = requests(smoke())

    assert {ref.asset for ref in before if before[ref] != after[ref]} == SAMPLED


def test_reordered_axes_change_no_checkpoint() -> None:
    """Lists in another order ask for the same checkpoints, orders and evaluations."""
    axes = experiment_dict()["matrix"] | {
        "seeds": [1, 2],
        "group_sizes": [2, 4],
        "kl_betas": [0.0, 0.1],
        "rewards": ["reward_v0_correctness", "reward_v1_shaped"],
        "curricula": ["static", "random"],
    }

    after = smoke(matrix={name: values[::-1] for name, values in axes.items()})

    assert changed(smoke(matrix=axes), after) == RECORDED


@pytest.mark.parametrize(
    "axis",
    [
        {"seeds": [2, 1]},
        {"group_sizes": [2, 4]},
        {"kl_betas": [0.1, 0.0]},
        {"rewards": ["reward_v1_shaped", "reward_v0_correctness"]},
        {"curricula": ["random", "static"]},
    ],
    ids=str,
)
def test_another_value_on_an_axis_changes_no_other_variant(axis: dict) -> None:
    """A matrix that grows asks for more, and for what it had in the same way."""
    before, after = requests(smoke()), requests(smoke(matrix=axis))

    kept = {ref: asked for ref, asked in before.items() if ref.asset not in RECORDED}
    assert kept.items() <= after.items()
    assert sum(ref.asset == "checkpoint" for ref in after) == 2


def test_experiments_with_the_same_pilot_share_it() -> None:
    """Two experiments that differ after the pilot have one pilot, one scoring, one order and one baseline."""
    other = experiment_dict(recipe={"learning_rate": 0.25}, selection={"min_informative_prompts": 9})

    graph = nodes(catalog(experiments={"mini": experiment_dict(), "other": other}))

    count = {asset: sum(ref.asset == asset for ref in graph) for asset in GRAIN}
    shared = ("pilot_rollouts", "prompt_statistics", "curriculum", "baseline_evaluation")
    assert {asset: count[asset] for asset in shared} == dict.fromkeys(shared, 1)
    assert (count["checkpoint"], count["experiment_table"]) == (2, 2)


def test_a_second_experiment_changes_nothing_of_the_first() -> None:
    """What is asked of an experiment does not depend on its neighbours."""
    alone = requests(smoke())

    beside = requests(catalog(experiments={"mini": experiment_dict(), "other": trl_experiment_dict()}))

    assert alone.items() <= beside.items()


def test_a_fresh_round_is_another_pilot() -> None:
    """Two experiments with different rounds have two pilots."""
    other = experiment_dict(pilot={"round": 2})

    graph = nodes(catalog(experiments={"mini": experiment_dict(), "other": other}))

    pilots = [ref.key for ref in graph if ref.asset == "pilot_rollouts"]
    assert pilots == ["tabular.few.k8.r1", "tabular.few.k8.r2"]


def test_a_key_with_two_meanings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two experiments would share a key and not the artifact, the key is named."""
    monkeypatch.setattr(lineage, "pilot_key", lambda experiment: "same")
    other = experiment_dict(pilot={"round": 2})

    with pytest.raises(UserMistake, match=r"^pilot_rollouts same: two experiments mean different things by"):
        nodes(catalog(experiments={"mini": experiment_dict(), "other": other}))


def test_ancestors_are_the_targets_and_all_behind_them() -> None:
    """The ancestors of a target come in the order of work, each once, with the target at the end."""
    graph = nodes(smoke())
    target = next(ref for ref in graph if ref.asset == "curriculum")

    behind = [node.ref.asset for node in ancestors(graph, [target, target])]

    assert behind == [
        "tasks", "train_tasks", "base_policy", "reward", "pilot_rollouts", "prompt_statistics", "curriculum",
    ]  # fmt: skip
    assert ancestors(graph, []) == []


def test_a_request_needs_all_its_inputs() -> None:
    """An input without a fingerprint is an error, not left out."""
    graph = nodes(smoke())
    decision = graph[Ref("selected_checkpoint", "mini")]

    with pytest.raises(KeyError, match="experiment_table"):
        request(decision, {})


def test_an_input_with_another_content_changes_the_request() -> None:
    """A request depends on the fingerprint of each input."""
    graph = nodes(smoke())
    node = next(node for node in graph.values() if node.ref.asset == "checkpoint")
    contents = dict.fromkeys(node.inputs, "0" * 64)

    asked = {request(node, contents | {ref: "1" * 64}) for ref in node.inputs}

    assert len(asked | {request(node, contents)}) == 1 + len(node.inputs)


def test_settings_hold_no_path_of_a_task_file() -> None:
    """No path stands in what is asked of a suite, so that a data folder can move."""
    settings = str([dict(node.settings) for node in nodes(full()).values()])

    assert "own.jsonl" not in settings
