"""The scores of a pool as parquet files that others read: ``uid``, ``url_hash`` and ``score``, a row per pair."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.output_folder import OutputFolder
from benchmark.core.uids import UID_DTYPE, UidArray, decode_uids, make_uids
from benchmark.pool.pairs import ROW_GROUP, read_pairs
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable

NAME = "scores-{:05d}.parquet"
ROWS = 1_000_000  # per file


def write_scores(folder: OutputFolder, pool: Pool, table: ScoreTable) -> int:
    """Write the scores of n pairs in the order of their uids; return how many have a url.

    A pair without a score, or without a url, has null. Files that an earlier, killed call has written are kept.
    """
    hashes, known = hash_urls(pool, table.uids)
    written = folder.names()
    for number, start in enumerate(range(0, len(table), ROWS)):
        if (name := NAME.format(number)) in written:
            continue
        rows = slice(start, start + ROWS)
        columns = {
            "uid": pa.array(decode_uids(table.uids[rows])),
            "url_hash": pa.array(decode_uids(hashes[rows]), mask=~known[rows]),
            "score": pa.array(table.scores[rows], mask=np.isnan(table.scores[rows])),
        }
        with folder.write(name) as path:
            pq.write_table(pa.table(columns), path, row_group_size=ROW_GROUP, compression="zstd")
    return int(known.sum())


def hash_urls(pool: Pool, uids: UidArray) -> tuple[UidArray, npt.NDArray[np.bool_]]:
    """Return BLAKE2b of the urls of n pairs, 128 bits each, shape (n,), and which pairs have a url, (n,).

    White space around a url does not count.
    """
    hashes, known = np.zeros(len(uids), UID_DTYPE), np.zeros(len(uids), bool)
    for rows, _, urls in read_pairs(pool, uids, "read urls"):
        has_url = np.array([url is not None for url in urls], bool)
        known[rows] = has_url
        hashes[rows[has_url]] = make_uids(url.strip().encode() for url in urls if url is not None)
    return hashes, known
