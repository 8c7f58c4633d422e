"""An artifact is made once, by one writer, from current inputs, and its failure is recorded."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.runtime.artifacts import Draft, Inputs, make
from grpo_assets.runtime.project import Project, open_project, require_writable
from grpo_assets.runtime.survey import survey

TASKS, TRAIN, DEV = Ref("tasks", "few"), Ref("train_tasks", "few"), Ref("dev_tasks", "few")


def body(text: str = "content", content: str | None = None):
    """A body that writes one file."""

    def write(inputs: Inputs, draft: Draft) -> None:
        (draft.folder / "file.txt").write_text(text)
        draft.content = content

    return write


def never(inputs: Inputs, draft: Draft) -> None:
    raise AssertionError("this body must not be called")


@pytest.fixture
def project(data: Path) -> Project:
    return open_project(data)


def test_a_current_artifact_is_not_made_again(project: Project) -> None:
    """The same request and intact files: the body is not called."""
    made = make(project, TASKS, body())

    again = make(project, TASKS, never)

    assert (made.reused, again.reused) == (False, True)
    assert again.manifest == made.manifest


def test_a_damaged_artifact_is_made_again(project: Project) -> None:
    """A file with other content of the same size is found when the artifact is asked for."""
    made = make(project, TASKS, body("content"))
    Path(made.path, "file.txt").write_text("CONTENT")

    assert survey(project, [TASKS])[TASKS].condition == "fresh"
    assert survey(project, [TASKS], hashes=True)[TASKS].condition == "damaged"
    assert not make(project, TASKS, body("content")).reused


def test_an_artifact_whose_input_is_not_there_is_refused(project: Project) -> None:
    """The message names the input, how it stands and the command that makes it."""
    with pytest.raises(FailedWork, match=r"its input tasks few is missing[^$]*--select tasks --partition 'few'"):
        make(project, TRAIN, never)


def test_an_artifact_whose_input_is_stale_is_refused(project: Project, data: Path) -> None:
    """An input that does not cover the current settings is not read, and the reason is given."""
    make(project, TASKS, body())
    suite = data / "suites" / "few.yaml"
    suite.write_text(suite.read_text().replace("seed: 1", "seed: 2"))

    with pytest.raises(FailedWork, match=r"tasks few is stale: suite\.seed changed from 1 to 2"):
        make(open_project(data), TRAIN, never)


def test_an_input_rebuilt_with_the_same_content_changes_nothing_downstream(project: Project, data: Path) -> None:
    """The identity of a split is its content: what is made from it stays current."""
    make(project, TASKS, body())
    make(project, TRAIN, body(content="same tasks"))
    suite = data / "suites" / "few.yaml"
    suite.write_text(suite.read_text().replace("seed: 1", "seed: 2"))
    changed = open_project(data)

    make(changed, TASKS, body("other"))
    state = survey(changed, [TRAIN])[TRAIN]
    before = changed.store.manifest(TRAIN)
    after = make(changed, TRAIN, body(content="same tasks")).manifest

    assert state.reason == "input tasks few changed"
    assert before is not None
    assert after["fingerprint"] == before["fingerprint"]
    assert after["request"] != before["request"]


def changed_in(project: Project, ref: Ref, **settings: object) -> Project:
    """The project with other settings of one artifact."""
    node = project.graph[ref]
    return replace(project, graph={**project.graph, ref: replace(node, settings={**node.settings, **settings})})


def test_a_body_is_given_what_differs_in_one_setting_alone(project: Project) -> None:
    """The files of the intact artifact that is there, if nothing else changed; else nothing."""
    made = make(project, TASKS, body("old"))
    found: dict[str, Path | None] = {}

    def looks(inputs: Inputs, draft: Draft) -> None:
        found["suite"], found["source"] = draft.same_but_for("suite"), draft.same_but_for("source")
        raise FailedWork

    with pytest.raises(FailedWork):
        make(changed_in(project, TASKS, suite="another"), TASKS, looks)
    assert found == {"suite": Path(made.path), "source": None}

    with pytest.raises(FailedWork):
        make(changed_in(project, TASKS, suite="another", code=99), TASKS, looks)
    assert found == {"suite": None, "source": None}

    Path(made.path, "file.txt").write_text("OLD")
    with pytest.raises(FailedWork):
        make(changed_in(project, TASKS, suite="another"), TASKS, looks)
    assert found == {"suite": None, "source": None}


def test_where_nothing_was_made_or_an_input_changed_nothing_is_given(project: Project) -> None:
    """What stands on other inputs is no start for what is asked now."""
    found = []

    def looks(inputs: Inputs, draft: Draft) -> None:
        found.append(draft.same_but_for("suite"))

    make(project, TASKS, looks)
    make(project, TRAIN, body())
    again = changed_in(project, TASKS, suite="another")
    make(again, TASKS, body("other"))
    make(again, TRAIN, looks)

    assert found == [None, None]


def test_a_body_reads_declared_inputs_only(project: Project) -> None:
    """Held-out tasks cannot be opened by what does not declare them."""
    make(project, TASKS, body())
    make(project, Ref("heldout_tasks", "few"), body())

    def peeks(inputs: Inputs, draft: Draft) -> None:
        inputs.folder("heldout_tasks")

    with pytest.raises(FailedWork, match="heldout_tasks"):
        make(project, TRAIN, peeks)


def test_a_failure_is_recorded_and_the_old_artifact_stays(project: Project, data: Path) -> None:
    """failure.json has the request and the reason; the former files are as they were."""
    made = make(project, TASKS, body("old"))
    suite = data / "suites" / "few.yaml"
    suite.write_text(suite.read_text().replace("seed: 1", "seed: 2"))
    changed = open_project(data)

    def fails(inputs: Inputs, draft: Draft) -> None:
        (draft.folder / "file.txt").write_text("half")
        raise RuntimeError("out of luck")

    with pytest.raises(FailedWork, match="tasks few: RuntimeError: out of luck"):
        make(changed, TASKS, fails)

    state = survey(changed, [TASKS])[TASKS]
    assert (state.condition, state.reason) == ("failed", "RuntimeError: out of luck")
    assert Path(made.path, "file.txt").read_text() == "old"
    assert survey(project, [TASKS])[TASKS].condition == "fresh"


def test_a_failed_artifact_can_be_tried_again(project: Project) -> None:
    """Asking again calls the body again, and success removes the failure."""

    def fails(inputs: Inputs, draft: Draft) -> None:
        raise RuntimeError

    with pytest.raises(FailedWork):
        make(project, TASKS, fails)
    make(project, TASKS, body())

    assert survey(project, [TASKS])[TASKS].condition == "fresh"
    assert project.store.failure(TASKS) is None


def test_facts_that_are_no_number_are_refused(project: Project) -> None:
    """NaN is no JSON, so it cannot pass for a measurement."""

    def not_a_number(inputs: Inputs, draft: Draft) -> None:
        draft.facts = {"pass_rate": float("nan")}

    with pytest.raises(FailedWork, match="JSON"):
        make(project, TASKS, not_a_number)
    assert project.store.manifest(TASKS) is None


def in_process(data: Path, code: str) -> subprocess.Popen:
    """Start Python code that has `project`, `make` and `TASKS`."""
    head = """
        import os, resource, signal, sys, time
        from pathlib import Path
        from grpo_assets.domain.lineage import Ref
        from grpo_assets.runtime.artifacts import make
        from grpo_assets.runtime.project import open_project
        project, TASKS = open_project(Path(sys.argv[1])), Ref("tasks", "few")
    """
    script = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", script, str(data)], text=True, stderr=subprocess.PIPE)


def test_two_processes_make_an_artifact_once(data: Path) -> None:
    """The second writer waits for the first and finds its work."""
    code = """
        def body(inputs, draft):
            with open(project.folder / "calls", "a") as calls:
                calls.write("x")
            time.sleep(1)
            (draft.folder / "file.txt").write_text("content")

        make(project, TASKS, body)
    """
    writers = [in_process(data, code) for _ in range(2)]

    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert (data / "calls").read_text() == "x"


def test_a_killed_writer_leaves_no_lock_and_no_artifact(data: Path) -> None:
    """After SIGKILL in the body the next writer goes ahead at once."""
    killed = in_process(
        data,
        """
        def body(inputs, draft):
            (draft.folder / "file.txt").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

        make(project, TASKS, body)
        """,
    )
    assert killed.wait(60) == -9
    project = open_project(data)

    assert survey(project, [TASKS])[TASKS].condition == "missing"
    assert not make(project, TASKS, body()).reused


def test_a_full_disk_fails_with_a_reason_and_keeps_the_old_artifact(data: Path) -> None:
    """A write that the system refuses for lack of room ends in FailedWork; nothing is half-written."""
    make(open_project(data), TASKS, body("old"))
    suite = data / "suites" / "few.yaml"
    suite.write_text(suite.read_text().replace("seed: 1", "seed: 2"))
    full = in_process(
        data,
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        def body(inputs, draft):
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            (draft.folder / "file.txt").write_bytes(bytes(10_000))

        try:
            make(project, TASKS, body)
        except Exception as error:
            print(type(error).__name__, error, file=sys.stderr)
            sys.exit(7)
        """,
    )

    _, errors = full.communicate(timeout=60)

    assert full.returncode == 7
    assert "FailedWork tasks few: OSError: [Errno 27] File too large" in errors
    manifest = open_project(data).store.manifest(TASKS)
    assert manifest is not None
    assert manifest["settings"]["suite"]["seed"] == 1
    open_project(data).store.check(TASKS, manifest)


def test_a_store_that_cannot_be_written_is_found_before_any_work(project: Project, data: Path) -> None:
    """A file in the place of the store's folder is named, and what to do."""
    (data / "store").write_text("in the way")

    with pytest.raises(UserMistake, match=r"store: cannot be written: [^$]*GRPO_DATA_DIR"):
        require_writable(project)


def test_a_manifest_says_what_was_made_from_what(project: Project) -> None:
    """Inputs, settings, files with hashes and versions stand in it; no path and no time does."""
    make(project, TASKS, body())
    manifest = make(project, DEV, body()).manifest

    assert manifest["inputs"].keys() == {"tasks few"}
    assert manifest["files"]["file.txt"]["bytes"] == len("content")
    assert manifest["versions"].keys() >= {"grpo_assets", "torch", "trl", "transformers", "peft", "numpy"}
    assert str(project.folder) not in json.dumps(manifest)
