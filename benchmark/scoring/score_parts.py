"""One shard's scores on disk: a parquet of ``uid_high``, ``uid_low`` and ``score``."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import from_numpy, to_numpy
from benchmark.core.cached_files import ROOM
from benchmark.core.paths import atomic_write
from benchmark.core.uids import UidArray, read_uid_columns, uid_columns
from benchmark.scoring.processor_time import ProcessorSeconds
from filters.base import Scores

_INFO = b"pairsift"
SCORE = "score"


@dataclass(frozen=True)
class PartInfo:
    """What the footer of a part says: numbers of rows and blocks, type of the scores, and as `ScorePart` the rest."""

    rows: int
    blocks: int
    dtype: np.dtype[Any]
    drops: Counter[str]
    seconds: float
    features: dict[str, float]
    processor: ProcessorSeconds


@dataclass(frozen=True)
class ScorePart:
    """The scores of n samples of one shard, its drop counts by reason, and the seconds that scoring took.

    `features` holds the extraction seconds of each of the filter's features by its key, whichever filter's run
    extracted them. `processor` are the processor seconds of both, see `processor_time`.
    """

    uids: UidArray
    scores: Scores
    drops: Counter[str]
    seconds: float
    features: dict[str, float]
    processor: ProcessorSeconds = None


def write_part(
    path: Path,
    uids: UidArray,
    scores: Scores,
    drops: Mapping[str, int],
    seconds: float,
    features: Mapping[str, float],
    processor: ProcessorSeconds = None,
) -> None:
    """Write one part whole; drops and seconds go into the file's metadata."""
    info = json.dumps({"drops": drops, "seconds": seconds, "features": features, "processor": processor})
    table = pa.table({**uid_columns(uids), SCORE: from_numpy(scores)}).replace_schema_metadata({_INFO: info})
    # Neither uids nor scores become smaller by compression; without, they are written and read faster.
    options = {"compression": "none", "use_dictionary": False}
    with atomic_write(path) as temporary, pq.ParquetWriter(temporary, table.schema, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(ROOM)


def read_part(path: Path) -> ScorePart:
    """Read what `write_part` wrote."""
    info = read_part_info(path)
    with pq.ParquetFile(path) as file:  # pq.read_table would import pyarrow.dataset
        table = file.read()
    scores = to_numpy(table[SCORE])
    return ScorePart(read_uid_columns(table), scores, info.drops, info.seconds, info.features, info.processor)


def read_part_info(path: Path) -> PartInfo:
    """Read the footer of a part: everything but its uids and scores."""
    footer = pq.read_metadata(path)
    schema = footer.schema.to_arrow_schema()
    info = json.loads(schema.metadata[_INFO])
    dtype = np.float32 if pa.types.is_float32(schema.field(SCORE).type) else np.float64
    drops, processor = Counter[str](info["drops"]), info.get("processor")
    counts = footer.num_rows, footer.num_row_groups
    return PartInfo(*counts, np.dtype(dtype), drops, info["seconds"], info["features"], processor)


def read_part_block(path: Path, number: int, columns: Sequence[str]) -> pa.Table:
    """Read some columns of a block of a part, a million rows at most."""
    with pq.ParquetFile(path) as file:
        return file.read_row_group(number, list(columns), use_threads=False)
