"""Scores of filters that read differently divided files, grouped by uid in mapped files."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from benchmark.core.disk_buckets import DiskBuckets
from benchmark.core.paths import cache_dir
from benchmark.core.uids import UID_DTYPE, UidArray, sort_uids
from benchmark.scoring.repeated_uids import hash_words
from benchmark.scoring.score_folder import shard_name
from benchmark.scoring.score_table import ScoreSource

ROWS = 1 << 18  # of one filter in a bucket, about: what is in memory at a time


def differently_divided(sources: Sequence[ScoreSource]) -> bool:
    """Tell whether most shards of the sources are of one of them alone, by their names."""
    names = [set(map(shard_name, source.files)) for source in sources]
    return 2 * len(set.intersection(*names)) < len(set.union(*names))


class ShuffledScores:
    """The scores of several sources in buckets by a hash of the uid: all scores of a uid are in one bucket.

    Args:
        sources: the scores by each filter.
        numbers: the number of each of their files.
    """

    def __init__(self, sources: Sequence[ScoreSource], numbers: Mapping[str, int]) -> None:
        self._count = max(1, -(-max(map(len, sources)) // ROWS))
        self._rows = [self._shuffle(source, numbers) for source in sources]

    def __iter__(self) -> Iterator[list[npt.NDArray[np.void]]]:
        """Yield the rows of each bucket, by each filter, sorted by ``uid``, with their ``file`` and ``score``."""
        for bucket in range(self._count):
            yield [rows[bucket] for rows in self._rows]

    def _shuffle(self, source: ScoreSource, numbers: Mapping[str, int]) -> DiskBuckets:
        sizes = np.zeros(self._count, np.int64)
        for file in source.files:
            sizes += np.bincount(self._bucket_of(source.read(file)[0]), minlength=self._count)
        kind = np.dtype([("uid", UID_DTYPE), ("file", np.int32), ("score", source.dtype)])
        shuffled = DiskBuckets(sizes, kind, cache_dir())
        for file in source.files:
            uids, scores = source.read(file)
            rows = np.empty(len(uids), kind)
            rows["uid"], rows["file"], rows["score"] = uids, numbers[file], scores
            shuffled.add(self._bucket_of(uids), rows)
        for rows in shuffled:
            rows[:] = rows[sort_uids(rows["uid"])]
        return shuffled

    def _bucket_of(self, uids: UidArray) -> npt.NDArray[np.int64]:
        """Return the number of each uid's bucket, (m,): the share of all hashes below its own."""
        half = np.uint64(32)
        shares = (hash_words(uids["f0"], uids["f1"]) >> half) * np.uint64(self._count)
        return (shares >> half).astype(np.int64)
