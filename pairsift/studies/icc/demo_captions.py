"""Captions of the demo with concreteness ratings: grades of a simulated annotator, or the planted values."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.errors import UserError
from pairsift.demo.worlds import WORLDS, read_rated_captions
from pairsift.studies.icc.concreteness.rated_texts import DEMO, RatedTexts


def annotated_captions() -> RatedTexts:
    """Return captions with grades of a simulated annotator, from 0 to 3, for building scorers.

    A grade is three times the planted concreteness plus a normally distributed error, rounded and clipped.
    """
    return _rated(pq.read_table(WORLDS / "annotated.parquet"), "a simulated annotator")


def demo_captions(count: int, consistency: float) -> RatedTexts:
    """Return `count` captions with their planted concreteness, none of which a scorer is trained on.

    Near-duplicates are left out, because their originals are shared with the samples that scorers are built from.
    Raises `UserError` if fewer are shipped.
    """
    table = read_rated_captions(consistency)
    if count > table.num_rows:
        raise UserError(
            f"task.demo={count} must be at most {table.num_rows:,}, the captions that are shipped"
        )
    return _rated(table.slice(0, count), "the demo's annotation draw from 1,000,000")


def _rated(table: pa.Table, source: str) -> RatedTexts:
    texts, ratings = table["caption"].to_pylist(), table["rating"].to_numpy()
    digest = hashlib.sha256("\n".join(texts).encode() + ratings.tobytes()).hexdigest()
    return RatedTexts(DEMO, source, digest, texts, np.asarray(ratings, np.float64), len(texts))
