"""Metrics of single images and queries, kept beside a result for intervals and paired tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.paths import atomic_write
from downstream.metrics.ranks import Ranks

FILE = "image_scores.parquet"
SCHEMA = pa.schema(
    [("evaluation", pa.string()), ("metric", pa.string()), ("image", pa.string()), ("value", pa.float64())]
)


@dataclass(frozen=True)
class ImageScores:
    """Values by evaluation set, metric and image; an image with several queries has one per query."""

    parts: list[pa.Table] = field(default_factory=list)

    def add(self, evaluation: str, metric: str, images: Sequence[object], values: Sequence[float]) -> None:
        """Add the values of n images or queries; `images` are their ids, kept as text."""
        columns = [
            [evaluation] * len(values),
            [metric] * len(values),
            list(map(str, images)),
            list(map(float, values)),
        ]
        self.parts.append(pa.table(columns, schema=SCHEMA))

    def write(self, folder: Path) -> None:
        """Write ``image_scores.parquet`` into `folder`, whole or not at all; nothing if there are no values."""
        if not self.parts:
            return
        with atomic_write(folder / FILE) as temporary:
            pq.write_table(pa.concat_tables(self.parts), temporary, compression="zstd")


def keep_ranks(
    kept: ImageScores,
    evaluation: str,
    name: str,
    images: Sequence[object],
    found: Ranks,
    cutoffs: Sequence[int],
) -> None:
    """Add the rank of each query, ``<name>_rank``, and whether it is within each cutoff, ``<name>_R@<k>``."""
    kept.add(evaluation, f"{name}_rank", images, found.ranks.tolist())
    for k in cutoffs:
        kept.add(evaluation, f"{name}_R@{k}", images, found.within(k).tolist())
