"""The chance that a group of a given size is informative, from the pilot rewards of its prompt."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln


def p_informative(
    counts: npt.ArrayLike, group_size: int, concentration: float | None = None
) -> npt.NDArray[np.float64]:
    """Posterior mean of the chance that a group's rewards are not all equal, shape (...,) in [0, 1].

    The chances of the V reward values have a Dirichlet prior of total weight 1, which for two values is Jeffreys'.
    With a = prior + counts and A = sum of a, all G rewards equal value v with the mean chance
    Gamma(a_v + G) Gamma(A) / (Gamma(a_v) Gamma(A + G)); for two values this is the beta-binomial.

    Args:
        counts: how often each of the V possible values was seen, zeros included, shape (..., V).
        group_size: rollouts in a group, at least 2.
        concentration: prior weight of each value; 1/V when None.
    """
    seen = np.asarray(counts, dtype=float)
    weights = seen + (1 / seen.shape[-1] if concentration is None else concentration)
    total = weights.sum(axis=-1, keepdims=True)
    log_all_equal = gammaln(weights + group_size) - gammaln(weights) + gammaln(total) - gammaln(total + group_size)
    return 1 - np.exp(log_all_equal).sum(axis=-1)


def value_counts(statistics: Sequence[dict]) -> npt.NDArray[np.int64]:
    """How often each reward value was seen on each prompt of a scoring, shape (prompts, values).

    The values are those seen on any prompt, and 0 and 1 always: a prompt that only failed may pass next time.
    """
    values = sorted({0.0, 1.0}.union(*(row["reward_values"] for row in statistics)))
    rows = (dict(zip(row["reward_values"], row["reward_counts"], strict=True)) for row in statistics)
    return np.array([[counts.get(value, 0) for value in values] for counts in rows], dtype=np.int64)
