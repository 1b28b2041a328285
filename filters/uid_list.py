"""Uid list: a published selection."""

import logging

import numpy as np

from benchmark.core.keyed_rows import Matched
from filters.base import Scores
from filters.score_file import FromRows

log = logging.getLogger(__name__)


class UidList(FromRows):
    """1 for pairs that the files list, else NaN; how often a pair is listed does not count.

    Args:
        path, key: see `FromRows`. A ``.npy`` is DataComp's ``u8,u8``, sorted or not; a ``.txt`` has a uid, url
            or hash per line.
    """

    def _scores(self, matched: Matched) -> Scores:
        return np.where(matched.listed, np.float32(1), np.float32(np.nan))

    def _report(self, matched: Matched, scores: Scores) -> None:
        known = matched.known / matched.rows
        listed = f"{known:.1%} of the {matched.rows:,} rows of filter.path={self.path} (by {self._rows.kind})"
        log.info("score: the pool has %s; %s of its pairs are listed", listed, f"{matched.listed.mean():.1%}")
