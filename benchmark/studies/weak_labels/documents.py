"""The documents of the topics: all informative captions of an image (Ghosal et al. 2019, sections 3 and 4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, encode_uids, make_uid, unite_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.shard_reader import PoolBatches
from benchmark.studies.weak_labels.topics import TopicModel
from filters.informativeness import Informativeness


class CaptionNgrams(Informativeness):
    """Reads the n-grams of a pool's captions, and the urls of their images; scores how informative captions are."""

    needs = frozenset({"url"})
    batch_size: ClassVar[int] = 4096


class Captions(NamedTuple):
    """n captions: hashes of their images' urls, shape (n,), and n-grams, None where a caption is not kept."""

    images: UidArray
    ngrams: list[list[str] | None]


class CleanedCaptions:
    """The captions of a pool, without the n-grams of those that say little.

    Args:
        pool: its n-grams are in the cache already.
        reader: fitted on the pool.
        minimum: lowest informativeness of a caption that is kept.
    """

    def __init__(self, pool: Pool, reader: CaptionNgrams, minimum: float) -> None:
        self._batches = PoolBatches(pool, reader, "cpu")
        self._reader = reader
        self._minimum = minimum

    def __iter__(self) -> Iterator[Captions]:
        """Yield all captions, in batches."""
        for batch in self._batches:
            kept = self._reader.score(batch) >= self._minimum
            both = zip(kept, batch.features["unigrams"], batch.features["bigrams"], strict=True)
            ngrams = [[*unigrams, *bigrams] if keep else None for keep, unigrams, bigrams in both]
            yield Captions(image_hashes(batch), ngrams)

    def ngrams(self) -> Iterator[list[str]]:
        """Yield the n-grams of each kept caption."""
        for captions in self:
            yield from (ngrams for ngrams in captions.ngrams if ngrams is not None)


def image_hashes(batch: Batch) -> UidArray:
    """Return the hash of each sample's url, shape (n,); without a url, the sample's image is its own."""
    urls = batch.columns["url"]
    hashes = encode_uids([make_uid(str(url), "") for url in urls])
    return np.where(np.array([bool(url) for url in urls], bool), hashes, batch.uids)


@dataclass(frozen=True)
class Documents:
    """The n documents of a pool, one per image with a kept caption, in the order of the urls' hashes.

    Args:
        counts: count of each n-gram of the vocabulary in the m documents that have any, a sparse matrix (m, M).
        images: hashes of the images' urls, of all n documents.
        rows: row of each document in `counts`, -1 for those without an n-gram of the vocabulary, shape (n,).
    """

    counts: Any
    images: UidIndex
    rows: npt.NDArray[np.int64]


def make_documents(captions: CleanedCaptions, model: TopicModel) -> Documents:
    """Join the kept captions of each image into a document. Holds the counts of all captions in memory."""
    from scipy.sparse import csr_matrix, vstack

    counts, parts = [], [np.empty(0, UID_DTYPE)]
    for batch in captions:
        kept = [row for row, ngrams in enumerate(batch.ngrams) if ngrams is not None]
        counts.append(model.count([batch.ngrams[row] or [] for row in kept]))
        parts.append(batch.images[kept])
    joined = np.concatenate(parts)
    distinct = unite_uids([joined])
    images = UidIndex(distinct)
    ones, columns = np.ones(len(joined), np.float32), np.arange(len(joined))
    of_image = csr_matrix((ones, (images.find(joined), columns)), (len(distinct), len(joined)))
    documents = csr_matrix(of_image @ vstack(counts))
    known = np.diff(documents.indptr) > 0
    return Documents(documents[known], images, np.where(known, np.cumsum(known) - 1, -1))
