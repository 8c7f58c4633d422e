"""The command line: one command to a decision, plain words for mistakes, nothing lost when it is killed."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml


def grpo_assets(*arguments: str, data: Path | None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, on a data folder of the test's."""
    return subprocess.run(
        [sys.executable, "-m", "grpo_assets.cli", *arguments],
        env=environment(data),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
    )


def environment(data: Path | None) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name not in ("DAGSTER_HOME", "GRPO_DATA_DIR")}
    return {**ours, "GRPO_DATA_DIR": str(data)} if data else ours


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def written(data: Path) -> set[str]:
    """All files of a data folder below store/ and dagster_home/."""
    return {
        str(file.relative_to(data))
        for kind in ("store", "dagster_home")
        for file in (data / kind).rglob("*")
        if file.is_file() and not file.name.endswith(".lock")
    }


def test_run_prints_the_table_and_the_decision(data: Path) -> None:
    """The output has a line a variant, the table with intervals, the gain and the selected variant."""
    done = grpo_assets("run", "mini", data=data)

    decision = json.loads((data / "store/experiments/mini/selected_checkpoint.json").read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("dev pass rate 0.") == 16
    assert f"{decision['outcome']}: nothing\n  {decision['reason']}" in done.stdout
    assert "Effect of group_size 4 against 2 on the dev pass rate" in done.stdout
    assert "gain over the untrained policy" in done.stdout
    assert "s each beside their steps" in done.stdout
    assert (data / "dagster_home" / "storage").is_dir()


def test_two_runs_from_scratch_give_the_same_table(data: Path, tmp_path: Path) -> None:
    """The shipped smoke experiment gives byte-identical tables and decisions in two places."""
    other = tmp_path / "elsewhere"
    subprocess.run(["cp", "-r", str(data), str(other)], check=True)

    for folder in (data, other):
        assert grpo_assets("run", "smoke", data=folder).returncode == 0

    for name in ("experiment_table.md", "summary.json", "selected_checkpoint.json", "plan.md"):
        file = Path("store/experiments/smoke") / name
        assert (data / file).read_bytes() == (other / file).read_bytes()

    table = json.loads((data / "store/experiments/smoke/summary.json").read_text())["variants"]
    decision = json.loads((data / "store/experiments/smoke/selected_checkpoint.json").read_text())
    highest = max(table, key=lambda row: row["last_reward_mean"])
    assert len(table) == 24
    assert highest["informative_prompts_final_step"] == 0
    assert decision["configuration"] != highest["configuration"]
    reason = decision["passed_over"][highest["configuration"]]
    assert "0 distinct informative prompts (scope final_step)" in reason


def test_plan_pilots_and_says_what_each_variant_can_learn(data: Path) -> None:
    """The page has verdicts, arms, controls and power; nothing is trained, and a run shows planned against actual."""
    edit(data / "experiments" / "mini.yaml", "- reward_v1_shaped", "- reward_random")

    planned = grpo_assets("plan", "mini", "--probe", data=data)

    assert planned.returncode == 0, planned.stderr
    assert "(measured)" in planned.stdout
    assert "16 variants, 12 of them controls" in planned.stdout
    assert "What it can see" in planned.stdout
    assert "Planned against actual" not in planned.stdout
    assert not (data / "store/experiments/mini/variants").exists()

    assert grpo_assets("run", "mini", data=data).returncode == 0
    again = grpo_assets("plan", "mini", data=data)
    assert "Planned against actual" in again.stdout


def test_a_run_over_its_budget_is_refused_before_it_trains(data: Path) -> None:
    """The message has the order in which to cut; the pilot is kept, and --over-budget runs all the same."""
    with (data / "experiments" / "mini.yaml").open("a") as file:
        file.write("budget: {rollouts: 300}\n")

    refused = grpo_assets("run", "mini", data=data)

    assert refused.returncode == 2
    assert "budget: nothing was trained" in refused.stderr
    assert "rollouts: 636 are planned, 300 are allowed" in refused.stderr
    assert "1. drop 4 from group_sizes: 8 variants" in refused.stderr
    assert not (data / "store/experiments/mini/variants").exists()
    assert grpo_assets("run", "mini", "--over-budget", data=data).returncode == 0


def test_doctor_says_what_holds_programs_here(data: Path) -> None:
    """The kernel's features, each tier tried for real, and the speed of the best one."""
    said = grpo_assets("doctor", data=data)

    assert said.returncode == 0, said.stderr
    for what in ("kernel", "bubblewrap", "Landlock", "seccomp filter", "tier bwrap", "tier landlock", "active tier"):
        assert what in said.stdout
    assert "programs a second with" in said.stdout


def test_dry_run_says_what_and_why_and_makes_nothing(data: Path) -> None:
    """Each partition that would be made stands there with its reason."""
    done = grpo_assets("run", "mini", "--dry-run", data=data)

    assert done.returncode == 0
    assert "mini: 58 of 58 partitions to make" in done.stdout
    assert "missing  tasks few: not made yet" in done.stdout
    assert not written(data)


def test_status_says_what_is_stale_and_why(data: Path) -> None:
    """After an edit, what it touches is stale with the setting's name, and the rest is current."""
    grpo_assets("run", "mini", data=data)
    assert "mini: 0 of 58 partitions not current" in grpo_assets("status", "mini", data=data).stdout
    edit(data / "experiments" / "mini.yaml", "learning_rate: 0.5", "learning_rate: 0.25")

    done = grpo_assets("status", "mini", data=data)

    lines = [line.split()[1] for line in done.stdout.splitlines()[1:]]
    assert lines.count("checkpoint") == 16
    assert {"tasks", "pilot_rollouts", "prompt_statistics", "curriculum"}.isdisjoint(lines)
    assert "recipe.learning_rate changed from 0.5 to 0.25" in done.stdout


def test_an_edit_of_heldout_tasks_changes_nothing_before_the_decision(data: Path, tmp_path: Path) -> None:
    """Held-out answers turned to garbage: the splits are read again, and all that follows is as it was.

    The same from scratch elsewhere: every artifact up to the decision has the same bytes.
    """
    spec = {
        "source": "answers",
        "path": "mine.jsonl",
        "licence": "CC0-1.0",
        "fields": {"task_id": "id", "candidates": "wrong"},
    }
    tasks = [{"id": str(i), "prompt": f"{i}+1=", "answer": str(i + 1), "wrong": [str(i)]} for i in range(60)]
    (data / "suites" / "mine.yaml").write_text(yaml.safe_dump(spec))
    (data / "mine.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    edit(data / "experiments" / "mini.yaml", "suite: few", "suite: mine")
    edit(data / "experiments" / "mini.yaml", "steps: 4", "steps: 16")
    other = tmp_path / "elsewhere"
    subprocess.run(["cp", "-r", str(data), str(other)], check=True)
    first = grpo_assets("run", "mini", data=data)
    assert first.returncode == 0, first.stderr
    before = {name: (data / name).read_bytes() for name in written(data) if "store/experiments" in name}
    heldout = {task["id"] for task in tasks if split_of_prompt(task["prompt"]) == "heldout"}
    poisoned = [{**task, "answer": "garbage"} if task["id"] in heldout else task for task in tasks]
    (data / "mine.jsonl").write_text("\n".join(map(json.dumps, poisoned)))

    done = grpo_assets("run", "mini", data=data)

    assert heldout
    assert "Dagster runs: 1," in done.stdout
    assert "tasks mine, train_tasks mine, dev_tasks mine" in done.stdout
    assert {name: (data / name).read_bytes() for name in before} == before

    (other / "mine.jsonl").write_text("\n".join(map(json.dumps, poisoned)))
    assert grpo_assets("run", "mini", data=other).returncode == 0
    behind = [file for file in artifacts_of(data) if file.parts[1] not in ("tasks", "heldout_tasks")]
    assert Path("store/experiments/mini/selected_checkpoint.json") in behind
    assert len(behind) > 100
    assert artifacts_of(other) >= set(behind)
    assert [file for file in behind if (data / file).read_bytes() != (other / file).read_bytes()] == []


def artifacts_of(data: Path) -> set[Path]:
    """The files of all artifacts; manifests, which name what was read, and measured seconds are left out."""
    files = {Path(name) for name in written(data) if name.startswith("store/") and "/.scratch/" not in name}
    return {
        file
        for file in files
        if "manifest" not in str(file) and file.name != "metrics.jsonl" and file.parts[1] != "ledgers"
    }


def split_of_prompt(prompt: str) -> str:
    from grpo_assets.domain.specs import Suite
    from grpo_assets.domain.tasks import cluster_of, split_of

    return split_of(cluster_of(prompt), Suite(source="digits", seed=0, tasks=1).splits)


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("experiments/mini.yaml", "trainer: smoke", "trainer: [smoke", ["experiments/mini.yaml: line"]),
        (
            "experiments/mini.yaml",
            "trainer: smoke",
            "trainr: smoke",
            ["trainr", "the keys budget, controls, evaluation"],
        ),
        ("experiments/mini.yaml", "  - 2\n", "  - 1\n", ["matrix.group_sizes.0: 1", "greater than or equal to 2"]),
        ("experiments/mini.yaml", "  - 2\n", "  - 4\n", ["matrix.group_sizes: 4", "each value once"]),
        ("experiments/mini.yaml", "  - 2\n", "  - 3\n", ["matrix.group_sizes: 3", "one of 2, 4, 8"]),
        ("suites/few.yaml", "tasks: 60", "tasks: 6000", ["tasks: 6000", "1 to 3000"]),
    ],
    ids=["malformed YAML", "unknown key", "G of 1", "duplicate value", "indivisible batch", "too many tasks"],
)
def test_a_mistake_ends_with_2_and_one_message(data: Path, file: str, old: str, new: str, words: list[str]) -> None:
    """The message names file, field, value and what is allowed; no traceback, nothing written."""
    edit(data / file, old, new)

    done = grpo_assets("run", "mini", data=data)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not written(data)


