"""The topics of a pool's captions: vocabulary, documents, and latent Dirichlet allocation (Ghosal et al. 2019)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from benchmark.core.batch import Batch
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, encode_uids, make_uid, unite_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.shard_reader import PoolBatches
from filters.informativeness import Informativeness

TOP_NGRAMS = 10  # n-grams shown per topic, as in the paper's Table 3
CHUNK = 4096  # documents between two signs of progress


class TopicModel:
    """LDA fitted by online variational Bayes (Hoffman et al. 2010)."""

    def __init__(self, ngrams: Sequence[str], topics: int, batch_size: int, seed: int) -> None:
        self.ngrams = list(ngrams)
        self.topics = topics
        self.batch_size = batch_size
        self.seed = seed
        self._columns = {ngram: column for column, ngram in enumerate(ngrams)}
        self._model: Any = None

    def fit(self, counts: Any, passes: int, on_batch: Callable[[int], None]) -> None:
        """Fit the topics to documents that each have at least one n-gram.

        Args:
            counts: count of each n-gram in each of n documents, a sparse matrix of shape (n, M).
            on_batch: called with the number of documents that were read since the last call.
        """
        from sklearn.decomposition import LatentDirichletAllocation

        self._model = LatentDirichletAllocation(
            self.topics,
            learning_method="online",
            batch_size=self.batch_size,
            total_samples=counts.shape[0],
            random_state=self.seed,
        )
        for _ in range(passes):
            for start in range(0, counts.shape[0], CHUNK):
                chunk = counts[start : start + CHUNK]
                self._model.partial_fit(chunk)
                on_batch(chunk.shape[0])

    def label(self, counts: Any) -> npt.NDArray[np.float32]:
        """Return the topics of n documents, each row a probability distribution, shape (n, K)."""
        assert self._model is not None, "fit comes before label"
        chunks = [counts[start : start + CHUNK] for start in range(0, counts.shape[0], CHUNK)]
        return np.concatenate([self._model.transform(chunk) for chunk in chunks]).astype(np.float32)

    def top_ngrams(self) -> list[list[str]]:
        """Return the most probable n-grams of each topic, most probable first."""
        assert self._model is not None, "fit comes before top_ngrams"
        order = np.argsort(-self._model.components_, axis=1, kind="stable")[:, :TOP_NGRAMS]
        return [[self.ngrams[column] for column in row] for row in order]

    def count(self, captions: Sequence[Sequence[str]]) -> Any:
        """Return the count of each n-gram in each of n captions, a sparse matrix of shape (n, M)."""
        rows = [[self._columns[g] for g in ngrams if g in self._columns] for ngrams in captions]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
        counts = csr_matrix((np.ones(len(columns), np.float32), columns, ends), (len(rows), len(self.ngrams)))
        counts.sum_duplicates()
        return counts


@dataclass(frozen=True)
class Vocabulary:
    """The n-grams of the topics, and how they were chosen."""

    ngrams: list[str]  # the vocabulary, sorted by descending number of captions, then alphabetically
    captions: int
    distinct: int  # number of distinct n-grams counted
    too_common: list[str]  # n-grams left out because they occur in too many captions


def choose_vocabulary(captions: Iterable[Sequence[str]], size: int, max_share: float) -> Vocabulary:
    """Return the `size` n-grams that occur in the most captions, but in less than `max_share` of them.

    Args:
        size: M, the maximum size of the vocabulary (25,000 in the paper).
        max_share: n-grams in at least this fraction of captions are left out (10% in the paper; its supplement,
            2.2, calls them photographic stop words).
    """
    counts: Counter[str] = Counter()
    total = 0
    for ngrams in captions:
        total += 1
        counts.update(set(ngrams))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    common = [ngram for ngram, count in ranked if count / total >= max_share]
    kept = [ngram for ngram, count in ranked if count / total < max_share][:size]
    return Vocabulary(kept, total, len(counts), common)


class CaptionNgrams(Informativeness):
    """Reads the n-grams of a pool's captions, and the urls of their images; scores how informative captions are."""

    needs = frozenset({"url"})
    batch_size: ClassVar[int] = 4096


class CaptionBatch(NamedTuple):
    """n captions: hashes of their images' urls, shape (n,), and n-grams, None for a caption that is not kept."""

    images: UidArray
    ngrams: list[list[str] | None]


class CleanedCaptions:
    """The captions of a pool, without the n-grams of uninformative captions.

    Args:
        minimum: lowest informativeness of a caption that is kept.
    """

    def __init__(self, pool: Pool, reader: CaptionNgrams, minimum: float) -> None:
        self._batches = PoolBatches(pool, reader)
        self._reader = reader
        self._minimum = minimum

    def __iter__(self) -> Iterator[CaptionBatch]:
        """Yield all captions, in batches."""
        for batch in self._batches:
            kept = self._reader.score(batch) >= self._minimum
            both = zip(kept, batch.features["unigrams"], batch.features["bigrams"], strict=True)
            ngrams = [[*unigrams, *bigrams] if keep else None for keep, unigrams, bigrams in both]
            yield CaptionBatch(image_hashes(batch), ngrams)

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
    """The n documents of a pool, one per image with a kept caption, in the order of the urls' hashes."""

    # Count of each n-gram of the vocabulary in the m documents that have any, a sparse matrix (m, M).
    counts: Any
    images: UidIndex  # hashes of the images' urls, of all n documents
    # Row of each document in `counts`, -1 for those without an n-gram of the vocabulary, shape (n,).
    rows: npt.NDArray[np.int64]


def make_documents(captions: CleanedCaptions, model: TopicModel) -> Documents:
    """Join the kept captions of each image into a document. Holds the counts of all captions in memory."""
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
