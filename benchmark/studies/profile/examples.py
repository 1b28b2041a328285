"""The sample of each cluster with the highest CLIP score, as in Figure 3b of Lin et al. 2023."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from benchmark.core.uids import UidIndex, decode_uid
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import FeatureTable
from benchmark.scoring.shard_reader import ShardReader
from benchmark.studies.profile.clusters import Integers
from benchmark.studies.profile.measurements import Measurements
from filters.cotr import co_embedded_words
from filters.ocr.features import TextRecognition
from filters.ocr.spotter import TextSpotter

LONGEST = 300  # characters; captions are cut there
TEXT = frozenset({"text"})
BATCH = 4096


@dataclass(frozen=True)
class Example:
    """A sample: its caption, cut at `LONGEST` characters, the words of it in the image's text, its CLIP score."""

    uid: str
    caption: str
    words: list[str]
    clip: float


def top_examples(
    pool: Pool, recognition: TextRecognition, measured: Measurements, clusters: Integers
) -> dict[int, Example]:
    """Return an example per cluster; `clusters` has the cluster of each measured sample, shape (n,)."""
    numbers = np.unique(clusters)
    members = [np.flatnonzero(clusters == number) for number in numbers]
    best = np.array([rows[np.argmax(measured.clip[rows])] for rows in members], np.int64)
    index = UidIndex(measured.uids[best])
    examples = {}

    reader = ShardReader(pool, "cpu")
    for shard in pool.shards(recognition.sources):
        table = reader.table(shard, recognition)
        for batch in pool.batches(shard, TEXT, BATCH, Counter()):
            wanted, rows = index.find(batch.uids), table.index.find(batch.uids)
            for i in np.flatnonzero((wanted >= 0) & (rows >= 0)):
                caption, uid = batch.texts[i], decode_uid(batch.uids[i])
                words = sorted(co_embedded_words(caption, _legible(table, rows[i], recognition.spotter)))
                score = round(float(measured.clip[best[wanted[i]]]), 6)
                examples[int(numbers[wanted[i]])] = Example(uid, caption[:LONGEST], words, score)
    return examples


def _legible(table: FeatureTable, row: int, spotter: TextSpotter) -> list[str]:
    """Return the legible lines of text in the image of one row."""
    columns = table.take(np.array([row]))
    words, sure = columns["words"][0], columns["confidences"][0]
    return [line for line, confidence in zip(words, sure, strict=True) if confidence >= spotter.legible]
