import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.ties import hash_uids
from filters.near_duplicates import BLOCK, NearDuplicates, distinct, nearest_before
from tests.corpora import fit, unit
from tests.extras import needs_extra
from tests.pools import hashed_uids

pytestmark = needs_extra("clusters")


def batches(images: np.ndarray, texts: np.ndarray, size: int) -> list[Batch]:
    uids = hashed_uids(len(images))
    return [
        Batch(
            uids[at : at + size],
            [],
            features={"image": images[at : at + size], "text": texts[at : at + size]},
        )
        for at in range(0, len(images), size)
    ]


def test_distances_equal_the_plain_loop_across_blocks() -> None:
    points = unit(np.random.default_rng(0).normal(size=(BLOCK + 50, 3)))
    found = nearest_before(points)
    assert found[0] == 2
    for row in (1, 2, 100, BLOCK - 1, BLOCK, BLOCK + 49):
        expected = min(1 - points[row] @ points[other] for other in range(row))
        assert found[row] == pytest.approx(expected, abs=1e-6)


def test_of_a_group_the_best_pair_is_far_from_all_before_it() -> None:
    rng = np.random.default_rng(1)
    originals = unit(rng.normal(size=(30, 16)))
    images = unit(np.concatenate([originals, originals + 0.02 * rng.normal(size=(30, 16))]))
    texts = unit(images + 0.3 * rng.normal(size=images.shape))
    scorer = NearDuplicates("unused", None, clusters=4)
    fit(scorer, batches(images, texts, 7))
    scores = np.concatenate([scorer.score(batch) for batch in batches(images, texts, 60)])
    clip = (images * texts).sum(axis=1)
    for row in range(30):
        better, worse = sorted((row, row + 30), key=lambda r: -clip[r])
        assert scores[better] > 0.05 > scores[worse]
    again = NearDuplicates("unused", None, clusters=4)
    fit(again, batches(images, texts, 60))
    assert (again.score(batches(images, texts, 60)[0]) == scores).all()


def test_equal_pairs_are_settled_by_seed_and_uid() -> None:
    images = np.tile(np.eye(1, 4, dtype=np.float32), (5, 1))
    (batch,) = batches(images, images, 5)
    for seed in range(4):
        scorer = NearDuplicates("unused", None, clusters=2, seed=seed)
        fit(scorer, [batch])
        expected = np.zeros(5)
        expected[np.argmax(hash_uids(batch.uids, seed))] = 2
        assert scorer.score(batch).tolist() == expected.tolist()


def test_of_a_group_one_is_left_and_of_those_a_random_k() -> None:
    made = distinct("unused", None, clusters=1, duplicate_similarity=0.95)
    assert list(made.filters) == ["distinct", "random"]
    scores = np.array([[0.01, 0.05, 0.2, 2.0], [0.9, 0.1, 0.3, 0.2]], np.float32)
    combined = made.combine(scores, hashed_uids(4))  # a cosine of 0.99 is a duplicate
    assert combined == pytest.approx(np.array([np.nan, 0.1, 0.3, 0.2]), nan_ok=True)
