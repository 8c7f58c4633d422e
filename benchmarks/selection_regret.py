"""What choosing by the mean over seeds is worth on real runs: `python benchmarks/selection_regret.py PODS_LONG_CSV_GZ`.

The file has 10 configurations of GRPO on GSM8K, 10 runs each, by Xu et al. (YixuanEvenXu/pods, Apache-2.0). Draw three
runs of each configuration, choose, and compare with the runs that were not drawn. It has no scores by task, so only
the seed-mean step of the rule is tried, against the highest single run.
"""

from pathlib import Path

import click
import numpy as np
import pandas as pd

SEEDS = 3
DRAWS = 4000
CHECKPOINT = 12


def scores(file: Path) -> np.ndarray:
    """GSM8K accuracy in points of the 12th checkpoint of each run, shape (configurations, runs)."""
    rows = pd.read_csv(file)
    rows = rows[(rows["bench"] == "gsm8k") & rows["config"].str.startswith("Instruct-GSM8K")]
    rows = rows.assign(step=rows["checkpoint"].str.rsplit("-", n=1).str[1].astype(int))
    means = rows.groupby(["config", "run", "step"])["ans_acc"].mean().reset_index()
    means["place"] = means.groupby(["config", "run"])["step"].rank()
    last = means[means["place"] == CHECKPOINT].pivot(index="config", columns="run", values="ans_acc")
    return 100 * last.to_numpy()


def compare(runs: np.ndarray) -> dict[str, tuple[float, float]]:
    """Regret and optimism, in points, of each rule.

    Regret is how far the truth of the chosen configuration, its mean over all runs, is below the best one's;
    optimism how far the score it was chosen by is above the mean of its runs that were not drawn.
    """
    rng = np.random.default_rng(0)
    configurations, count = runs.shape
    truth = runs.mean(axis=1)
    lost: dict[str, list[tuple[float, float]]] = {"mean over seeds": [], "highest single run": []}
    for _ in range(DRAWS):
        order = rng.permuted(np.tile(np.arange(count), (configurations, 1)), axis=1)
        drawn, left = np.split(np.take_along_axis(runs, order, axis=1), [SEEDS], axis=1)
        for rule, by in (("mean over seeds", drawn.mean(axis=1)), ("highest single run", drawn.max(axis=1))):
            pick = int(by.argmax())
            lost[rule].append((truth.max() - truth[pick], by[pick] - left[pick].mean()))
    return {rule: (float(np.mean(found, axis=0)[0]), float(np.mean(found, axis=0)[1])) for rule, found in lost.items()}


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def main(file: Path) -> None:
    """Print regret and optimism of both rules."""
    runs = scores(file)
    click.echo(f"{runs.shape[0]} configurations, {SEEDS} of {runs.shape[1]} runs drawn {DRAWS} times, in points")
    for rule, (regret, optimism) in compare(runs).items():
        click.echo(f"{rule:<20} regret {regret:.3f}, optimism {optimism:.3f}")


if __name__ == "__main__":
    main()
