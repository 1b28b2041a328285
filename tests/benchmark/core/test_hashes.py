"""Hashes of settings, which are cache keys."""

import numpy as np

from benchmark.core.hashes import hash_json


def test_all_of_an_array_counts_and_a_set_has_no_order() -> None:
    long = np.arange(5_000.0)
    other = long.copy()
    other[2_500] = 7
    assert str(long) == str(other)  # which is cut
    assert hash_json({"table": long}) != hash_json({"table": other})
    assert hash_json({"table": long}) == hash_json({"table": long.copy()}) != hash_json({"table": long[None]})
    assert hash_json(np.array(["a", None], object)) != hash_json(np.array(["b", None], object))
    assert hash_json({"words": {"a", "b", "c"}}) == hash_json({"words": {"c", "b", "a"}})
