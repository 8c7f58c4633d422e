"""How long stored pilot rollouts take to be scored anew: read, score, statistics, written.

`python benchmarks/rescoring.py [--rollouts 1000000] [--group 8] [--reward reward_v1_shaped]`: seconds of each part and
the most memory that the process held. The rollouts are programs of a few hundred characters, made beforehand.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import click
import pyarrow as pa
import pyarrow.parquet as pq

from grpo_assets.domain.fingerprints import fingerprint
from grpo_assets.domain.rewards import REWARDS
from grpo_assets.domain.rollouts import prompt_statistics
from grpo_assets.domain.schemas import ROLLOUTS, STATISTICS
from grpo_assets.runtime.rollouts import rescored
from grpo_assets.runtime.store import write_table


def rollouts(count: int, group: int) -> Iterator[dict]:
    """Rows that differ in prompt, completion and verdict."""
    rest = dict.fromkeys(("step", "messages", "rewards", "kl_to_base", "wall_seconds", "cpu_seconds"))
    for number in range(count):
        task, index = divmod(number, group)
        passed = (task * (index + 1)) % 9
        yield {
            **rest,
            "task_id": f"task-{task}",
            "task_key": fingerprint(task),
            "rollout_index": index,
            "decoding": "sampled",
            "prompt": f"Write a function that adds {task} to its argument. " + "It is called with whole numbers. " * 8,
            "answer": "",
            "completion": f"def add(n):\n    return n + {number}\n" + "# adds a number to its argument\n" * 10,
            "prompt_tokens": 90,
            "token_count": 100 + number % 50,
            "truncated": number % 17 == 0,
            "finish_reason": "end_token",
            "outcome": "pass" if passed == 8 else "fail",
            "reason": "tests",
            "checks_passed": passed,
            "checks": 8,
            "constant_checks": 2,
            "shown_passed": 0,
            "shown": 0,
        }


def write_rollouts(file: Path, count: int, group: int) -> None:
    """A table of rollouts, written in parts."""
    with pq.ParquetWriter(file, ROLLOUTS) as writer:
        part: list[dict] = []
        for row in rollouts(count, group):
            part.append(row)
            if len(part) == 50_000:
                writer.write_table(pa.Table.from_pylist(part, schema=ROLLOUTS))
                part.clear()
        writer.write_table(pa.Table.from_pylist(part, schema=ROLLOUTS))


@click.command()
@click.option("--rollouts", "count", default=1_000_000, show_default=True)
@click.option("--group", default=8, show_default=True)
@click.option("--reward", default="reward_v1_shaped", show_default=True, type=click.Choice(list(REWARDS)))
@click.option("--file", type=click.Path(path_type=Path), help="Score this table; for the process that is measured.")
def main(count: int, group: int, reward: str, file: Path | None) -> None:
    """Measure and print."""
    if file is None:
        with TemporaryDirectory() as folder:
            made = Path(folder) / "pilot_rollouts.parquet"
            write_rollouts(made, count, group)
            click.echo(f"{count:,} rollouts, {made.stat().st_size / 2**20:.0f} MB")
            subprocess.run([sys.executable, __file__, "--file", str(made), "--reward", reward], check=True)
        return
    started = perf_counter()
    rows, rewards = rescored(file, REWARDS[reward])
    scored = perf_counter()
    statistics = prompt_statistics(rows, rewards)
    counted = perf_counter()
    write_table(file.parent / "prompt_statistics.parquet", statistics, STATISTICS)
    ended = perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    click.echo(
        f"read and scored {scored - started:.1f} s, {len(statistics):,} prompts counted in {counted - scored:.1f} s, "
        f"written {ended - counted:.1f} s\ntogether {ended - started:.1f} s, at most {peak:.2f} GB"
    )


if __name__ == "__main__":
    main()
