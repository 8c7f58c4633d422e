"""The chance that a group of a given size is informative, from the pilot rewards of its prompt.

The chances of the reward values differ from prompt to prompt by a prior that is fitted to all pilots of one scoring:
a Dirichlet distribution (Beta for two values), and beside it shares of prompts that always get one value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import betaln, expit, gammaln
from scipy.stats import hypergeom

LEAST_PROMPTS = 30
LEAST_ROLLOUTS = 2
"""With fewer prompts, or one rollout each, a prior cannot be told from the data and Jeffreys' is taken."""

NORMAL_95 = 1.959964
PARAMETERS_MORE = 2
"""Of the inflated prior; Akaike's criterion takes off one unit of log-likelihood for each."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Component:
    """One form that a prior can have.

    Attributes:
        weights: of the V reward values in the Dirichlet distribution, in their order.
        fixed: shares of prompts that always get one value, by value, in [0, 1), their sum below 1.
        method: `jeffreys`, `beta`, `inflated_beta` or `dirichlet`.
        covariance: of the fitted parameters; None where nothing was fitted.
        parameters: those, on the scale on which they were fitted.
    """

    weights: tuple[float, ...]
    fixed: tuple[float, ...]
    method: str
    parameters: tuple[float, ...] = ()
    covariance: Array | None = None


@dataclass(frozen=True)
class Prior:
    """What is known of a prompt before its pilot: forms with their weights, which sum to 1."""

    components: tuple[tuple[float, Component], ...]

    def described(self) -> list[dict[str, Any]]:
        """The forms in numbers, as JSON."""
        return [
            {"share": round(share, 4), "method": form.method, "weights": form.weights, "fixed": form.fixed}
            for share, form in self.components
        ]


def reward_values(statistics: Sequence[dict]) -> list[float]:
    """The values that rewards of a scoring take, ascending: those seen on any prompt, and 0 and 1 always."""
    return sorted({0.0, 1.0}.union(*(row["reward_values"] for row in statistics)))


def value_counts(statistics: Sequence[dict]) -> npt.NDArray[np.int64]:
    """How often each reward value was seen on each prompt of a scoring, shape (prompts, values).

    The values are those of `reward_values`: a prompt that only failed may pass next time.
    """
    values = reward_values(statistics)
    place = {value: index for index, value in enumerate(values)}
    counts = np.zeros((len(statistics), len(values)), dtype=np.int64)
    for position, row in enumerate(statistics):
        for value, count in zip(row["reward_values"], row["reward_counts"], strict=True):
            counts[position, place[value]] = count
    return counts


def fit_prior(counts: npt.NDArray[np.int64]) -> Prior:
    """The prior of a scoring by maximum likelihood over all its pilots (empirical Bayes).

    Two values: a beta-binomial, and one with shares of hopeless and certain prompts, averaged by their Akaike weights
    (Burnham and Anderson, 2002), since pilots alone seldom tell a hopeless prompt from a very hard one.
    More values: a Dirichlet-multinomial around the pooled frequencies.

    Args:
        counts: how often each value was seen, shape (prompts, values).
    """
    scored = counts[counts.sum(axis=1) > 0]
    values = counts.shape[1]
    if len(scored) < LEAST_PROMPTS or scored.sum(axis=1).max(initial=0) < LEAST_ROLLOUTS:
        return Prior(((1.0, Component((1 / values,) * values, (0.0,) * values, "jeffreys")),))
    if values > 2:
        return Prior(((1.0, _fit_dirichlet(scored)),))
    plain, loss = fit_beta(scored)
    inflated, lower = fit_inflated_beta(scored, plain)
    share = float(expit(loss - lower - PARAMETERS_MORE))
    return Prior(((1 - share, plain), (share, inflated)))


def fit_beta(counts: npt.NDArray[np.int64]) -> tuple[Component, float]:
    """A Beta prior by beta-binomial maximum likelihood, with its negative log-likelihood without constants."""
    fit = _fit(partial(_beta_loss, *_passes(counts)), np.zeros(2))
    return _component(fit.parameters, "beta", fit.covariance), fit.loss


def fit_inflated_beta(counts: npt.NDArray[np.int64], plain: Component) -> tuple[Component, float]:
    """A Beta prior with shares of prompts that always fail and that always pass, as `fit_beta`.

    With two prompts in five impossible, a plain Beta prior predicts .08 too many informative groups of 16.
    """
    fit = _fit(partial(_inflated_loss, *_passes(counts)), np.array([*plain.parameters, -2.0, -2.0]))
    return _component(fit.parameters, "inflated_beta", fit.covariance), fit.loss


def _passes(counts: npt.NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Passes and rollouts of the prompts, and how many prompts have them."""
    seen, times = np.unique(counts, axis=0, return_counts=True)
    return seen[:, 1], seen.sum(axis=1), times


