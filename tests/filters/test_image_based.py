from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.image_based import ImageBased
from tests.extras import needs_extra
from tests.pools import hashed_uids

pytestmark = needs_extra("clusters")

CENTRES = np.eye(4, 6)


def pool(count: int) -> tuple[Batch, np.ndarray]:
    """Images in four far apart groups, and the group of each."""
    rng = np.random.default_rng(0)
    groups = np.arange(count) % 4
    points = CENTRES[groups] + 0.02 * rng.normal(size=(count, 6))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return Batch(hashed_uids(count), [], features={"image": points}), groups


def made(target: Path, clusters: int = 4) -> ImageBased:
    return ImageBased("unused", None, str(target), clusters)


def test_the_groups_that_a_target_falls_into_are_kept(tmp_path: Path) -> None:
    batch, groups = pool(60)
    np.save(tmp_path / "target.npy", 7 * CENTRES[[1, 3, 3]] + 0.1)  # unit vectors are made of them
    scores = []
    for size, order in ((60, range(60)), (7, range(60)), (11, range(59, -1, -1))):
        rows = list(order)
        scorer = made(tmp_path / "target.npy")
        scorer.fit([batch.take(rows[at : at + size]) for at in range(0, 60, size)])
        scores.append(scorer.score(batch))
    assert np.array_equal(scores[0], np.where(np.isin(groups, [1, 3]), 1, np.nan), equal_nan=True)
    assert np.array_equal(scores[0], scores[1], equal_nan=True)
    assert np.array_equal(scores[0], scores[2], equal_nan=True)


def test_every_cluster_equals_the_plain_loop(tmp_path: Path) -> None:
    """With a cluster for each image, what is kept is the nearest image of some target."""
    batch, _ = pool(12)
    target = np.random.default_rng(1).normal(size=(5, 6))
    np.save(tmp_path / "target.npy", target)
    scorer = made(tmp_path / "target.npy", clusters=12)
    scorer.fit([batch])
    nearest = {int(np.argmax([x @ t for x in batch.features["image"]])) for t in target}
    assert set(np.flatnonzero(scorer.score(batch) == 1)) == nearest


def test_one_image_and_none(tmp_path: Path) -> None:
    np.save(tmp_path / "target.npy", np.eye(1, 6))
    batch, _ = pool(1)
    scorer = made(tmp_path / "target.npy", clusters=100)
    scorer.fit([batch])
    assert scorer.score(batch).tolist() == [1]
    scorer.fit([])
    assert scorer.score(batch.take([])).shape == (0,)


def test_a_target_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    batch, _ = pool(4)
    with pytest.raises(UserError, match="not found"):
        made(tmp_path / "absent.npy").key()
    np.save(tmp_path / "target.npy", np.eye(5))
    with pytest.raises(UserError, match="the pool's CLIP model"):
        made(tmp_path / "target.npy").fit([batch])
