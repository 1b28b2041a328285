import math
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from filters import normsim
from filters.embeddings import removal
from filters.embeddings.removal import Removal, exact_outer_sum
from filters.normsim import NormSim
from tests.corpora import unit
from tests.pools import numbered_uids

CPU = torch.device("cpu")


def images(vectors: np.ndarray) -> Batch:
    return Batch(numbered_uids(len(vectors)), [], features={"image": unit(vectors)})


def made(norm: float, target: Path | None, steps: int = 500) -> NormSim:
    found = NormSim("unused", None, norm, str(target) if target else None, steps)
    found.setup(CPU)
    return found


def shares(points: np.ndarray, steps: int, scratch: Path) -> np.ndarray:
    work = Removal(points, exact_outer_sum(points), steps, scratch)
    work.setup(CPU)
    return work(0)


def naive_removal(points: np.ndarray, goals: list[int]) -> list[float]:
    """Remove down to each goal in turn, by the sum of squared cosines with all that is left; of equals the last."""
    left = list(range(len(points)))
    removed = [0.0] * len(points)
    for goal in goals:
        likeness = {i: sum(float(points[i] @ points[j]) ** 2 for j in left) for i in left}
        for i in sorted(left, key=lambda i: (likeness[i], -i))[: len(left) - goal]:
            removed[i] = (len(points) - len(left)) / len(points)
            left.remove(i)
    return removed


def test_norms_equal_the_plain_loop_across_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normsim, "TARGET_CHUNK", 7)
    rng = np.random.default_rng(0)
    target, batch = unit(rng.normal(size=(20, 6))), images(rng.normal(size=(15, 6)))
    np.save(tmp_path / "target.npy", target)
    for norm, of in ((2, np.linalg.norm), (math.inf, max)):
        expected = [of([float(x @ y) for y in target]) for x in batch.features["image"]]
        scorer = made(norm, tmp_path / "target.npy")
        assert not scorer.corpus_dependent
        assert scorer.score(batch) == pytest.approx(np.array(expected), rel=1e-5)


@pytest.mark.parametrize(
    ("steps", "goals"),
    [(1, [0]), (4, [18, 12, 6, 0]), (24, list(range(23, -1, -1))), (500, list(range(23, -1, -1)))],
)
def test_a_pool_is_taken_apart_as_the_plain_loop_does_it(
    steps: int, goals: list[int], tmp_path: Path
) -> None:
    points = unit(np.random.default_rng(2).normal(size=(24, 4)))
    assert shares(points, steps, tmp_path) == pytest.approx(np.array(naive_removal(points, goals)))


def test_the_odd_one_out_goes_first_and_of_equals_the_last(tmp_path: Path) -> None:
    points = unit(np.array([[1, 0.1], [1, 0], [0, 1], [1, 0]]))
    found = shares(points, 4, tmp_path)
    assert found[2] == 0
    assert found[1] > found[3]
    assert shares(np.tile(points[:1], (4, 1)), 2, tmp_path).tolist() == [0.75, 0.5, 0.25, 0]


def test_rows_that_cannot_be_the_lowest_are_not_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filters.embeddings.corpus.CHUNK", 100)
    monkeypatch.setattr(removal, "EXACT_ROWS", 70)
    computed = []
    of_all, steps = removal._quadratic, 50

    def counted(embeddings: np.ndarray, matrix: torch.Tensor) -> np.ndarray:
        computed.append(len(embeddings))
        return of_all(embeddings, matrix)

    monkeypatch.setattr(removal, "_quadratic", counted)
    rng = np.random.default_rng(4)
    topics = rng.normal(size=(9, 8))[rng.integers(0, 9, 600)]
    points = unit(0.5 + topics + 0.3 * rng.normal(size=(600, 8)))
    found = shares(points, steps, tmp_path)
    assert sum(computed) < 600 * steps / 4  # all that is left in every step would be half of them
    expected, left, exact = np.empty(600), np.arange(600), points.astype(float)
    for _ in range(steps):
        of_left = exact[left]
        order = left[np.argsort(np.square(of_left @ of_left.T).sum(1))]
        expected[order[:12]] = 1 - len(left) / 600 + np.arange(12) / 600
        left = np.sort(order[12:])
    assert found == pytest.approx(expected)
