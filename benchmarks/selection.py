"""How long the table and the decision of a matrix take: 10,000 variants on 1,000 dev tasks, from their artifacts.

`python benchmarks/selection.py [--variants N] [--tasks N]` writes the artifacts of a finished experiment into a
temporary folder (trained by nobody, evaluated with drawn outcomes), lets Dagster make the table and the decision,
and prints the time of both and the peak of memory.
"""

import json
import os
import resource
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import click
import numpy as np
import yaml

SEEDS = 10


@click.command()
@click.option("--variants", default=10_000, show_default=True)
@click.option("--tasks", default=1_000, show_default=True)
def main(variants: int, tasks: int) -> None:
    """Build, make, and say how long it took."""
    with TemporaryDirectory(prefix="selection_benchmark_") as name:
        folder = Path(name)
        write_specs(folder, variants, tasks)
        os.environ["GRPO_DATA_DIR"] = name
        os.environ["DAGSTER_HOME"] = str(folder / "dagster_home")
        write_artifacts(tasks)
        measure()


def write_specs(folder: Path, variants: int, tasks: int) -> None:
    """One experiment of the smoke trainer on a suite with that many dev tasks."""
    specs = {
        "suites/large.yaml": {"source": "digits", "seed": 1, "tasks": 5 * tasks},
        "policies/tabular.yaml": {"kind": "tabular", "sampling": {"temperature": 1.0, "max_completion_tokens": 6}},
        "experiments/large.yaml": {
            "suite": "large",
            "policy": "tabular",
            "trainer": "smoke",
            "pilot": {"samples_per_prompt": 1},
            "recipe": {"steps": 4, "rollouts_per_step": 8, "learning_rate": 0.5},
            "matrix": {
                "seeds": list(range(SEEDS)),
                "group_sizes": [4],
                "kl_betas": [index / 1000 for index in range(variants // SEEDS)],
                "rewards": ["reward_v0_correctness"],
                "curricula": ["static"],
            },
            "evaluation": {"samples_per_task": 4},
            "selection": {"metric": "dev_pass_rate", "min_informative_prompts": 1},
        },
    }
    for name, content in specs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(yaml.safe_dump(content), encoding="utf-8")


def write_artifacts(tasks: int) -> None:
    """The artifacts that the table and the decision read, with drawn outcomes, as if they had been made."""
    from grpo_assets.domain.evaluation import measure as measured
    from grpo_assets.domain.lineage import request
    from grpo_assets.domain.schemas import TASK_RATES, TASKS
    from grpo_assets.runtime.project import open_project
    from grpo_assets.runtime.store import write_table
    from grpo_assets_tests.builders import evaluation_rows, task_row

    project = open_project()
    rng = np.random.default_rng(1)
    names = [f"task-{number}" for number in range(tasks)]
    keys = [task_row(name)["task_key"] for name in names]
    chances = rng.beta(2, 2, size=tasks)
    sample = measured([row for name in names[:50] for row in evaluation_rows(name, "pppf")])
    health = {"verifier_health": {"troubles": []}}
    trained = {
        "steps": 4,
        "groups": 8,
        "informative_groups": 6,
        "ageing": {"parts": [{"groups": 8, "predicted": 0.7, "realised": 0.75}], "aged": False},
        "last_reward_mean": 0.5,
        "informative_prompts_training": 6,
        "informative_prompts_final_step": 2,
        "training_prompts": 3 * tasks,
        "warnings": [],
    }
    fingerprints: dict = {}
    scratch = project.folder / "draft"
    for ref, node in project.graph.items():
        asked = request(node, {source: fingerprints[source] for source in node.inputs})
        fingerprints[ref] = asked
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        facts: dict = {}
        if ref.asset in ("experiment_table", "selected_checkpoint", "heldout_evaluation", "heldout_tasks"):
            continue
        if ref.asset == "dev_tasks":
            write_table(scratch / "dev_tasks.parquet", [task_row(name, split="dev") for name in names], TASKS)
            facts = {"isolation": {"disjoint_from_train_and_heldout": ["task_key"]}}
        elif ref.asset in ("baseline_evaluation", "dev_evaluation"):
            rates = rng.binomial(4, chances) / 4
            rows = [{"task_key": k, "sampled": r, "greedy": float(r > 0.5)} for k, r in zip(keys, rates, strict=True)]
            write_table(scratch / "pass_rates.parquet", rows, TASK_RATES)
            facts = {**sample, **health, "pass_rate": float(rates.mean()), "kl_to_base": 0.1, "rows": 5 * tasks}
            facts["isolation"] = {"disjoint_from_train_and_heldout": ["task_key"]}
        elif ref.asset == "checkpoint":
            (scratch / "policy.json").write_text(json.dumps(ref.key))
            facts = trained
        elif ref.asset == "experiment_plan":
            slugs = [ref.key.split("/")[1] for ref in project.graph if ref.asset == "checkpoint"]
            plan = [{"variant": slug, "flops": None, "trained_tokens": 1} for slug in slugs]
            (scratch / "plan.json").write_text(json.dumps({"variants": plan}))
        manifest = {
            "request": asked,
            "fingerprint": asked,
            "inputs": {str(source): fingerprints[source] for source in node.inputs},
            "settings": node.settings,
            "declared": dict(node.declared),
            "facts": facts,
            "pages": {},
            "checks": {},
        }
        project.store.commit(ref, scratch, manifest)


def measure() -> None:
    """Let Dagster make the table and the decision."""
    import dagster as dg

    from grpo_assets.definitions import defs
    from grpo_assets.instance import open_instance
    from grpo_assets.runtime.project import open_project

    folder = open_project().folder
    with open_instance(folder) as instance:
        started = perf_counter()
        result = defs.resolve_implicit_global_asset_job_def().execute_in_process(
            partition_key="large",
            asset_selection=[dg.AssetKey("experiment_table"), dg.AssetKey("selected_checkpoint")],
            instance=instance,
        )
        seconds = perf_counter() - started
    steps = {e.step_key: e.step_success_data.duration_ms / 1000 for e in result.all_events if e.is_step_success}
    decision = json.loads((folder / "store/experiments/large/selected_checkpoint.json").read_text(encoding="utf-8"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    click.echo(f"{len(decision['configurations'])} configurations of {SEEDS} seeds, outcome: {decision['outcome']}")
    click.echo(f"table and decision: {seconds:.1f} s {steps}, peak of memory {peak:.2f} GiB")


if __name__ == "__main__":
    main()
