"""A wrong spec is refused with file, field, value and what is allowed; a slug names one cell of the matrix."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_assets.domain.experiments import check_experiment, parse, variants
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Experiment, GoldCase, Policy, Recipe, Spec, Suite
from grpo_assets_tests.builders import (
    LAW,
    built_policy_dict,
    catalog,
    declared_reward,
    experiment,
    experiment_dict,
    file_suite_dict,
    gold_case,
    policy_dict,
    suite_dict,
    trl_experiment_dict,
    variant,
)

REWARDS = ("reward_v0_correctness", "reward_v1_shaped")
AXES = st.fixed_dictionaries(
    {
        "seeds": st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=3, unique=True),
        "group_sizes": st.lists(st.integers(2, 64), min_size=1, max_size=3, unique=True),
        "kl_betas": st.lists(st.integers(0, 999).map(lambda x: x / 1000), min_size=1, max_size=3, unique=True),
        "rewards": st.lists(st.sampled_from(REWARDS), min_size=1, unique=True),
        "curricula": st.lists(st.sampled_from(["static", "informative", "random"]), min_size=1, unique=True),
    }
)
ALL_KEYS = (
    "budget, controls, evaluation, heldout, matrix, on_reward_change, pilot, policy, recipe, rewards, "
    "seed_deviation, selection, suite, "
    "trainer"
)
RECIPE_KEYS = ", ".join(sorted(Recipe.model_fields))
POLICY_KEYS = "suite, pretraining, path, revision, package, dtype"
BUILT = "suite, pretraining (may be left out)"
HUB = "dtype, path, revision"
TWO_SEEDS = {"seeds": [1, 2]}
MATRIX_KEYS = "curricula, group_sizes, kl_betas, rewards, seeds"
PATH = "module:function, as my_package.rewards:brevity"
AT_LEAST = "greater than or equal to"
AT_MOST = "less than or equal to"
NOT_EMPTY = "List should have at least 1 item after validation, not 0"
SOURCE_KEYS = (
    "seed, tasks, dataset, config, path, package, licence, fields, verification, heldout_path, official_splits"
)
SOURCES = "'digits', 'reasoning-gym', 'answers', 'code', 'mbpp', 'sanitized-mbpp', 'humaneval' or 'gsm8k'"
DIGITS = f"source digits with seed, tasks of {SOURCE_KEYS}"
OPTIONAL = "fields (may be left out), package (may be left out), verification (may be left out)"
ANSWERS = f"source answers with licence, path, {OPTIONAL} of {SOURCE_KEYS}"
MBPP = "licence, path, official_splits (may be left out), package (may be left out)"
SHARES = "splits: the shares of train, dev and heldout, which add up to 1"
RANK = "a whole number of 1 or more, with trl"
SMOKE_KEYS = "with smoke only learning_rate, rollouts_per_step, steps"
DIVISORS = "8 rollouts a step are no whole number of groups of {}: the group size can be one of 2, 4, 8"


def refusal_of(spec: type[Spec], content: object, where: str) -> str:
    """The message with which a content is refused."""
    with pytest.raises(UserMistake) as refusal:
        parse(spec, content, where)
    return str(refusal.value)


def refusal_of_check(content: dict) -> str:
    """The message with which an experiment is refused that is valid by itself."""
    declared = parse(Experiment, content, "experiments/mini.yaml")
    with pytest.raises(UserMistake) as refusal:
        check_experiment("mini", declared, catalog())
    return str(refusal.value)


def sampling(**parts: object) -> dict:
    """The sampler of a policy; keywords replace parts of it."""
    return {"temperature": 1.0, "max_completion_tokens": 6, **parts}


def without(content: dict, *keys: str) -> dict:
    """A content without a key, or without a key of one of its sections."""
    key, *rest = keys
    if rest:
        return {**content, key: without(content[key], *rest)}
    return {name: part for name, part in content.items() if name != key}


@pytest.mark.parametrize(
    ("part", "field", "value", "allowed"),
    [
        # unknown keys: those of the level are what is allowed
        ({"notes": "x"}, "notes", "'notes'", f"the keys {ALL_KEYS}"),
        ({"recipe": {"stepz": 3}}, "recipe.stepz", "'stepz'", f"the keys {RECIPE_KEYS}"),
        # empty axes
        ({"matrix": {"seeds": []}}, "matrix.seeds", "[]", NOT_EMPTY),
        ({"matrix": {"rewards": []}}, "matrix.rewards", "[]", NOT_EMPTY),
        # values out of range
        ({"matrix": {"group_sizes": [4, 1]}}, "matrix.group_sizes.1", "1", f"{AT_LEAST} 2"),
        ({"matrix": {"kl_betas": [0.0, -0.1]}}, "matrix.kl_betas.1", "-0.1", f"{AT_LEAST} 0"),
        ({"matrix": {"seeds": [-1]}}, "matrix.seeds.0", "-1", f"{AT_LEAST} 0"),
        ({"matrix": {"seeds": [2**32]}}, "matrix.seeds.0", "4294967296", "less than 4294967296"),
        ({"pilot": {"samples_per_prompt": 0}}, "pilot.samples_per_prompt", "0", f"{AT_LEAST} 1"),
        ({"pilot": {"samples_per_prompt": 1025}}, "pilot.samples_per_prompt", "1025", f"{AT_MOST} 1024"),
        ({"pilot": {"round": 0}}, "pilot.round", "0", f"{AT_LEAST} 1"),
        ({"recipe": {"steps": 0}}, "recipe.steps", "0", f"{AT_LEAST} 1"),
        ({"recipe": {"learning_rate": 0}}, "recipe.learning_rate", "0", "greater than 0"),
        ({"recipe": {"rollouts_per_step": 1}}, "recipe.rollouts_per_step", "1", f"{AT_LEAST} 2"),
        ({"evaluation": {"samples_per_task": 0}}, "evaluation.samples_per_task", "0", f"{AT_LEAST} 1"),
        (
            {"selection": {"min_informative_prompts": -1}},
            "selection.min_informative_prompts",
            "-1",
            f"{AT_LEAST} 0",
        ),
        # numbers that are none
        ({"matrix": {"kl_betas": [math.nan]}}, "matrix.kl_betas.0", "nan", "a finite number"),
        ({"matrix": {"kl_betas": [math.inf]}}, "matrix.kl_betas.0", "inf", "a finite number"),
        ({"recipe": {"learning_rate": math.nan}}, "recipe.learning_rate", "nan", "a finite number"),
        (
            {"recipe": {"learning_rate": "fast"}},
            "recipe.learning_rate",
            "'fast'",
            "a valid number, unable to parse string as a number",
        ),
        # whole numbers are asked for: YAML's yes is True, which Python takes for 1
        ({"matrix": {"seeds": [True]}}, "matrix.seeds.0", "True", "a valid integer"),
        ({"matrix": {"group_sizes": [True]}}, "matrix.group_sizes.0", "True", "a valid integer"),
        ({"matrix": {"kl_betas": [True]}}, "matrix.kl_betas.0", "True", "a number"),
        ({"recipe": {"learning_rate": True}}, "recipe.learning_rate", "True", "a number"),
        ({"recipe": {"steps": True}}, "recipe.steps", "True", "a valid integer"),
        ({"recipe": {"steps": 4.0}}, "recipe.steps", "4.0", "a valid integer"),
        ({"recipe": {"steps": "4"}}, "recipe.steps", "'4'", "a valid integer"),
        # words of a fixed list, and names
        ({"trainer": "ppo"}, "trainer", "'ppo'", "'smoke' or 'trl'"),
        ({"selection": {"metric": "dev_reward"}}, "selection.metric", "'dev_reward'", "'dev_pass_rate'"),
        (
            {"selection": {"informative_scope": "all"}},
            "selection.informative_scope",
            "'all'",
            "'training' or 'final_step'",
        ),
        ({"suite": "A B"}, "suite", "'A B'", "String should match pattern '^[a-z0-9_-]{1,64}$'"),
        # declared rewards
        *(
            ({"rewards": [declared_reward(path=path)]}, "rewards.0.path", repr(path), PATH)
            for path in (
                "own_rewards",
                "own_rewards:",
                ":brevity",
                "own-rewards:brevity",
                "own.rewards.brevity",
                "a:b.c",
            )
        ),
        ({"rewards": [declared_reward(gold=[])]}, "rewards.0.gold", "[]", NOT_EMPTY),
        (
            {"rewards": [declared_reward(gold=[gold_case(), gold_case(outcome="no_verdict")])]},
            "rewards.0.gold.1.outcome",
            "'no_verdict'",
            "'pass' or 'fail'",
        ),
        (
            {"rewards": [declared_reward(gold=[gold_case(reward=math.nan)])]},
            "rewards.0.gold.0.reward",
            "nan",
            "a finite number",
        ),
        # one value where a list is asked for, and nothing where a section is
        ({"matrix": {"seeds": 1}}, "matrix.seeds", "1", "a valid list"),
        ({"recipe": None}, "recipe", "None", "a valid dictionary or instance of Recipe"),
    ],
)
def test_wrong_values_are_refused(part: dict, field: str, value: str, allowed: str) -> None:
    """The message holds the file, the field, the value and what is allowed."""
    message = refusal_of(Experiment, experiment_dict(**part), "experiments/mini.yaml")

    assert message == f"experiments/mini.yaml: {field}: {value} is not allowed\n  allowed: {allowed}"


@pytest.mark.parametrize(
    ("keys", "field", "level"),
    [
        (("suite",), "suite", ALL_KEYS),
        (("matrix",), "matrix", ALL_KEYS),
        (("recipe", "steps"), "recipe.steps", RECIPE_KEYS),
        (("matrix", "seeds"), "matrix.seeds", MATRIX_KEYS),
    ],
)
def test_missing_keys_are_refused(keys: tuple[str, ...], field: str, level: str) -> None:
    """The message holds the file, the field and the keys of its level."""
    message = refusal_of(Experiment, without(experiment_dict(), *keys), "experiments/mini.yaml")

    assert message == f"experiments/mini.yaml: {field}: is missing\n  the keys of this level: {level}"


@pytest.mark.parametrize(
    ("reward", "field", "level"),
    [
        (without(declared_reward(), "gold"), "rewards.0.gold", "gold, name, path"),
        (
            declared_reward(gold=[without(gold_case(), "reward")]),
            "rewards.0.gold.0.reward",
            ", ".join(sorted(GoldCase.model_fields)),
        ),
    ],
)
def test_missing_keys_of_a_reward_are_refused(reward: dict, field: str, level: str) -> None:
    """The keys of a level are told within lists too."""
    message = refusal_of(Experiment, experiment_dict(rewards=[reward]), "experiments/mini.yaml")

    assert message == f"experiments/mini.yaml: {field}: is missing\n  the keys of this level: {level}"


@pytest.mark.parametrize(
    "counts", [{"checks": 2, "checks_passed": 3}, {"checks": 2, "constant_checks": 3}, {"shown": 0, "shown_passed": 1}]
)
def test_a_gold_case_passes_no_more_checks_than_there_are(counts: dict) -> None:
    """No verifier could observe it."""
    message = refusal_of(Experiment, experiment_dict(rewards=[declared_reward(gold=[gold_case(**counts)])]), "a.yaml")

    assert message.startswith("a.yaml: rewards.0.gold.0: ")
    assert message.endswith(
        "allowed: checks_passed and constant_checks of at most checks, shown_passed of at most shown"
    )


def test_all_wrong_fields_are_named_at_once() -> None:
    """A file with two mistakes is not corrected in two rounds."""
    content = experiment_dict(trainer="ppo", matrix={"seeds": []})

    message = refusal_of(Experiment, content, "experiments/mini.yaml")

    assert message.count("experiments/mini.yaml: ") == 2
    assert "experiments/mini.yaml: trainer: 'ppo' is not allowed" in message
    assert "experiments/mini.yaml: matrix.seeds: [] is not allowed" in message


@pytest.mark.parametrize("content", [None, [], "suite: few", 3])
def test_files_without_a_mapping_are_refused(content: object) -> None:
    """An empty file, a list or a text is told which keys to have."""
    message = refusal_of(Experiment, content, "experiments/mini.yaml")

    allowed = f"a mapping with the keys {ALL_KEYS}"
    assert message == f"experiments/mini.yaml: the file: {content!r} is not allowed\n  allowed: {allowed}"


@pytest.mark.parametrize(
    "stem",
    [
        "Mini",
        "mini run",
        "mini.v2",  # a dot parts the keys of partitions
        "mini/../x.y",
        "größe",
        "a" * 65,
        "mini\n",
    ],
)
def test_bad_file_names_are_refused(stem: str) -> None:
    """A name that cannot be part of a key is refused before the content is read."""
    message = refusal_of(Experiment, None, f"experiments/{stem}.yaml")

    assert message == (
        f"experiments/{stem}.yaml: file name: {stem.rpartition('/')[2]!r} is not allowed\n"
        "  allowed: 1 to 64 of the characters a-z 0-9 _ -"
    )


@pytest.mark.parametrize("stem", ["mini", "a" * 64, "0-9_x"])
def test_good_file_names_are_accepted(stem: str) -> None:
    """Small letters, digits, underscores and hyphens make a name."""
    assert parse(Experiment, experiment_dict(), f"experiments/{stem}.yaml") == experiment()


@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        (suite_dict(path="x.jsonl"), "the file", ..., DIGITS),
        (suite_dict(official_splits=True), "the file", ..., DIGITS),
        (without(suite_dict(), "seed"), "the file", ..., DIGITS),
        (without(file_suite_dict(), "licence"), "the file", ..., ANSWERS),
        (file_suite_dict(heldout_path="x"), "the file", ..., ANSWERS),
        (file_suite_dict(source="mbpp"), "the file", ..., f"source mbpp with {MBPP} of {SOURCE_KEYS}"),
        (suite_dict(splits={"train": 0.5, "dev": 0.5}), "the file", ..., SHARES),
        (suite_dict(splits={"train": 0.5, "dev": 0.3, "heldout": 0.3}), "the file", ..., SHARES),
        (
            suite_dict(splits={"train": 0.5, "dev": 0.3, "test": 0.2}),
            "splits.test.[key]",
            "test",
            "'train', 'dev' or 'heldout'",
        ),
        (suite_dict(splits={"train": 1, "dev": 0.3, "heldout": 0.2}), "splits.train", 1, "less than 1"),
        (suite_dict(splits={"train": 0.8, "dev": 0, "heldout": 0.2}), "splits.dev", 0, "greater than 0"),
        (
            suite_dict(splits={"train": math.nan, "dev": 0.3, "heldout": 0.2}),
            "splits.train",
            math.nan,
            "a finite number",
        ),
        (suite_dict(source="letters"), "source", "letters", SOURCES),
        (file_suite_dict(verification="code"), "verification", "code", "'exact', 'integer' or 'math'"),
        (suite_dict(tasks=0), "tasks", 0, f"{AT_LEAST} 1"),
        (suite_dict(seed=True), "seed", True, "a valid integer"),
        (
            file_suite_dict(fields={"promt": "q"}),
            "fields.promt",
            "promt",
            "the keys answer, candidates, family, prompt, task_id",
        ),
    ],
)
def test_wrong_suites_are_refused(content: dict, field: str, value: object, allowed: str) -> None:
    """A suite has one origin, complete, and three shares that make a whole."""
    message = refusal_of(Suite, content, "suites/few.yaml")

    shown = content if value is ... else value
    assert message == f"suites/few.yaml: {field}: {shown!r} is not allowed\n  allowed: {allowed}"


@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        (without(built_policy_dict(), "suite"), "the file", ..., f"kind built with {BUILT} of {POLICY_KEYS}"),
        (policy_dict(suite="few"), "the file", ..., f"kind tabular with none of {POLICY_KEYS}"),
        (policy_dict(pretraining={}), "the file", ..., f"kind tabular with none of {POLICY_KEYS}"),
        (policy_dict(kind="folder", path="x"), "the file", ..., f"kind folder with dtype, path of {POLICY_KEYS}"),
        (
            policy_dict(kind="hub", path="a/b", dtype="float32"),
            "the file",
            ...,
            f"kind hub with {HUB} of {POLICY_KEYS}",
        ),
        (policy_dict(kind="llama"), "kind", "llama", "'tabular', 'built', 'folder', 'hub' or 'gguf'"),
        (
            policy_dict(kind="hub", path="a/b", dtype="float32", revision="main"),  # a branch moves
            "revision",
            "main",
            "String should match pattern '^[0-9a-f]{40}$'",
        ),
        (
            built_policy_dict(pretraining={"step": 1}),
            "pretraining.step",
            "step",
            "the keys batch_size, learning_rate, seed, steps",
        ),
        (policy_dict(sampling=sampling(temperature=0)), "sampling.temperature", 0, "greater than 0"),
        (policy_dict(sampling=sampling(top_p=1.5)), "sampling.top_p", 1.5, f"{AT_MOST} 1"),
        (policy_dict(sampling=sampling(top_k=-1)), "sampling.top_k", -1, f"{AT_LEAST} 0"),
        (
            policy_dict(sampling=sampling(max_completion_tokens=True)),
            "sampling.max_completion_tokens",
            True,
            "a valid integer",
        ),
    ],
)
def test_wrong_policies_are_refused(content: dict, field: str, value: object, allowed: str) -> None:
    """A policy has the parts of its kind, and a sampler within its range."""
    message = refusal_of(Policy, content, "policies/quick.yaml")

    shown = content if value is ... else value
    assert message == f"policies/quick.yaml: {field}: {shown!r} is not allowed\n  allowed: {allowed}"


def test_a_sampler_keeps_all_tokens_unless_told() -> None:
    """No default of a library cuts the distribution: top-p is 1 and top-k is 0."""
    policy = parse(Policy, policy_dict(), "policies/quick.yaml")

    assert (policy.sampling.top_p, policy.sampling.top_k) == (1.0, 0)


@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        (experiment_dict(suite="digitz"), "suite", "'digitz'", "one of few, own"),
        (experiment_dict(policy="llama"), "policy", "'llama'", "one of built, tabular"),
        (
            experiment_dict(matrix={"rewards": ["reward_v9"]}),
            "matrix.rewards",
            "'reward_v9'",
            "one of reward_random, reward_v0_correctness, reward_v1_shaped",
        ),
        (
            experiment_dict(matrix={"curricula": ["static", "easy"]}),
            "matrix.curricula",
            "'easy'",
            "one of informative, random, static",
        ),
        # an axis value that stands twice
        (experiment_dict(matrix={"seeds": [1, 2, 1]}), "matrix.seeds", "1", "each value once"),
        (experiment_dict(matrix={"group_sizes": [4, 4]}), "matrix.group_sizes", "4", "each value once"),
        (experiment_dict(matrix={"kl_betas": [0, 0.0]}), "matrix.kl_betas", "0.0", "each value once"),
        (experiment_dict(matrix={"kl_betas": [0.0, -0.0]}), "matrix.kl_betas", "0.0", "each value once"),
        (
            experiment_dict(matrix={"curricula": ["static", "static"]}),
            "matrix.curricula",
            "'static'",
            "each value once",
        ),
        # two variants of one slug
        (
            experiment_dict(matrix={"kl_betas": [0.02, 0.02000000001]}),
            "matrix",
            "{'kl_betas': [0.02, 0.02000000001]}",
            "numbers that differ in six digits",
        ),
        # trainers that do not fit the policy
        (experiment_dict(trainer="trl"), "trainer", "'trl'", "smoke, for a policy of kind tabular"),
        (experiment_dict(policy="built"), "trainer", "'smoke'", "trl, for a policy of kind built"),
        (experiment_dict(recipe={"lora_rank": 8}), "recipe.lora_rank", "8", SMOKE_KEYS),
        (experiment_dict(matrix={"loss_type": ["grpo"]}), "recipe.loss_type", "['grpo']", SMOKE_KEYS),
        (
            trl_experiment_dict(recipe={"lora_rank": None}),
            "recipe.lora_rank",
            "None",
            RANK,
        ),
        # recipe keys as axes
        (
            trl_experiment_dict(matrix={"loss_typ": ["grpo"]}),
            "matrix.loss_typ",
            "'loss_typ'",
            f"the axes {MATRIX_KEYS} and the keys of the recipe {RECIPE_KEYS}",
        ),
        (trl_experiment_dict(matrix={"epsilon": []}), "matrix.epsilon", "[]", "a list with at least one value"),
        (trl_experiment_dict(matrix={"epsilon": 0.2}), "matrix.epsilon", "0.2", "a list with at least one value"),
        (trl_experiment_dict(matrix={"epsilon": [0.2, 2]}), "matrix.epsilon", "2", "less than 1"),
        (trl_experiment_dict(matrix={"epsilon": [0.1, 0.1]}), "matrix.epsilon", "0.1", "each value once"),
        (
            trl_experiment_dict(matrix={"lora_rank": [4, None]}),
            "recipe.lora_rank",
            "None",
            RANK,
        ),
        # contrasts that are none
        (
            experiment_dict(heldout={"contrasts": [{"seed": 1}]}),
            "heldout.contrasts",
            "'seed'",
            "one of the axes curriculum, group_size, kl_beta, reward",
        ),
        (
            experiment_dict(heldout={"contrasts": [{"curriculum": "random"}]}),
            "heldout.contrasts.curriculum",
            "'random'",
            "one of static, as in the matrix",
        ),
        (
            experiment_dict(heldout={"contrasts": [{"kl_beta": 0.0}, {"kl_beta": 0.0}]}),
            "heldout.contrasts",
            "{'kl_beta': 0.0}",
            "each contrast once",
        ),
        # one seed
        (
            experiment_dict(),
            "matrix.seeds",
            "[1]",
            "two seeds or more: with one nothing tells a configuration from the luck of its run",
        ),
        # groups that do not fill a step
        (experiment_dict(matrix={"group_sizes": [4, 3]}), "matrix.group_sizes", "3", DIVISORS.format(3)),
        (experiment_dict(matrix={"group_sizes": [16]}), "matrix.group_sizes", "16", DIVISORS.format(16)),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(content: dict, field: str, value: str, allowed: str) -> None:
    """The message holds the file, the field, the value and what is allowed."""
    message = refusal_of_check(content)

    assert message == f"experiments/mini.yaml: {field}: {value} is not allowed\n  allowed: {allowed}"


@pytest.mark.parametrize(
    "content",
    [
        experiment_dict(matrix=TWO_SEEDS),
        experiment_dict(suite="own", matrix=TWO_SEEDS),
        trl_experiment_dict(matrix=TWO_SEEDS),
        experiment_dict(matrix={**TWO_SEEDS, "curricula": ["static"]}, heldout={"contrasts": [{"kl_beta": 0.0}]}),
        experiment_dict(matrix={"seeds": [0, 2**32 - 1], "group_sizes": [2, 4, 8], "kl_betas": [0.02, 0.020001]}),
    ],
)
def test_experiments_that_fit_are_accepted(content: dict) -> None:
    """An experiment whose parts fit together passes without a word."""
    check_experiment("mini", parse(Experiment, content, "experiments/mini.yaml"), catalog())


def test_specs_do_not_change() -> None:
    """A spec is the same from load to manifest."""
    with pytest.raises(ValueError, match="frozen"):
        experiment().suite = "other"


def test_slug_has_the_form_of_the_spec() -> None:
    """The slug of the example of the spec is that of the spec."""
    cell = variant(seed=20260601, group_size=4, kl_beta=0.02)

    assert cell.slug == "reward_v0_correctness_static_seed-20260601_g-4_kl-0.02_static"


@pytest.mark.parametrize(
    ("kl_beta", "shown"),
    [(0.0, "kl-0"), (1, "kl-1"), (0.1, "kl-0.1"), (1e-5, "kl-1e-05"), (1 / 3, "kl-0.333333")],
)
def test_slug_shows_kl_betas_in_six_digits(kl_beta: float, shown: str) -> None:
    """Numbers are short and the same on every machine."""
    assert variant(kl_beta=kl_beta).slug == f"reward_v0_correctness_static_seed-1_g-4_{shown}_static"


@LAW
@given(axes=AXES)
def test_variants_are_the_cross_product(axes: dict[str, list[Any]]) -> None:
    """Each cell stands once, under its own slug."""
    cells = variants(experiment(matrix=axes))

    assert len(cells) == math.prod(map(len, axes.values()))
    assert all(slug == cell.slug for slug, cell in cells.items())
    assert len(set(cells.values())) == len(cells)


@LAW
@given(axes=AXES)
def test_order_of_the_axes_changes_no_slug(axes: dict[str, list[Any]]) -> None:
    """Lists in another order declare the same variants."""
    turned = {name: values[::-1] for name, values in axes.items()}

    assert dict(sorted(variants(experiment(matrix=turned)).items())) == dict(
        sorted(variants(experiment(matrix=axes)).items())
    )


@LAW
@given(axes=AXES, seed=st.integers(0, 2**32 - 1))
def test_adding_a_value_changes_no_other_slug(axes: dict[str, list[Any]], seed: int) -> None:
    """A matrix that grows keeps the variants that it had."""
    before = variants(experiment(matrix=axes))

    after = variants(experiment(matrix={**axes, "seeds": [seed, *axes["seeds"]]}))

    assert before.items() <= after.items()


def test_variants_come_in_the_order_of_the_axes() -> None:
    """Reward and curriculum turn slowest, the KL weight fastest."""
    declared = experiment(matrix={"seeds": [2, 1], "kl_betas": [0.1, 0.0], "curricula": ["static", "informative"]})

    cells = [(cell.curriculum, cell.seed, cell.kl_beta) for cell in variants(declared).values()]

    assert cells == [
        ("static", 2, 0.1),
        ("static", 2, 0.0),
        ("static", 1, 0.1),
        ("static", 1, 0.0),
        ("informative", 2, 0.1),
        ("informative", 2, 0.0),
        ("informative", 1, 0.1),
        ("informative", 1, 0.0),
    ]


def test_a_recipe_key_as_an_axis_crosses_the_others() -> None:
    """Each variant has its own recipe, and a suffix only where it differs from the experiment's."""
    declared = Experiment.model_validate(
        trl_experiment_dict(matrix={"learning_rate": [0.5, 0.25], "loss_type": ["dapo", "grpo"]})
    )

    cells = variants(declared)

    stem = "reward_v0_correctness_static_seed-1_g-4_kl-0_static"
    assert list(cells) == [
        stem,
        f"{stem}_loss_type-grpo",
        f"{stem}_learning_rate-0.25",
        f"{stem}_learning_rate-0.25_loss_type-grpo",
    ]
    assert [cell.recipe.learning_rate for cell in cells.values()] == [0.5, 0.5, 0.25, 0.25]
    assert cells[stem].axes(declared)["loss_type"] == "dapo"


def test_an_axis_that_is_added_renames_no_variant() -> None:
    """A variant with the recipe's own value keeps its slug and its recipe."""
    before = variants(experiment())

    after = variants(experiment(matrix={"steps": [4, 8]}))

    assert before.items() <= after.items()


def test_steps_as_an_axis_change_the_visits() -> None:
    """A longer variant visits more prompts."""
    cells = variants(experiment(matrix={"steps": [4, 8]}))

    assert [cell.visits for cell in cells.values()] == [8, 16]
