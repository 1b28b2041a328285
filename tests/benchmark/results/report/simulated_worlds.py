"""Worlds of filters at three sizes each, whose true values are known, with the noises of the demo."""

from dataclasses import dataclass

import numpy as np

from benchmark.results.report.posterior import Posterior, posterior
from tests.benchmark.results.report.simulated_tables import CIDER, RECALL, ZERO_SHOT, Floats, Noises, simulate

METRICS = (CIDER, RECALL, ZERO_SHOT)


@dataclass(frozen=True)
class World:
    """The answer in one world."""

    right: list[bool]  # whether each filter and size is the best
    choice: int
    found: Posterior
    regret: float  # of the choice, in standard errors of a mean

    @property
    def expected_regret(self) -> float:
        """The regret that the answer says, in the same unit but for the scale."""
        draws = self.found.draws
        return float((draws.max(axis=1) - draws[:, self.choice]).mean())


def answer(rng: np.random.Generator, values: Floats, seeds: int, noises: Noises) -> World:
    """The answer from simulated runs with these true values."""
    filters = [f"f{number // 3}" for number in range(len(values))]
    found = posterior(
        simulate(rng, values.tolist(), [seeds] * len(values), noises), range(len(values)), filters
    )
    choice = int(found.draws.mean(axis=0).argmax())
    regret = float(values.max() - values[choice])
    return World((values == values.max()).tolist(), choice, found, regret)


def draw_world(rng: np.random.Generator, noises: Noises) -> World:
    """Two to five filters; in half of the worlds a quarter of the values is at the floor of the metric."""
    seeds = int(rng.integers(2, 4))
    error = (noises.fit**2 + (noises.independent**2 + noises.shared**2) / seeds) ** 0.5
    spread = float(rng.choice([0.5, 1, 2, 4])) * error
    values = 20 + np.repeat(rng.normal(0, spread, rng.integers(2, 6)), 3)
    values += rng.normal(0, spread / 2, len(values))
    if rng.random() < 0.5:
        values[rng.choice(len(values), len(values) // 4, replace=False)] -= 10 * error
    return answer(rng, values, seeds, noises)
