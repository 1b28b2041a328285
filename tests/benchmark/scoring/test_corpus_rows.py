"""The rows of a corpus: a row per uid of the cached features, in the order of the uids."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmark.core.mapped_files import MappedUids
from benchmark.core.uids import UidArray, encode_uids, write_subset
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.scoring.corpus_fit import MappedCorpus
from benchmark.scoring.feature_cache import save_features
from tests.pools import hashed_uids, numbered_uids

A, B, C = ("1" * 32, "2" * 32, "3" * 32)


def gather(
    folder: Path, *shards: tuple[UidArray, list[float]], among: UidArray | None = None
) -> tuple[MappedUids, list[float]]:
    paths = [folder / f"{number}.arrow" for number in range(len(shards))]
    for path, (uids, values) in zip(paths, shards, strict=True):
        columns: dict[str, Any] = {"image": np.array([values], np.float32).T} if values else {}
        save_features(path, uids, columns, {}, Seconds())
    survivors = None
    if among is not None:
        survivors = folder / "survivors.npy"
        write_subset(survivors, among)
    corpus = MappedCorpus(paths, folder, LocalEngine("cpu", 1), survivors)
    return corpus.uids, corpus.embeddings("image")[:].ravel().tolist()


def test_rows_are_sorted_by_uid_and_each_uid_once(tmp_path: Path) -> None:
    shards = ((encode_uids([C, A, A]), [3, 5, 1]), (encode_uids([]), []), (encode_uids([B, A]), [2, 7]))
    uids, values = gather(tmp_path, *shards)
    assert uids[:].tolist() == encode_uids([A, B, C]).tolist()
    assert values == [1, 2, 3]  # A: the last of the first file, as `UidIndex` finds it there
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == ["high.npy", "low.npy"]


def test_rows_of_many_pairs_are_in_the_order_of_uids(tmp_path: Path) -> None:
    uids = hashed_uids(500)
    order = np.random.default_rng(0).permutation(500)
    shards = [(uids[part], part.astype(float).tolist()) for part in np.split(order, [30, 30, 300])]
    found, values = gather(tmp_path, *shards, shards[0])
    expected = np.argsort(uids)
    assert (found[:] == uids[expected]).all()
    assert values == expected.tolist()
    assert found.find(np.append(uids[:7], encode_uids([A]))).tolist() == [
        *map(expected.tolist().index, range(7)),
        -1,
    ]


def test_only_the_pairs_that_reach_the_filter_are_there(tmp_path: Path) -> None:
    shards = (encode_uids([C, A]), [3, 1]), (encode_uids([B]), [2])
    assert gather(tmp_path, *shards, among=encode_uids([B, C]))[1] == [2, 3]
    uids, values = gather(tmp_path / "empty", (encode_uids([]), []))  # without a row all is empty
    assert (len(uids), values, uids.find(numbered_uids(2)).tolist()) == (0, [], [-1, -1])