def test_a_suite_row_without_an_answer_ends_with_2(data: Path) -> None:
    """The message names the file and the line, and no Dagster run was started."""
    spec = {"source": "answers", "path": "mine.jsonl", "licence": "CC0-1.0", "fields": {}}
    (data / "suites" / "mine.yaml").write_text(yaml.safe_dump(spec))
    (data / "mine.jsonl").write_text('{"prompt": "a", "answer": "b"}\n{"prompt": "c"}\n')
    edit(data / "experiments" / "mini.yaml", "suite: few", "suite: mine")

    done = grpo_assets("run", "mini", data=data)

    assert done.returncode == 2
    assert "error: mine.jsonl: line 2: answer: is missing; the row has ['prompt']" in done.stderr
    assert not written(data)


@pytest.mark.parametrize("command", [["run"], ["run", "--dry-run"], ["status"]])
def test_an_unknown_experiment_ends_with_2(data: Path, command: list[str]) -> None:
    """The message has the experiments that there are."""
    done = grpo_assets(*command, "tyni", data=data)

    assert done.returncode == 2
    assert "EXPERIMENT: 'tyni' is not allowed" in done.stderr
    assert "one of half-broken, learns, long-trl, mini, mini-trl, smoke, smollm2, tiny" in done.stderr


def test_no_data_folder_ends_with_2(tmp_path: Path) -> None:
    """Without ./data and GRPO_DATA_DIR the message says what to do."""
    done = grpo_assets("run", "tiny", data=None, cwd=tmp_path)

    assert done.returncode == 2
    assert "set GRPO_DATA_DIR" in done.stderr


