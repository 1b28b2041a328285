"""The scored members of every cluster, grouped in a mapped file: one cluster at a time is in memory."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from benchmark.core.disk_buckets import DiskBuckets
from benchmark.core.paths import cache_dir
from benchmark.core.uids import UID_DTYPE, sort_uids
from benchmark.scoring.joined_scores import JoinedScores
from benchmark.scoring.repeated_uids import Block
from benchmark.scoring.score_table import ScoreSource


class ClusterMembers:
    """All samples that have a score and a cluster. `sizes`, (c,), counts those of each cluster that has any.

    `without_cluster` counts the samples with or without a score that have no cluster.

    Args:
        scores: the scores, NaN for none.
        labels: the number of each sample's cluster.
    """

    def __init__(self, scores: ScoreSource, labels: ScoreSource) -> None:
        self._joined = JoinedScores([scores, labels])
        self.without_cluster = 0
        sizes = Counter[float]()
        for block in self._joined.blocks():
            of_scores, of_labels = block.columns
            self.without_cluster += int(np.isnan(of_labels).sum())
            labels_of_block, counts = np.unique(
                of_labels[~np.isnan(of_scores + of_labels)], return_counts=True
            )
            sizes.update(dict(zip(labels_of_block.tolist(), counts.tolist(), strict=True)))
        self._labels = np.array(sorted(sizes))
        self.sizes = np.array([sizes[label] for label in self._labels], np.int64)
        self._record = np.dtype([("uid", UID_DTYPE), ("score", scores.dtype)])

    @cached_property
    def _records(self) -> DiskBuckets:
        records = DiskBuckets(self.sizes, self._record, cache_dir())
        for block in self._joined.blocks():
            scores, labels = block.columns
            rows = np.flatnonzero(~np.isnan(scores + labels))
            some = np.empty(len(rows), self._record)
            some["uid"], some["score"] = block.uids[rows], scores[rows]
            records.add(np.searchsorted(self._labels, labels[rows]), some)
        return records

    def clusters(self) -> Iterator[Block]:
        """Yield the uids (m,), sorted, and scores (m,) of the m members of each cluster, by ascending labels."""
        for records in self._records:
            uids = np.ascontiguousarray(records["uid"])
            order = sort_uids(uids)
            yield uids[order], records["score"][order]

    def count(self, score: float) -> int:
        """Return how many members have a score."""
        return sum(int((records["score"] == score).sum()) for records in self._records)
