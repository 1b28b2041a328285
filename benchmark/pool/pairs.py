"""The selected pairs as one parquet, the input of img2dataset, read from the pool shard by shard."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.batch import Batch, SampleError
from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_write
from benchmark.core.progress import tracked
from benchmark.core.uids import UidArray, decode_uids
from benchmark.pool.pool import Pool
from benchmark.pool.sample_fields import check_caption

SCHEMA = pa.schema({"uid": pa.string(), "url": pa.string(), "caption": pa.string(), "score": pa.float32()})
Scores = npt.NDArray[np.float32 | np.float64]
ROW_GROUP = 50_000
_TEXT = frozenset({"text"})
_BATCH = 8192


@dataclass(frozen=True)
class Written:
    """The numbers of pairs that `write_pairs` wrote, and of pairs with a url; 0 means no such column."""

    pairs: int
    urls: int


def write_pairs(path: Path, pool: Pool, uids: UidArray, scores: Scores) -> Written:
    """Write ``uid, url, caption, score`` of k pairs, in the order of the pool; without urls no such column.

    Args:
        path: the parquet to write.
        pool: the pairs are in its metadata, or in its tars.
        uids: the pairs, each once, shape (k,).
        scores: their scores, shape (k,).

    Raises:
        UserError: when the pool lacks any.
    """
    table = pa.concat_tables([SCHEMA.empty_table(), *pair_tables(pool, uids, scores)])
    if len(table) < len(uids):
        raise UserError(
            f"the metadata of pool {pool.name} ({pool.url}) lacks {len(uids) - len(table):,} of the {len(uids):,}"
            " selected pairs; give the metadata that belongs to its tars"
        )
    urls = len(table) - table["url"].null_count
    with atomic_write(path) as temporary:
        kept = table if urls else table.drop_columns(["url"])
        pq.write_table(kept, temporary, row_group_size=ROW_GROUP, compression="zstd")
    return Written(len(table), urls)


def read_captions(path: Path) -> Iterator[str]:
    """Yield the captions that `write_pairs` wrote."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH, columns=["caption"]):
            yield from batch["caption"].to_pylist()


def pair_tables(pool: Pool, uids: UidArray, scores: Scores) -> Iterator[pa.Table]:
    """Yield ``uid, url, caption, score`` of each batch of the pool; of a uid that occurs several times the first."""
    for rows, batch, urls in read_pairs(pool, uids, "captions"):
        columns = [decode_uids(batch.uids), urls, batch.texts, scores[rows]]
        yield pa.table(columns, schema=SCHEMA)


def read_pairs(
    pool: Pool, uids: UidArray, title: str
) -> Iterator[tuple[npt.NDArray[np.int64], Batch, list[str | None]]]:
    """Yield the pairs of each batch of the pool: their rows in `uids`, captions, and urls; None for no url.

    Of a uid that occurs several times the first counts. The `title` is of the progress bar.
    """
    listed = pool.shards(_TEXT)
    # Filters of images choose from tars, which may hold pairs that the metadata lacks.
    shards = [*listed, *(tar for tar in pool.tars if pool.is_local and tar not in listed)]
    # Shards with captions are enough: a pool without urls can be exported, too.
    found = pool.find(uids, tracked(title, shards, len(shards), "shards"), _TEXT | {"url"})
    for rows, batch in found:
        yield rows, batch, list(map(_url, batch.columns["url"]))


def _url(value: Any) -> str | None:
    """Return a url as text; None if it is missing, empty or not valid UTF-8."""
    try:
        return check_caption(value)
    except SampleError:
        return None
