"""The sample of each cluster with the highest CLIP score, as in Figure 3b of Lin et al. 2023."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch

from benchmark.core.uids import decode_uids
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
    scores, wanted = {}, {}
    for number in np.unique(clusters):
        rows = np.flatnonzero(clusters == number)
        best = rows[np.argmax(measured.clip[rows])]
        uid = decode_uids(measured.uids[best : best + 1])[0]
        wanted[uid], scores[uid] = int(number), round(float(measured.clip[best]), 6)
    examples = {}
    reader = ShardReader(pool, torch.device("cpu"))
    for shard in pool.shards(recognition.sources):
        table = reader.table(shard, recognition)
        for batch in pool.batches(shard, TEXT, BATCH, Counter()):
            for uid, caption in zip(batch.uids, batch.texts, strict=True):
                if uid in wanted and uid in table.places:
                    words = sorted(co_embedded_words(caption, _legible(table, uid, recognition.spotter)))
                    examples[wanted[uid]] = Example(uid, caption[:LONGEST], words, scores[uid])
    return examples


def _legible(table: FeatureTable, uid: str, spotter: TextSpotter) -> list[str]:
    """Return the legible lines of text in one image."""
    words, sure = (table.columns[name][table.places[uid]] for name in ("words", "confidences"))
    return [line for line, confidence in zip(words, sure, strict=True) if confidence >= spotter.legible]
