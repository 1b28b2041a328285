"""Fitting filters on batches of features as on the cached features of a pool."""

import uuid
from collections.abc import Sequence

from benchmark.core.batch import Batch
from benchmark.core.paths import cache_dir
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.scoring.corpus_fit import MappedCorpus
from benchmark.scoring.feature_cache import save_features
from filters.embeddings.corpus import CorpusFilter


def make_corpus(batches: Sequence[Batch]) -> MappedCorpus:
    """A corpus of a shard per batch."""
    folder = cache_dir() / "corpora" / uuid.uuid4().hex
    paths = [folder / f"{number}.arrow" for number in range(len(batches))]
    for path, batch in zip(paths, batches, strict=True):
        arrays = {name: of.tolist() if of.dtype == object else of for name, of in batch.features.items()}
        save_features(path, batch.uids, arrays, {}, Seconds())
    corpus = MappedCorpus(paths, folder, LocalEngine("cpu", 1))
    corpus.shards = [[batch] for batch in batches]
    return corpus


def fit(scorer: CorpusFilter, batches: Sequence[Batch]) -> None:
    """Fit a filter on batches with features."""
    scorer.fit_corpus(make_corpus(batches))
