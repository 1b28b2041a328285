from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from filters.vas import Vas
from tests.corpora import fit, unit
from tests.pools import numbered_uids

CPU = torch.device("cpu")


def images(vectors: np.ndarray) -> Batch:
    return Batch(numbered_uids(len(vectors)), [], features={"image": unit(vectors)})


def test_by_hand(tmp_path: Path) -> None:
    np.save(tmp_path / "target.npy", np.array([[2.0, 0], [5, 0], [1, 0], [0, 3]]))  # S = diag(3/4, 1/4)
    made = Vas("unused", None, str(tmp_path / "target.npy"))
    assert not made.corpus_dependent
    made.setup(CPU)
    scores = made.score(images(np.array([[1.0, 0], [0, -1], [1, 1], [3, 4]])))
    assert scores == pytest.approx([0.75, 0.25, 0.5, 0.36 * 0.75 + 0.64 * 0.25])


def test_the_pools_own_moment_equals_the_plain_loop() -> None:
    vectors = unit(np.random.default_rng(0).normal(size=(30, 5))).astype(np.float16)  # as they are cached
    batch = Batch(numbered_uids(30), [], features={"image": vectors.astype(np.float32)})
    points = batch.features["image"].astype(float)
    expected = [np.mean([(x @ y) ** 2 for y in points]) for x in points]
    for size, order in ((30, range(30)), (4, range(30)), (7, range(29, -1, -1))):
        made = Vas("unused", None, None)
        assert made.corpus_dependent
        rows = list(order)
        fit(made, [batch.take(rows[at : at + size]) for at in range(0, 30, size)])
        assert made.score(batch) == pytest.approx(np.array(expected), abs=1e-6)


def test_the_key_follows_the_target_s_content(tmp_path: Path) -> None:
    target = tmp_path / "target.npy"
    np.save(target, np.eye(2))
    first = Vas("unused", None, str(target)).key()
    np.save(tmp_path / "copy.npy", np.eye(2))
    assert Vas("unused", None, str(tmp_path / "copy.npy")).key() == first
    np.save(target, np.eye(2)[::-1])
    assert Vas("unused", None, str(target)).key() != first
    assert Vas("unused", None, None).key() != first
