"""One shard's scores on disk: a parquet of ``uid`` and ``score``."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.paths import atomic_write
from benchmark.core.uids import UidArray, encode_uid_column

_INFO = b"pairsift"


@dataclass(frozen=True)
class ScorePart:
    """The scores of one shard, what it dropped by reason, and the seconds that scoring took.

    `features` are the seconds that its features took, by their keys, whichever filter had them extracted.
    """

    uids: UidArray
    scores: npt.NDArray[np.float32]
    drops: Counter[str]
    seconds: float
    features: dict[str, float]


def write_part(
    path: Path,
    uids: Sequence[str],
    scores: npt.NDArray[np.float32],
    drops: Mapping[str, int],
    seconds: float,
    features: Mapping[str, float],
) -> None:
    """Write one part whole; drops and seconds go into the file's metadata."""
    info = json.dumps({"drops": drops, "seconds": seconds, "features": features})
    schema = pa.schema([("uid", pa.string()), ("score", pa.float32())], {_INFO: info})
    with atomic_write(path) as temporary:
        pq.write_table(pa.table({"uid": list(uids), "score": scores}, schema=schema), temporary)


def read_part(path: Path) -> ScorePart:
    """Read what `write_part` wrote."""
    table = pq.read_table(path)
    info = json.loads(table.schema.metadata[_INFO])
    uids, scores = encode_uid_column(table["uid"]), table["score"].to_numpy()
    return ScorePart(uids, scores, Counter(info["drops"]), info["seconds"], info["features"])
