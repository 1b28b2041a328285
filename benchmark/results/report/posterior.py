"""The probability of each filter and size to be the best, and the value of one more run of it.

A mean is the true value plus the noise of seeds and of evaluation images. True values are normal with an unknown
spread, as the highest of many means is partly luck. Some of the lowest may be at the floor of the metric: they do not
count for the spread. The parameters are integrated over a grid, and true values drawn from their normal posterior.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmark.results.report.significance import Comparison
from downstream.metrics.corpus_scores import Doubles

DRAWS = 5_000
LEVELS = (np.arange(4) + 0.5) / 4  # quantiles of the variance over seeds, which a few seeds leave uncertain
FLOORS = (0, 1 / 6, 1 / 3, 1 / 2)  # fractions of the means that may be at the floor
# Of the other true values, in robust standard deviations of the means; denser near 0, as filters may be equal.
SPREADS = 3 * np.linspace(0, 1, 11) ** 1.3
ALIKE = 0.5  # the part of the spread that the sizes of one filter share
# Standard deviations of values at the floor, and of the common level, likewise.
FLOOR, LEVEL = 10.0, 100.0


@dataclass(frozen=True)
class Posterior:
    """True values of n filters and sizes given their means: the higher the better, less one constant."""

    draws: Doubles  # (`DRAWS`, n)
    run_values: Doubles  # by how much one more run of each reduces the expected regret, (n,)
    filters: Sequence[str]  # the filter of each, n

    @property
    def best(self) -> Doubles:
        """The probability of each to be the best, (n,)."""
        return np.bincount(self.draws.argmax(axis=1), minlength=self.draws.shape[1]) / len(self.draws)

    @property
    def best_filters(self) -> dict[str, float]:
        """The probability of each filter to be the best: the sum over its sizes."""
        best, filters = self.best, np.array(self.filters)
        return {name: float(best[filters == name].sum()) for name in self.filters}


def posterior(comparison: Comparison, known: Sequence[int], filters: Sequence[str]) -> Posterior:
    """Return the posterior of the n entries at the indices `known`, which are of `filters` and have known noises."""
    from scipy.special import gammaincinv

    training, count = comparison.training, len(known)
    means = comparison.means[known] * (1 if comparison.higher_is_better else -1)
    means -= means.mean()
    variance, independent, freedom = (
        part[known] for part in (training.variance, training.independent, training.freedom)
    )
    covariance = comparison.covariance[np.ix_(known, known)]
    # The covariance of many entries over few images is noisy: it is moved towards equal correlations.
    variances = np.diag(covariance).copy()
    products = np.sqrt(np.outer(variances, variances)) - np.diag(variances)
    correlation = max((covariance.sum() - variances.sum()) / max(products.sum(), 1e-12), 0)
    equal = correlation * products + np.diag(variances)
    covariance += count / (count + comparison.images) * (equal - covariance)
    away = np.abs(means - np.median(means))
    unit = max(1.4826 * float(np.median(away)), float(means.std()) / 10, 1e-9)
    same, order = np.equal.outer(filters, filters), np.argsort(np.argsort(means))
    models, likelihoods = [], []
    for level, floor in product(LEVELS, FLOORS):
        of_seeds = variance * freedom / (2 * gammaincinv(freedom / 2, level))
        shared = np.maximum(of_seeds - independent, 0) + 1e-6 * unit**2
        noise, low = covariance + np.diag(shared), order < int(floor * count)
        alike = ALIKE * (same & np.equal.outer(low, low)) + (1 - ALIKE) * np.eye(count)
        for spread in SPREADS:
            own = unit * np.where(low, FLOOR, spread)
            prior = alike * np.outer(own, own) + (unit * LEVEL) ** 2
            inverse = np.linalg.inv(prior + noise)
            likelihoods.append((np.linalg.slogdet(inverse)[1] - means @ inverse @ means) / 2)
            models.append((own, alike, noise, prior, inverse, of_seeds))
    weights = np.exp(np.array(likelihoods) - max(likelihoods))
    rng = np.random.default_rng(0)
    numbers = rng.multinomial(DRAWS, weights / weights.sum())
    parts = []
    for (own, alike, noise, prior, inverse, _), number in zip(models, numbers, strict=True):
        # Draw values and means, then move the values by the difference of our means from the drawn.
        if number:
            apart = own * (rng.standard_normal((number, count)) @ np.linalg.cholesky(alike).T)
            values = apart + unit * LEVEL * rng.standard_normal((number, 1))
            drawn = values + rng.standard_normal((number, count)) @ np.linalg.cholesky(noise).T
            parts.append(values + (means - drawn) @ (inverse @ prior))
    draws = np.concatenate(parts)
    runs = np.array([comparison.estimates[index].runs for index in known])
    run_values, expected = np.zeros(count), draws.mean(axis=0)
    for (*_, prior, inverse, of_seeds), number in zip(models, numbers, strict=True):
        if number:
            reduction = of_seeds / (runs + 1)  # of the variance of each mean, by one more run
            of_model = _run_values(expected, prior @ inverse, np.diag(inverse), reduction)
            run_values += number / DRAWS * of_model
    return Posterior(draws, run_values, filters)


def _run_values(means: Doubles, gain: Doubles, precisions: Doubles, reduction: Doubles) -> Doubles:
    """Return by how much the highest expected value rises, on average, with one more run of each entry, (n,).

    This is the knowledge gradient of correlated normal values (Frazier, Powell and Dayanik 2009): `gain` is by how
    much each expected value follows each observed mean, (n, n), and `precisions` are the diagonal of the inverse
    covariance of these. One more run reduces their variances by `reduction`.
    """
    from scipy.special import ndtri

    changes = gain * np.sqrt(
        reduction / np.maximum(1 - reduction * precisions, 0.1)
    )  # by a run of each column
    z = ndtri((np.arange(99) + 0.5) / 99)
    highest = [float((means + z[:, None] * change).max(axis=1).mean()) for change in changes.T]
    return np.array(highest, np.float64) - np.float64(means.max())
