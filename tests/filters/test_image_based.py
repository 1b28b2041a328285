from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.uids import sort_uids
from filters.embeddings.clusters import ImageClusters
from filters.image_based import ImageBased
from tests.corpora import fit
from tests.extras import needs_extra
from tests.pools import hashed_uids

pytestmark = [needs_extra("clusters"), needs_extra("language")]

CENTRES = np.eye(4, 6)
ENGLISH = "a dog is lying on the beach"


def pool(count: int) -> tuple[Batch, np.ndarray]:
    """Images in four groups that are far apart, with English captions, and the group of each."""
    rng = np.random.default_rng(0)
    groups = np.arange(count) % 4
    points = CENTRES[groups] + 0.02 * rng.normal(size=(count, 6))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return Batch(hashed_uids(count), [ENGLISH] * count, features={"image": points}), groups


def made(target: Path, clusters: int = 4) -> ImageBased:
    return ImageBased("unused", None, str(target), clusters)


def test_the_groups_that_a_target_falls_into_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filters.embeddings.clusters.PER_CLUSTER", 1)  # all are clustered, not a sample
    batch, groups = pool(60)
    np.save(tmp_path / "target.npy", 7 * CENTRES[[1, 3, 3]] + 0.1)  # unit vectors are made of them
    scores = []
    for size, order in ((60, range(60)), (11, range(59, -1, -1))):
        rows = list(order)
        scorer = made(tmp_path / "target.npy")
        fit(scorer, [batch.take(rows[at : at + size]) for at in range(0, 60, size)])
        scores.append(scorer.score(batch))
    assert np.array_equal(scores[0], np.where(np.isin(groups, [1, 3]), 1, np.nan), equal_nan=True)
    assert np.array_equal(scores[0], scores[1], equal_nan=True)


def test_captions_that_datacomp_drops_are_never_kept(tmp_path: Path) -> None:
    captions = {
        ENGLISH: True,
        "beach dogs": True,  # two words, ten characters
        "beach": False,
        "a dog": False,  # five characters
        "a dogs": True,
        "beach\n": True,  # fastText takes the newline for a word
        "un perro en la playa con su amo": False,
    }
    batch, _ = pool(len(captions))
    batch = Batch(batch.uids, list(captions), features=batch.features)
    np.save(tmp_path / "target.npy", CENTRES)
    scorer = made(tmp_path / "target.npy", clusters=1)
    fit(scorer, [batch])
    assert [bool(score == 1) for score in scorer.score(batch)] == list(captions.values())


def test_dropped_captions_take_no_part_in_the_clusters(tmp_path: Path) -> None:
    batch, groups = pool(40)
    captions = [ENGLISH if group < 2 else "Hund" for group in groups]
    batch = Batch(batch.uids, captions, features=batch.features)
    # Without group 2 the target is nearest to group 1.
    np.save(tmp_path / "target.npy", CENTRES[[2]] + 0.1 * CENTRES[[1]])
    scorer = made(tmp_path / "target.npy", clusters=2)
    fit(scorer, [batch])
    assert np.array_equal(scorer.score(batch) == 1, groups == 1)


def test_clusters_are_of_the_largest_inner_product(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images, target = (rng.normal(size=(count, 3)).astype(np.float16) for count in (300, 2))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    np.save(tmp_path / "target.npy", target)
    batch = Batch(hashed_uids(300), [ENGLISH] * 300, features={"image": images})
    scorer = made(tmp_path / "target.npy", clusters=10)
    fit(scorer, [batch])
    ordered = images[sort_uids(batch.uids)]
    by_distance = ImageClusters(tmp_path, 10, None, iterations=20, restarts=1).fit(ordered)
    labels = by_distance.assign(ordered)
    centroids = np.stack([ordered[labels == label].mean(axis=0, dtype=np.float32) for label in range(10)])
    expected = np.isin((images @ centroids.T).argmax(axis=1), (target @ centroids.T).argmax(axis=1))
    assert np.array_equal(scorer.score(batch) == 1, expected)
    assert (np.isin(by_distance.assign(images), by_distance.assign(target)) != expected).any()
