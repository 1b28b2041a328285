from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from filters.embeddings.pool_embeddings import (
    outer_sum,
    quadratic,
    read_target,
)


def test_a_target_is_read_as_unit_vectors(tmp_path: Path) -> None:
    for kind in (np.float16, np.float32, np.float64):
        np.save(tmp_path / "target.npy", np.array([[3, 4], [0, 2]], kind))
        assert read_target(str(tmp_path / "target.npy")) == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))


@pytest.mark.parametrize(
    "array",
    [
        np.ones(3), np.ones((2, 2, 2)), np.empty((0, 4)), np.ones((2, 2), int), np.array([["a", "b"]]),
        np.array([[1.0, np.nan]]), np.array([[np.inf, 1.0]]), np.zeros((1, 3)),
    ],
)  # fmt: skip
def test_a_target_of_another_shape_or_type_is_refused(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "target.npy", array)
    with pytest.raises(UserError, match=r"filter\.target=.*target\.npy must hold"):
        read_target(str(tmp_path / "target.npy"))


def test_a_target_file_without_an_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "target.npy"
    np.savez(tmp_path / "many.npz", a=np.ones((2, 2)))
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    for content in (
        b"",
        b"text",
        b"\x93NUMPY\x01\x00",
        path.read_bytes(),
        (tmp_path / "many.npz").read_bytes(),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match="must be a numpy file"):
            read_target(str(path))


def test_moments_and_forms_equal_the_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("filters.embeddings.corpus.CHUNK", 3)
    points = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float16)
    wide = points.astype(float)
    matrix = outer_sum(points)
    assert matrix == pytest.approx(sum(np.outer(x, x) for x in wide), rel=1e-5)
    assert quadratic(points, matrix) == pytest.approx(np.array([x @ matrix @ x for x in wide]), rel=1e-5)