def test_an_unwritable_data_folder_ends_with_2(data: Path) -> None:
    """A store that cannot be written is found before any work."""
    (data / "store").write_text("in the way")

    done = grpo_assets("run", "mini", data=data)

    assert done.returncode == 2
    assert "store: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failed_variant_ends_with_1(data: Path) -> None:
    """The others are trained, the table has the reason, the exit code is that of failed work."""
    done = grpo_assets("run", "half-broken", data=data)

    assert done.returncode == 1
    assert "training has diverged" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count("dev pass rate 0.") == 2
    assert "failed: step" in done.stdout


def test_a_suite_without_dev_tasks_ends_with_2(data: Path) -> None:
    """Too few tasks for two in the dev split are found before any work."""
    edit(data / "suites" / "few.yaml", "tasks: 60", "tasks: 2")

    done = grpo_assets("run", "mini", data=data)

    assert done.returncode == 2
    assert "suites/few.yaml: " in done.stderr
    assert "allowed: at least" in done.stderr
    assert not list((data / "store").rglob("*.parquet"))


def test_a_full_disk_under_the_instance_ends_with_1_and_its_reason(data: Path) -> None:
    """Where Dagster itself cannot write, its own reason is shown and the run stops."""
    assert grpo_assets("run", "mini", data=data).returncode == 0
    edit(data / "experiments" / "mini.yaml", "learning_rate: 0.5", "learning_rate: 0.25")
    limit = f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); {RUN_MINI}"

    done = subprocess.run(
        [sys.executable, "-c", limit], env=environment(data), capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 1
    assert "\nfailed: " in "\n" + done.stderr
    assert "disk I/O error" in done.stderr or "disk is full" in done.stderr or "File too large" in done.stderr
    assert "Traceback" not in done.stderr


RUN_MINI = (
    "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    "sys.argv = ['grpo-assets', 'run', 'mini']; from grpo_assets.cli import main; main()"
)


def test_a_broken_instance_file_ends_with_2(data: Path) -> None:
    """A dagster.yaml that Dagster does not take is the user's mistake."""
    (data / "dagster_home").mkdir()
    (data / "dagster_home" / "dagster.yaml").write_text("no_such_key: 1")

    done = grpo_assets("run", "mini", data=data)

    assert done.returncode == 2
    assert "dagster.yaml: " in done.stderr
    assert "Traceback" not in done.stderr


def test_when_nothing_is_eligible_nothing_is_selected(data: Path) -> None:
    """A threshold that no variant reaches: the decision says so, for each variant."""
    edit(data / "experiments" / "mini.yaml", "min_informative_prompts: 1", "min_informative_prompts: 1000")

    done = grpo_assets("run", "mini", data=data)

    decision = json.loads((data / "store/experiments/mini/selected_checkpoint.json").read_text())
    assert done.returncode == 0
    assert "nothing eligible: nothing" in done.stdout
    assert decision["selected"] is None
    assert len(decision["passed_over"]) == 8


def start(data: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "grpo_assets.cli", *arguments]
    return subprocess.Popen(command, env=environment(data), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def start_pretraining(data: Path) -> subprocess.Popen[str]:
    """Start `tiny` and come back in the middle of its first GPU step, which takes half a minute."""
    process = start(data, "run", "tiny")
    for _ in range(600):
        if (data / "store/dev_tasks/digits/manifest.json").exists() and any((data / "store/.scratch/drafts").iterdir()):
            time.sleep(3)
            return process
        time.sleep(0.1)
    raise AssertionError("the run did not come to its first GPU step")


def test_a_killed_run_holds_no_slot_and_loses_nothing(data: Path) -> None:
    """After SIGKILL in a GPU step its pool slot is freed by the next run, and what was finished is current."""
    killed = start_pretraining(data)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()

    done = grpo_assets("run", "mini", data=data)

    assert done.returncode == 0, done.stderr
    assert "freed the pool slot of run" in done.stdout
    states = grpo_assets("status", "tiny", data=data).stdout
    assert "missing  base_policy tiny-digits: not made yet" in states
    assert "tasks digits" not in states


def test_a_run_beside_a_live_one_keeps_its_hands_off_the_slot(data: Path) -> None:
    """The slot of a run whose process works is not freed; the second run waits its turn."""
    live = start_pretraining(data)
    second = start(data, "run", "mini")
    time.sleep(6)

    waits = second.poll() is None
    live.send_signal(signal.SIGINT)
    live.communicate(timeout=60)
    output, _ = second.communicate(timeout=120)

    assert waits
    assert "freed the pool slot" not in output
    assert second.returncode == 0


def test_an_interrupted_run_stops_with_130(data: Path) -> None:
    """Ctrl-C ends the run at once, says that nothing is lost, and records no failure."""
    stopped = start_pretraining(data)

    stopped.send_signal(signal.SIGINT)
    output, _ = stopped.communicate(timeout=60)

    assert stopped.returncode == 130
    assert "interrupted: what is finished is kept" in output
    assert not list((data / "store").rglob("failure.json"))


def test_dagster_itself_refuses_a_checkpoint_without_its_inputs(data: Path) -> None:
    """`dagster asset materialize` fails with the missing input and the command that makes it."""
    done = materialize(data, "checkpoint", "mini/reward_v0_correctness_random_seed-1_g-2_kl-0_random")

    assert done.returncode == 1
    assert "its input curriculum tabular.few.k4.r1.reward_v0_correctness.random.g2.s1 is missing" in done.stderr
    assert "--select curriculum --partition" in done.stderr


def test_dagster_itself_materializes_a_partition(data: Path) -> None:
    """The same asset made from Dagster's command line is the one that the project's own finds current."""
    assert materialize(data, "reward", "reward_v0_correctness").returncode == 0

    done = grpo_assets("run", "mini", "--dry-run", data=data)

    assert "mini: 57 of 58 partitions to make" in done.stdout


def materialize(data: Path, asset: str, partition: str) -> subprocess.CompletedProcess[str]:
    home = data / "dagster_home"
    home.mkdir(exist_ok=True)
    command = ["-m", "dagster", "asset", "materialize", "-m", "grpo_assets.definitions"]
    return subprocess.run(
        [sys.executable, *command, "--select", asset, "--partition", partition],
        env={**environment(data), "DAGSTER_HOME": str(home)},
        cwd=data,  # away from the project's .env, which Dagster would follow
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_ui_shows_the_lineage_of_the_same_instance(data: Path) -> None:
    """`grpo-assets ui` serves the code location with all assets, and the partitions that a run made."""
    assert grpo_assets("run", "mini", data=data).returncode == 0
    port = 3000 + os.getpid() % 20_000
    server = subprocess.Popen(
        [sys.executable, "-m", "grpo_assets.cli", "ui", "--port", str(port)],
        env=environment(data),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        query = """{ assetNodes { assetKey { path } groupName dependencyKeys { path }
                     repository { location { name } }
                     partitionStats { numMaterialized numPartitions } } }"""
        nodes = graphql(port, query)["assetNodes"]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)

    by_name = {node["assetKey"]["path"][0]: node for node in nodes}
    assert len(by_name) == 17
    assert by_name["checkpoint"]["repository"]["location"]["name"] == "grpo_assets"
    assert by_name["checkpoint"]["partitionStats"]["numMaterialized"] == 16
    assert {"path": ["experiment_table"]} in by_name["selected_checkpoint"]["dependencyKeys"]


def asked(port: int, query: str) -> Any:
    """What the web server says; None while it does not."""
    url, body = f"http://127.0.0.1:{port}/graphql", json.dumps({"query": query}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)["data"]
    except OSError:
        return None


def graphql(port: int, query: str) -> dict:
    """Ask the web server; it needs a while to load the code location."""
    for _ in range(90):
        data = asked(port, query)
        if data and data["assetNodes"]:
            return data
        time.sleep(1)
    raise AssertionError("the web server did not answer")


@pytest.mark.slow
def test_a_quarter_of_tiny_learns_and_is_not_made_twice(data: Path) -> None:
    """4 variants of real GRPO: the mean gain is at least .20, sampled and greedy, and a second run makes nothing."""
    edit(data / "experiments" / "tiny.yaml", "curricula: [static, informative]", "curricula: [static]")
    edit(data / "experiments" / "tiny.yaml", "kl_betas: [0.0, 0.02]", "kl_betas: [0.02]")
    done = grpo_assets("run", "tiny", data=data)
    assert done.returncode == 0, done.stderr
    summary = json.loads((data / "store/experiments/tiny/summary.json").read_text())

    again = grpo_assets("run", "tiny", data=data)

    assert [row["status"] for row in summary["variants"]] == ["complete"] * 4
    assert summary["comparison"]["sampled"]["gain"] >= 0.20
    assert summary["comparison"]["greedy"]["gain"] >= 0.20
    assert "everything is current; nothing was made" in again.stdout
