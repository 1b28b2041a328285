"""The table of docs/advise.md, how often P(best) is right; and how often task.stop is wrong. Three minutes."""

import numpy as np
import pytest

from benchmark.run.advise import HOPE
from tests.benchmark.results.report.simulated_worlds import METRICS, draw_world

pytestmark = pytest.mark.full
WORLDS = 2_000  # of each metric


def test_p_best_is_right_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2026)
    worlds = [draw_world(rng, noises) for noises in METRICS for _ in range(WORLDS)]
    said = np.concatenate([world.found.best for world in worlds])
    right = np.concatenate([world.right for world in worlds])
    print()
    differences = []
    for low in range(0, 100, 10):
        within = (100 * said >= low) & (100 * said < low + 10 + (low == 90))
        print(f"{low}%: {within.sum()}, says {said[within].mean():.1%}, right {right[within].mean():.1%}")
        differences.append(abs(said[within].mean() - right[within].mean()))
    told = np.mean([world.found.best[world.choice] >= 0.5 for world in worlds])
    regret, expected = (np.mean([getattr(w, of) for w in worlds]) for of in ("regret", "expected_regret"))
    print(f"told {told:.1%}, regret {regret:.3f}, expected {expected:.3f}")
    assert max(differences) <= 0.05
    assert abs(expected / regret - 1) <= 0.25
    chances = [world.found.best.reshape(-1, 3).sum(axis=1) for world in worlds]  # of filters with three sizes
    of_best = [
        chance[np.reshape(world.right, (-1, 3)).any(axis=1)]
        for world, chance in zip(worlds, chances, strict=True)
    ]
    left_out, lost = (np.mean(np.concatenate(of) < HOPE) for of in (chances, of_best))
    print(f"task.stop leaves out {left_out:.1%} of filters, and the best in {lost:.2%} of the worlds")
    assert lost < 0.01
