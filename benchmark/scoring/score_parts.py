"""One shard's scores on disk: a parquet of ``uid_high``, ``uid_low`` and ``score``, with their costs."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import from_numpy, to_numpy
from benchmark.core.paths import atomic_write
from benchmark.core.uids import UID_COLUMNS, UidArray, read_uid_columns, uid_columns
from benchmark.core.usage import Seconds
from filters.base import Scores

_INFO = b"pairsift"
SCORE = "score"
# Seconds of scoring under `SCORING`, and of the extraction of each feature under its key, whichever filter's run
# extracted it.
Costs = dict[str, Seconds]
SCORING = ""


@dataclass(frozen=True)
class PartInfo:
    """The footer of a part: number of rows, type of the scores, drop counts by reason, and costs."""

    rows: int
    dtype: np.dtype[Any]
    drops: Counter[str]
    costs: Costs


def write_part(
    path: Path, uids: UidArray, scores: Scores, drops: Mapping[str, int], costs: Mapping[str, Seconds]
) -> None:
    """Write one part whole; drops and costs go into the file's metadata."""
    info = {"drops": drops, "costs": {key: asdict(seconds) for key, seconds in costs.items()}}
    table = pa.table({**uid_columns(uids), SCORE: from_numpy(scores)})
    table = table.replace_schema_metadata({_INFO: json.dumps(info)})
    # Neither uids nor scores become smaller by compression; without, they are written and read faster.
    options = {"compression": "none", "use_dictionary": False}
    with atomic_write(path) as temporary, pq.ParquetWriter(temporary, table.schema, **options) as writer:
        writer.write_table(table)


def read_part(path: Path) -> tuple[UidArray, Scores]:
    """Read the n uids and scores that `write_part` wrote; an infinity, such as an overflow, becomes NaN."""
    with pq.ParquetFile(path) as file:  # pq.read_table would import pyarrow.dataset
        table = file.read([*UID_COLUMNS, SCORE], use_threads=False)
    scores = to_numpy(table[SCORE])
    infinite = np.isinf(scores)
    if infinite.any():
        scores = np.where(infinite, scores.dtype.type(np.nan), scores)
    return read_uid_columns(table), scores


def read_part_info(path: Path) -> PartInfo:
    """Read the footer of a part: everything but its uids and scores."""
    footer = pq.read_metadata(path)
    schema = footer.schema.to_arrow_schema()
    info = json.loads(schema.metadata[_INFO])
    dtype = np.dtype(np.float32 if pa.types.is_float32(schema.field(SCORE).type) else np.float64)
    costs = {key: Seconds(**seconds) for key, seconds in info["costs"].items()}
    return PartInfo(footer.num_rows, dtype, Counter(info["drops"]), costs)


def add_shards(shards: Iterable[Costs]) -> Costs:
    """Return the costs of several shards together."""
    total: Costs = {}
    for costs in shards:
        total |= {key: total.get(key, Seconds()) + seconds for key, seconds in costs.items()}
    return total


def add_filters(filters: Iterable[Costs]) -> Costs:
    """Return the costs of several filters of one pool; a feature that they share counts once."""
    total: Costs = {}
    for costs in filters:
        total |= costs | {SCORING: total.get(SCORING, Seconds()) + costs.get(SCORING, Seconds())}
    return total


def total_cost(costs: Costs) -> Seconds:
    """Return the sum of scoring and all features."""
    return sum(costs.values(), Seconds())
