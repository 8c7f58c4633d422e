"""The process that trains: started by `training_process`, it reports through Dagster Pipes and loads no Dagster."""

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from dagster_pipes import PipesContext, open_dagster_pipes

from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.runtime.rewards import expect_version, import_also_from
from grpo_assets.runtime.training import TRAINING, Report, train

INTERRUPTED = 130


def main() -> None:
    """Do the job that the parent wrote down, and write down its outcome."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    end_with(os.getppid())
    with open_dagster_pipes() as pipes:
        job = json.loads(Path(pipes.get_extra("job")).read_text(encoding="utf-8"))
        training = TRAINING.validate_python(job["training"])
        base, folder, state = (Path(job[name]) for name in ("base", "folder", "state"))
        report = _reporter(pipes, pipes.get_extra("every"))
        try:
            import_also_from(Path(job["data_folder"]))
            expect_version(training.reward_path, training.variant.reward, job["reward_version"])
            outcome: dict[str, Any] = {"facts": train(job["trainer"], training, base, folder, state, report)}
        except KeyboardInterrupt:
            pipes.log.info("stopped; the state is saved")
            sys.exit(INTERRUPTED)
        except (FailedWork, UserMistake) as failure:
            outcome = {"failed": str(failure)}
        (state / "outcome.json").write_text(json.dumps(outcome, allow_nan=False), encoding="utf-8")


def end_with(parent: int) -> None:
    """End this process when its parent is gone, even one that was killed; what it had saved stays."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _reporter(pipes: PipesContext, every: int) -> Report:
    """Tells the parent of each step, and sends the numbers of every few."""

    def report(line: dict) -> None:
        if "warning" in line:
            pipes.log.warning(line["warning"])
            return
        kl = "not measured" if line["kl"] is None else f"{line['kl']:.4f}"
        pipes.log.info(
            f"step {line['step']}: mean reward {line['reward_mean']:.3f}, "
            f"{line['informative_groups']} of {line['groups']} groups informative, kl {kl}, {line['seconds']:.2f} s"
        )
        if line["step"] % every == 0:
            pipes.report_custom_message(line)

    return report


if __name__ == "__main__":
    main()
