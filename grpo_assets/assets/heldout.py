"""The held-out evaluation: after the decision, once, on the record."""

import dagster as dg

from grpo_assets.assets.resources import HEALTH_CHECK, REOPEN, artifact, now, verified
from grpo_assets.domain.experiments import contrast_name, runs_of, variants
from grpo_assets.domain.heldout import UNTRAINED, Contrast, final_results, outcomes_of
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.domain.schemas import ROLLOUTS
from grpo_assets.runtime.artifacts import Check, Draft, Inputs
from grpo_assets.runtime.heldout_page import heldout_markdown
from grpo_assets.runtime.ledger import entries, open_heldout, opening_line, openings
from grpo_assets.runtime.policies import load_policy
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.reports import read_json, write_json
from grpo_assets.runtime.rollouts import evaluate
from grpo_assets.runtime.store import write_table
from grpo_assets.runtime.voting import majority

Arms = dict[str, tuple[list[str], list[str]]]
"""For each contrast the slugs of its two arms, in the order of the seeds."""


@artifact(
    group="heldout",
    reads=["selected_checkpoint", "heldout_tasks", "base_policy", "checkpoint"],
    kinds={"python", "parquet"},
    gpu=True,
    checks=HEALTH_CHECK,
)
def heldout_evaluation(context: dg.AssetExecutionContext, project: Project, inputs: Inputs, draft: Draft) -> None:
    """One row a held-out rollout of the selected checkpoint, the untrained policy and the contrasts, and the tests."""
    name = context.partition_key
    decision = read_json(inputs.folder("selected_checkpoint") / "selected_checkpoint.json")
    if decision["selected"] is None:
        raise FailedWork(f"{decision['outcome']}: {decision['reason']}; the held-out tasks stay closed")
    arms, void = _arms(project, name, decision["selected"], inputs)
    policies = sorted({decision["selected"], *(slug for arm in arms.values() for runs in arm for slug in runs)})
    entry = {
        "experiment": name,
        "request": draft.request,
        "selection": inputs.manifest("selected_checkpoint")["request"],
        "why": f"final evaluation of {decision['selected']}",
        "policies": [UNTRAINED, *policies],
        "contrasts": list(arms),
    }
    suite, reason = inputs.key("heldout_tasks"), context.run.tags.get(REOPEN)
    tasks, entry = open_heldout(project.store, suite, inputs.manifest("heldout_tasks"), entry, reason, now)
    rollouts = {policy: _evaluate(project, name, policy, tasks, inputs, draft) for policy in entry["policies"]}
    outcomes = {policy: outcomes_of(rows) for policy, rows in rollouts.items()}
    results = final_results(
        outcomes[UNTRAINED],
        outcomes[decision["selected"]],
        {contrast: Contrast(*([outcomes[slug] for slug in runs] for runs in arm)) for contrast, arm in arms.items()},
        [task["cluster"] for task in tasks],
        majority(rollouts[UNTRAINED], tasks),
    )
    content = {
        "experiment": name,
        "selected": decision["selected"],
        "samples_per_task": _samples(project, name),
        "ledger": [opening_line(e) for e in openings(entries(project.store, suite))],
        **results,
        "void_contrasts": void,
    }
    write_json(draft.folder / "heldout.json", content)
    (draft.folder / "heldout.md").write_text(heldout_markdown(content), encoding="utf-8")
    first = results["contrasts"][UNTRAINED]
    told = {name: first[name] for name in ("ours", "theirs", "difference", "interval", "p_holm")}
    draft.facts = {"rows": sum(map(len, rollouts.values())), "ledger_entry": entry["hash"], **told}
    draft.pages = {"held-out": "heldout.md"}


def _samples(project: Project, name: str) -> int:
    return project.graph[Ref("heldout_evaluation", name)].settings["samples_per_task"]


def _evaluate(project: Project, name: str, policy: str, tasks: list[dict], inputs: Inputs, draft: Draft) -> list[dict]:
    """The rollouts of one policy, written down; its trouble with verdicts, if any, joins that of the others."""
    spec, base = project.catalog.policies[inputs.key("base_policy")], inputs.folder("base_policy")
    trained = None if policy == UNTRAINED else inputs.folder("checkpoint", f"{name}/{policy}")
    loaded = load_policy(spec, base, inputs.fingerprint("base_policy"), trained)
    before = draft.checks.get("verifier_health")
    rows, health = verified(evaluate(loaded, tasks, _samples(project, name)), tasks, draft)
    of_all = {**(before.facts if before else {}), policy: health}
    draft.checks["verifier_health"] = Check(not any(found["troubles"] for found in of_all.values()), of_all)
    write_table(draft.folder / "heldout" / f"{policy}.parquet", rows, ROLLOUTS)
    return rows


def _arms(project: Project, name: str, selected: str, inputs: Inputs) -> tuple[Arms, list[str]]:
    """The runs of the selected configuration and of its counterpart in each declared contrast, all of them there.

    Beside them the contrasts that are void: the selected configuration is the control itself.
    """
    experiment = project.catalog.experiments[name]
    cell = variants(experiment)[selected]
    arms, void = {}, []
    for contrast in experiment.heldout.contrasts:
        counterpart = runs_of(cell, experiment, contrast)
        own = runs_of(cell, experiment, {})
        if counterpart == own:
            void.append(contrast_name(contrast))
            continue
        arms[contrast_name(contrast)] = (own, counterpart)
        for slug in (*own, *counterpart):
            state = inputs.all("checkpoint")[f"{name}/{slug}"]
            if state.manifest is None:
                raise FailedWork(f"{slug} is {state.condition} ({state.reason}), and the contrast needs all its seeds")
            declared = state.manifest.get("declared", {}).get("contrasts", [])
            if contrast not in declared:
                raise UserMistake(
                    f"experiments/{name}.yaml: heldout.contrasts: {contrast} was not declared before the training of "
                    f"{slug}\n"
                    f"  allowed: what was declared then, {declared or 'nothing'}"
                )
    return arms, void
