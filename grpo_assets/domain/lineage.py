"""What is made from what: every artifact that the specs call for, its inputs and its settings.

This is the one place that knows the graph.
Dagster's partitions and mappings, the order of work, staleness and the guards on inputs are all read from it.
Keys are built here and never parsed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from grpo_assets.domain.code_identity import code_fingerprint
from grpo_assets.domain.curriculum import CURRICULA, SEEDED
from grpo_assets.domain.experiments import Variant, curricula_of, variants
from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.domain.specs import Catalog, Experiment, Policy, Suite

GRAIN = {
    "tasks": "suite",
    "train_tasks": "suite",
    "dev_tasks": "suite",
    "heldout_tasks": "suite",
    "base_policy": "policy",
    "reward": "reward",
    "pilot_rollouts": "pilot",
    "prompt_statistics": "scoring",
    "curriculum": "curriculum",
    "experiment_spec": "experiment",
    "experiment_plan": "experiment",
    "baseline_evaluation": "baseline",
    "checkpoint": "variant",
    "dev_evaluation": "variant",
    "experiment_table": "experiment",
    "selected_checkpoint": "experiment",
    "heldout_evaluation": "experiment",
}
"""What a partition of each asset stands for; the assets in the order in which data flows."""

CODE = {
    **dict.fromkeys(GRAIN, 3),
    **dict.fromkeys(("baseline_evaluation", "dev_evaluation", "selected_checkpoint", "experiment_plan"), 4),
    "experiment_table": 5,
}
"""Version of the code behind each asset: raised when the same inputs would give another result."""

VERIFIER = 2
"""Version of the verifier: raised when a completion would get another verdict."""


PLANNING = {"controls", "budget", "seed_deviation"}
"""What an experiment says for its plan; the variants that follow from it have settings of their own."""


class Ref(NamedTuple):
    """One partition of one asset."""

    asset: str
    key: str

    def __str__(self) -> str:
        return f"{self.asset} {self.key}"


@dataclass(frozen=True)
class Node:
    """How one artifact is made.

    Attributes:
        inputs: the artifacts that it reads.
        settings: everything else that can change it, as JSON.
        may_miss: inputs without which it can be made; it then says what it lacks.
        declared: what its manifest keeps of the specs as they are when it is made, though it does not depend on it.
    """

    ref: Ref
    inputs: tuple[Ref, ...]
    settings: Mapping[str, Any]
    may_miss: frozenset[Ref] = frozenset()
    declared: Mapping[str, Any] = field(default_factory=dict)


def request(node: Node, input_fingerprints: Mapping[Ref, str]) -> str:
    """What is asked of a node: the sha256 over its settings and the fingerprints of its inputs."""
    inputs = {str(ref): input_fingerprints[ref] for ref in node.inputs}
    return fingerprint({"asset": node.ref.asset, "settings": node.settings, "inputs": inputs})


def by_content(ref: Ref, content: str) -> str:
    """The fingerprint of an artifact whose identity is what is in it, not what was asked for."""
    return fingerprint([ref.asset, content])


def nodes(catalog: Catalog) -> dict[Ref, Node]:
    """All artifacts of a catalog, each after its inputs."""
    found: dict[Ref, Node] = {}

    def add(
        asset: str,
        key: str,
        inputs: Iterable[Ref] = (),
        settings: Mapping[str, Any] | None = None,
        may_miss: Iterable[Ref] = (),
        declared: Mapping[str, Any] = MappingProxyType({}),
    ) -> Ref:
        ref = Ref(asset, key)
        node = Node(ref, tuple(inputs), {"code": CODE[asset], **(settings or {})}, frozenset(may_miss), declared)
        if found.setdefault(ref, node) != node:
            raise UserMistake(f"{ref}: two experiments mean different things by this key")
        return ref

    for name, suite in catalog.suites.items():
        tasks = add(
            "tasks",
            name,
            settings={
                "suite": suite.model_dump(exclude={"path", "heldout_path", "package"}, exclude_none=True),
                "source": catalog.suite_sources.get(name),
                "libraries": _libraries_of_tasks(catalog, suite),
            },
        )
        for split in ("train_tasks", "dev_tasks", "heldout_tasks"):
            add(split, name, [tasks])
    for name in catalog.policies:
        add("base_policy", name, settings=_origin(name, catalog))
    for name, reward in catalog.rewards.items():
        gold = [case.model_dump(exclude_defaults=True) for case in reward.gold]
        add("reward", name, settings={"reward": reward.version, "gold": fingerprint(gold)})
    for name, experiment in catalog.experiments.items():
        _add_experiment(add, name, experiment, catalog)
    order = list(GRAIN)
    graph = dict(sorted(found.items(), key=lambda item: order.index(item[0].asset)))
    _refuse_leaks(graph)
    return graph


def _refuse_leaks(graph: Mapping[Ref, Node]) -> None:
    """Held-out tasks lead to no decision: a graph in which they do is not there to be run.

    Raises:
        ValueError: naming the decision.
    """
    decisions = [ref for ref in graph if ref.asset == "selected_checkpoint"]
    for node in ancestors(graph, decisions):
        if node.ref.asset.startswith("heldout_"):
            raise ValueError(f"{node.ref} leads to a selected checkpoint; nothing held out may")


def assets_above(graph: Mapping[Ref, Node], target: Ref) -> list[str]:
    """The assets that an artifact is made from, directly or not, itself left out; in the order of the flow."""
    return list(dict.fromkeys(node.ref.asset for node in ancestors(graph, [target]) if node.ref != target))


def _origin(name: str, catalog: Catalog) -> dict[str, Any]:
    """What a base policy is built from; how it is sampled does not change its weights, nor does where it lies."""
    policy = catalog.policies[name]
    location = {"path", "package"} if policy.kind in ("folder", "gguf") else set()
    suite = {"splits": catalog.suites[policy.suite].splits} if policy.suite else {}
    return {
        "policy": policy.model_dump(exclude={"sampling", *location}, exclude_none=True),
        "source": catalog.policy_sources.get(name),
        "libraries": _libraries(catalog, policy, ["torch", "transformers"]),
        **suite,
    }


def _libraries(catalog: Catalog, policy: Policy, of_language_models: list[str]) -> dict[str, str]:
    names = ["numpy"] if policy.kind == "tabular" else of_language_models
    return {name: catalog.libraries[name] for name in names}


def _libraries_of_tasks(catalog: Catalog, suite: Suite) -> dict[str, str]:
    """What decides how a task reads or how a completion of it is verified, beside our own code."""
    wanted = []
    if suite.is_code:
        wanted = ["python"]  # candidates run in it
    elif suite.source == "reasoning-gym":
        wanted = ["reasoning-gym"]
    elif suite.verification == "math":
        wanted = ["math-verify"]
    return {name: catalog.libraries[name] for name in wanted if name in catalog.libraries}


def _add_experiment(add: Any, name: str, experiment: Experiment, catalog: Catalog) -> None:
    policy = catalog.policies[experiment.policy]
    base = Ref("base_policy", experiment.policy)
    train, dev = Ref("train_tasks", experiment.suite), Ref("dev_tasks", experiment.suite)
    sampler = {
        "sampling": policy.sampling.model_dump(),
        "verifier": {"version": VERIFIER, **_libraries_of_tasks(catalog, catalog.suites[experiment.suite])},
        "libraries": _libraries(catalog, policy, ["numpy", "torch", "transformers"]),
    }

    samples = experiment.evaluation.samples_per_task
    pilot = add("pilot_rollouts", pilot_key(experiment), [base, train], {**sampler, **experiment.pilot.model_dump()})
    scorings = {
        reward: add("prompt_statistics", scoring_key(experiment, reward), [pilot, Ref("reward", reward)])
        for reward in experiment.matrix.rewards
    }
    settings = experiment.model_dump(exclude={*PLANNING, "heldout", "rewards", "on_reward_change"})
    spec = add("experiment_spec", name, settings={"experiment": settings, "curricula": curricula_of(experiment)})
    planning = {"planning": experiment.model_dump(include=PLANNING)}
    plan = add("experiment_plan", name, [spec, base, train, *scorings.values()], planning)
    evaluation = {**sampler, "samples_per_task": samples}
    baseline_key = f"{experiment.policy}.{experiment.suite}.k{samples}"
    baseline = add("baseline_evaluation", baseline_key, [base, dev], evaluation)

    orders = {mode: code_fingerprint(mode, CURRICULA[mode]) for mode in curricula_of(experiment)}
    declared = {"contrasts": experiment.heldout.contrasts}
    trained, evaluated = [], []
    for slug, variant in variants(experiment).items():
        seed = {"seed": variant.seed} if variant.curriculum in SEEDED else {}
        curriculum = add(
            "curriculum",
            curriculum_key(experiment, variant),
            [scorings[variant.reward], train],
            {"mode": variant.curriculum, "group_size": variant.group_size, "order": orders[variant.curriculum], **seed},
        )
        training = {
            **sampler,
            "libraries": _libraries(catalog, policy, ["numpy", "torch", "transformers", "trl", "peft"]),
            "trainer": experiment.trainer,
            "recipe": variant.recipe.model_dump(exclude_defaults=True),
            "variant": variant.model_dump(exclude={"recipe", "own"}),
        }
        key = f"{name}/{slug}"
        inputs = [curriculum, train, Ref("reward", variant.reward), base]
        trained.append(add("checkpoint", key, inputs, training, declared=declared))
        evaluated.append(add("dev_evaluation", key, [trained[-1], base, dev], evaluation))
    statistics = {"libraries": {name: catalog.libraries[name] for name in ("numpy", "scipy", "statsmodels")}}
    results = [*trained, *evaluated]
    # without a version of each reward there is no table: the one that is there stands on the versions in force
    rewards = [Ref("reward", reward) for reward in experiment.matrix.rewards]
    table = add("experiment_table", name, [spec, dev, baseline, *rewards, *results], statistics, may_miss=results)
    selection = {"selection": experiment.selection.model_dump(), **statistics}
    selected = add("selected_checkpoint", name, [table, plan], selection)
    heldout = Ref("heldout_tasks", experiment.suite)
    final = {
        **evaluation,
        "samples_per_task": experiment.heldout.samples_per_task or samples,
        "contrasts": experiment.heldout.contrasts,
        "statistics": statistics,
    }
    add("heldout_evaluation", name, [selected, heldout, base, *trained], final, may_miss=trained)


def pilot_key(experiment: Experiment) -> str:
    """The pilot that an experiment reads; experiments with the same one share it."""
    pilot = experiment.pilot
    return f"{experiment.policy}.{experiment.suite}.k{pilot.samples_per_prompt}.r{pilot.round}"


def scoring_key(experiment: Experiment, reward: str) -> str:
    """The pilot of an experiment under one reward."""
    return f"{pilot_key(experiment)}.{reward}"


def curriculum_key(experiment: Experiment, variant: Variant) -> str:
    """The order in which a variant visits the prompts; variants that differ in nothing else share it."""
    seed = f".s{variant.seed}" if variant.curriculum in SEEDED else ""
    return f"{scoring_key(experiment, variant.reward)}.{variant.curriculum}.g{variant.group_size}{seed}"


def ancestors(graph: Mapping[Ref, Node], targets: Iterable[Ref]) -> list[Node]:
    """The targets and all that they are made from, each after its inputs."""
    needed: set[Ref] = set()
    pending = list(targets)
    while pending:
        ref = pending.pop()
        if ref not in needed:
            needed.add(ref)
            pending.extend(graph[ref].inputs)
    return [node for ref, node in graph.items() if ref in needed]
