"""How many programs a second the sealed verifier judges, beside the usual design: a process and a manager a sample.

`python benchmarks/verifier_throughput.py [--programs 2000] [--rounds 3]`: both designs in turn, medians and their
ratio. `--endurance 100000` judges so many programs with one verifier and says what has grown.
"""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter

import click
import psutil

from grpo_assets.runtime.verifier.pool import Verifier
from grpo_assets.runtime.verifier.verifying import open_verifier

TESTS = ["assert add(1, 2) == 3", "assert add(0, 0) == 0", "assert add(-1, 1) == 0", "assert add(5, 5) == 10"]
TESTS += ["assert add(2.5, 0.5) == 3.0"]
JUDGES = len(os.sched_getaffinity(0))


def programs(count: int) -> list[str]:
    """Right programs that differ, so that nothing can be remembered."""
    return [f"def add(a, b):\n    return a + b\n# {number}\n" for number in range(count)]


def sealed(verifier: Verifier, sources: list[str]) -> float:
    """Programs a second of the sealed verifier."""
    tests = {"entry_points": ["add"], "setup": "", "tests": TESTS, "seconds": 3.0}
    started = perf_counter()
    seen = verifier.observe([{"kind": "code", "program": source, **tests} for source in sources])
    assert all(observation["outcome"] == "pass" for observation in seen)
    return len(sources) / (perf_counter() - started)


def manager_and_process(sources: list[str]) -> float:
    """Programs a second of the design of Hugging Face's `code_eval`: a manager and a process a sample, in threads."""
    started = perf_counter()
    with ThreadPoolExecutor(JUDGES) as threads:
        assert all(threads.map(_one_process, sources))
    return len(sources) / (perf_counter() - started)


def _one_process(source: str) -> bool:
    with multiprocessing.Manager() as manager:
        result = manager.list()
        process = multiprocessing.Process(target=_run, args=(source, result))
        process.start()
        process.join(timeout=4)
        if process.is_alive():
            process.kill()
        return list(result) == ["passed"]


def _run(source: str, result: list) -> None:
    exec(source + "\n".join(TESTS), {})
    result.append("passed")


def footprint(verifier: Verifier) -> str:
    """What this process, its judges and their sandboxes hold."""
    every = [psutil.Process(), *psutil.Process().children(recursive=True)]
    memory = sum(process.memory_info().rss for process in every) / 2**20
    descriptors = sum(process.num_fds() for process in every)
    return f"{len(every)} processes, {descriptors} descriptors, {memory:.0f} MB"


@click.command()
@click.option("--programs", "count", default=2000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--endurance", type=int)
def main(count: int, rounds: int, endurance: int | None) -> None:
    """Measure and print."""
    with open_verifier(JUDGES, accept_unsafe=False) as verifier:
        sealed(verifier, programs(200))
        if endurance:
            before, started = footprint(verifier), perf_counter()
            for start in range(0, endurance, 1000):
                sealed(verifier, [f"# {start}\n{source}" for source in programs(min(1000, endurance - start))])
            seconds = perf_counter() - started
            click.echo(f"before: {before}\nafter {endurance:,} verdicts in {seconds:.0f} s: {footprint(verifier)}")
            return
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(sealed(verifier, programs(count)))
            theirs.append(manager_and_process(programs(count // 10)))
        click.echo(f"sealed, tier {verifier.tier}, {JUDGES} judges: {median(ours):.0f} programs a second")
        click.echo(f"manager and process a sample, {JUDGES} threads: {median(theirs):.0f} programs a second")
        click.echo(f"ratio {median(ours) / median(theirs):.1f}")


if __name__ == "__main__":
    main()
