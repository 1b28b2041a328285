"""Metrics of single images and queries, kept with a result for intervals and paired tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.paths import atomic_write
from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import IMAGE_SCORES
from downstream.metrics.rank_metrics import Bools, Ranks


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
        fields = {key: pa.string() for key in ("evaluation", "metric", "image")} | {"value": pa.float64()}
        self.parts.append(pa.table(columns, schema=pa.schema(fields)))

    def write(self, folder: Path) -> None:
        """Write ``image_scores.parquet`` into `folder`, whole or not at all; nothing without values."""
        if not self.parts:
            return
        scores = pa.concat_tables(self.parts)
        with atomic_write(folder / IMAGE_SCORES) as temporary:
            pq.write_table(scores, temporary, compression="zstd", write_page_checksum=True)


def keep_ranks(
    kept: ImageScores,
    evaluation: str,
    name: str,
    images: Sequence[object],
    ranks: Ranks,
    hits: Mapping[str, Bools | Doubles],
) -> None:
    """Add the rank of each query, ``<name>_rank``, and its hits by the name of the metric that is their mean."""
    kept.add(evaluation, f"{name}_rank", images, ranks.ranks.tolist())
    for metric, within in hits.items():
        kept.add(evaluation, metric, images, within.tolist())
