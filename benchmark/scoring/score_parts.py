"""One shard's scores on disk: a parquet of ``uid_high``, ``uid_low`` and ``score``."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import to_numpy
from benchmark.core.paths import atomic_write
from benchmark.core.uids import UidArray, read_uid_columns, uid_columns
from filters.base import Scores

_INFO = b"pairsift"


@dataclass(frozen=True)
class ScorePart:
    """The scores of n samples of one shard, its drop counts by reason, and the seconds that scoring took.

    `features` holds the extraction seconds of each of the filter's features by its key, whichever filter's run
    extracted them.
    """

    uids: UidArray
    scores: Scores
    drops: Counter[str]
    seconds: float
    features: dict[str, float]


def write_part(
    path: Path,
    uids: UidArray,
    scores: Scores,
    drops: Mapping[str, int],
    seconds: float,
    features: Mapping[str, float],
) -> None:
    """Write one part whole; drops and seconds go into the file's metadata."""
    info = json.dumps({"drops": drops, "seconds": seconds, "features": features})
    table = pa.table({**uid_columns(uids), "score": scores}).replace_schema_metadata({_INFO: info})
    with atomic_write(path) as temporary:
        pq.write_table(table, temporary)


def read_part(path: Path) -> ScorePart:
    """Read what `write_part` wrote."""
    with pq.ParquetFile(path) as file:  # pq.read_table would import pyarrow.dataset
        table = file.read()
    info = json.loads(table.schema.metadata[_INFO])
    uids, scores = read_uid_columns(table), to_numpy(table["score"])
    return ScorePart(uids, scores, Counter(info["drops"]), info["seconds"], info["features"])


def read_part_info(path: Path) -> dict[str, Any]:
    """Return the drop counts, seconds and extraction seconds of a part without its scores."""
    info: dict[str, Any] = json.loads(pq.read_schema(path).metadata[_INFO])
    return info