def _component(parameters: Array, method: str, covariance: Array | None) -> Component:
    """A prior from the logarithms of a and b, and for the inflated one the log odds of the two shares."""
    a, b = _positive(parameters[:2])
    hopeless, certain = _shares(parameters[2:]) if method == "inflated_beta" else (0.0, 0.0)
    fixed = (float(hopeless), float(certain))
    return Component((float(b), float(a)), fixed, method, tuple(parameters.tolist()), covariance)


def _positive(logarithms: Array) -> Array:
    """Weights from their logarithms, within the range in which they still differ in their effect."""
    return np.exp(np.clip(logarithms, -12, 12))


def _shares(log_odds: Array) -> tuple[float, float]:
    """Two shares whose sum is below 1: of all prompts, and of the rest."""
    first, second = expit(log_odds)
    return float(first), float((1 - first) * second)


def _log_beta_binomial(passes: Array, rollouts: Array, a: float, b: float) -> Array:
    """Without the binomial coefficient, which no parameter changes."""
    return betaln(a + passes, b + rollouts - passes) - betaln(a, b)


def _beta_loss(passes: Array, rollouts: Array, times: Array, parameters: Array) -> float:
    a, b = _positive(parameters)
    return -float(times @ _log_beta_binomial(passes, rollouts, a, b))


def _inflated_loss(passes: Array, rollouts: Array, times: Array, parameters: Array) -> float:
    a, b = _positive(parameters[:2])
    hopeless, certain = _shares(parameters[2:])
    free = np.log(max(1 - hopeless - certain, 1e-300)) + _log_beta_binomial(passes, rollouts, a, b)
    likelihood = np.exp(free) + hopeless * (passes == 0) + certain * (passes == rollouts)
    return -float(times @ np.log(likelihood))


def _fit_dirichlet(counts: npt.NDArray[np.int64]) -> Component:
    """Around the pooled frequencies, each value counted once more so that none is impossible."""
    seen, times = np.unique(counts, axis=0, return_counts=True)
    pooled = times @ seen + 1.0
    frequencies = pooled / pooled.sum()

    def loss(parameters: Array) -> float:
        return -float(times @ _log_dirichlet_multinomial(seen, _positive(parameters[0]) * frequencies))

    fitted = _fit(loss, np.zeros(1))
    weights = _positive(fitted.parameters[0]) * frequencies
    none = (0.0,) * len(weights)
    return Component(tuple(weights.tolist()), none, "dirichlet", tuple(fitted.parameters.tolist()), fitted.covariance)


@dataclass(frozen=True)
class _Fit:
    """The optimum of a loss, with the loss there and the covariance of the parameters."""

    parameters: Array
    loss: float
    covariance: Array


