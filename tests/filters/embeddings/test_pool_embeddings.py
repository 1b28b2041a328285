from pathlib import Path

import numpy as np
import pytest

from filters.embeddings.pool_embeddings import outer_sum, quadratic, read_target


def test_a_target_is_read_as_unit_vectors(tmp_path: Path) -> None:
    for kind in (np.float16, np.float32, np.float64):
        np.save(tmp_path / "target.npy", np.array([[3, 4], [0, 2]], kind))
        assert read_target(str(tmp_path / "target.npy")) == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))


def test_moments_and_forms_equal_the_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filters.embeddings.corpus.CHUNK", 3)
    points = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float16)
    wide = points.astype(float)
    matrix = outer_sum(points)
    assert matrix == pytest.approx(sum(np.outer(x, x) for x in wide), rel=1e-5)
    assert quadratic(points, matrix) == pytest.approx(np.array([x @ matrix @ x for x in wide]), rel=1e-5)
