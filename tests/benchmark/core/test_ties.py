import numpy as np
import pytest

from benchmark.core.ties import hash_uids, highest
from tests.pools import hashed_uids, numbered_uids

MASK = 2**64 - 1


def by_hand(high: int, low: int, seed: int) -> int:
    """The hash in Python's own integers."""
    x = high ^ (low * 0x9E3779B97F4A7C15 & MASK) ^ ((seed + 1) * 0xBF58476D1CE4E5B9 & MASK)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


@pytest.mark.parametrize("seed", [0, 1, 7, -3, 2**31])
def test_hashes_equal_pythons_integers_in_any_order(seed: int) -> None:
    uids = np.concatenate([hashed_uids(50), numbered_uids(50)])
    hashes = hash_uids(uids, seed)
    assert hashes.tolist() == [by_hand(high, low, seed) for high, low in uids.tolist()]
    assert (hash_uids(uids[::-1], seed) == hashes[::-1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 30, 99, 100])
def test_highest_equals_a_sort_by_score_and_hash(count: int, dtype: type) -> None:
    uids = hashed_uids(100)
    scores = np.random.default_rng(count).integers(0, 4, 100).astype(dtype)
    hashes = hash_uids(uids, 1).tolist()
    ranked = sorted(range(100), key=lambda row: (-scores[row], -hashes[row]))
    assert highest(scores, uids, count, 1).tolist() == sorted(ranked[:count])