def _fit(loss: Callable[[Array], float], start: Array) -> _Fit:
    """The least loss, and the covariance by the curvature there (Laplace); a flat direction has none to tell."""
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 5000})
    size, step = len(start), 1e-3
    steps = step * np.eye(size)
    hessian = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            corners = [loss(found.x + x * steps[i] + y * steps[j]) for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            hessian[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step**2)
    curvature, directions = np.linalg.eigh((hessian + hessian.T) / 2)
    known = curvature > 1e-3
    variances = np.where(known, 1 / np.where(known, curvature, 1.0), 0.0)
    return _Fit(found.x, float(found.fun), (directions * variances) @ directions.T)


def chances(counts: npt.NDArray[np.int64], group_size: int, prior: Prior) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of the chance that a group's rewards are not all equal, shape (prompts,).

    With a = weights + counts and A = sum of a, all G rewards equal value v with the mean chance
    Gamma(a_v + G) Gamma(A) / (Gamma(a_v) Gamma(A + G)); for two values this is the beta-binomial.

    Args:
        counts: how often each value was seen, zeros included, shape (prompts, values).
        group_size: rollouts in a group, at least 2.
    """
    seen, place = np.unique(counts, axis=0, return_inverse=True)
    mean, second = np.zeros(len(seen)), np.zeros(len(seen))
    for share, form in prior.components:
        first, squared = _moments(seen, group_size, form)
        mean, second = mean + share * first, second + share * squared
    deviation = np.sqrt(np.maximum(second - mean**2, 0.0))
    return mean[place.ravel()], deviation[place.ravel()]


def _moments(seen: npt.NDArray[np.int64], group_size: int, form: Component) -> tuple[Array, Array]:
    """First and second moment of the chance of an informative group, for each row of counts."""
    weights = np.array(form.weights)
    posterior = weights + seen
    total = posterior.sum(axis=1, keepdims=True)
    once, twice = _log_rising(posterior, group_size), _log_rising(posterior, 2 * group_size)
    of_total, of_total_twice = _log_rising(total, group_size), _log_rising(total, 2 * group_size)
    # S, the chance that all rewards are equal, is a sum over the values; these are E[S] and E[S^2]
    equal = np.exp(once - of_total).sum(axis=1)
    both = np.exp(once - of_total_twice / 2)
    squared = np.exp(twice - of_total_twice).sum(axis=1) + both.sum(axis=1) ** 2 - (both**2).sum(axis=1)
    free = _share_that_varies(seen, form)
    return free * (1 - equal), free * (1 - 2 * equal + squared)


def _log_rising(start: Array, times: int | Array) -> Array:
    """The logarithm of start (start + 1) ... (start + times - 1)."""
    return gammaln(start + times) - gammaln(start)


def _log_dirichlet_multinomial(seen: npt.NDArray[np.int64], weights: Array) -> Array:
    """Of each row of counts, without the multinomial coefficient, which no weight changes."""
    return _log_rising(weights, seen).sum(axis=1) - _log_rising(weights.sum(), seen.sum(axis=1))


def _share_that_varies(seen: npt.NDArray[np.int64], form: Component) -> Array:
    """The chance that a prompt with these counts is none of those that always get one value."""
    fixed = np.array(form.fixed)
    if not fixed.any():
        return np.ones(len(seen))
    varying = (1 - fixed.sum()) * np.exp(_log_dirichlet_multinomial(seen, np.array(form.weights)))
    always = (fixed * (seen == seen.sum(axis=1, keepdims=True))).sum(axis=1)
    return varying / (varying + always)


def unbiased(counts: npt.NDArray[np.int64], group_size: int) -> Array:
    """The unbiased estimate of the same chance, NaN where a prompt has fewer rollouts than the group.

    1 - sum over the values of C(n_v, G) / C(k, G), the U-statistic; it tells a pool's mean, but at G = k it is 0 or 1
    and its best prompts are the luckiest, so it ranks nothing.
    """
    rollouts = counts.sum(axis=1)
    enough = rollouts >= group_size
    result = np.full(len(counts), np.nan)
    k = rollouts[enough, None]
    result[enough] = 1 - hypergeom.pmf(group_size, k, counts[enough], group_size).sum(axis=1)
    return result


@dataclass(frozen=True)
class Expected:
    """A predicted number of informative groups, with its standard deviation and 95% interval."""

    groups: float
    deviation: float
    interval: tuple[float, float]


def expected_groups(
    counts: npt.NDArray[np.int64], visits: npt.NDArray[np.int64], group_size: int, prior: Prior
) -> Expected:
    """How many of the groups of some visits are informative, before training moves the policy.

    The variance has the chance of each group, the doubt about each prompt, which its visits share, and the doubt about
    the prior, which all prompts share (by the delta method).

    Args:
        counts: of each prompt, shape (prompts, values).
        visits: groups of each prompt, shape (prompts,).
    """
    seen, place = np.unique(counts, axis=0, return_inverse=True)
    once = np.bincount(place.ravel(), weights=visits, minlength=len(seen))
    squared = np.bincount(place.ravel(), weights=visits.astype(float) ** 2, minlength=len(seen))
    parts = []
    for share, form in prior.components:
        mean, second = _moments(seen, group_size, form)
        variance = float(once @ (mean - second) + squared @ (second - mean**2))
        parts.append((share, float(once @ mean), variance + _doubt_about(form, seen, once, group_size)))
    groups = sum(share * expected for share, expected, _ in parts)
    deviation = float(np.sqrt(sum(share * (v + (expected - groups) ** 2) for share, expected, v in parts)))
    reach = NORMAL_95 * deviation
    return Expected(groups, deviation, (max(0.0, groups - reach), min(float(visits.sum()), groups + reach)))


def _doubt_about(form: Component, seen: npt.NDArray[np.int64], visits: Array, group_size: int) -> float:
    """The variance of an expected number of groups by that of the fitted parameters (delta method)."""
    if form.covariance is None:
        return 0.0
    slope = np.empty(len(form.parameters))
    for i, step in enumerate(np.eye(len(slope)) * 1e-4):
        above, below = (_moments(seen, group_size, _moved(form, sign * step))[0] for sign in (1, -1))
        slope[i] = visits @ (above - below) / 2e-4
    return float(slope @ form.covariance @ slope)


def _moved(form: Component, step: Array) -> Component:
    """A form with its parameters moved."""
    if form.method == "dirichlet":
        factor = float(np.exp(step[0]))
        return replace(form, weights=tuple(weight * factor for weight in form.weights))
    return _component(np.array(form.parameters) + step, form.method, form.covariance)
