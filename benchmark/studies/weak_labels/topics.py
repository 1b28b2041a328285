"""Topics of documents by latent Dirichlet allocation (Ghosal et al. 2019, section 4.2)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

TOP_NGRAMS = 10  # n-grams shown per topic, as in the paper's Table 3
CHUNK = 4096  # documents between two signs of progress


class TopicModel:
    """LDA fitted by online variational Bayes (Hoffman et al. 2010).

    Args:
        ngrams: the vocabulary, M n-grams.
        topics: K, the number of topics.
        batch_size: documents per update of the topics.
        seed: random seed of the initial topics.
    """

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
            passes: number of passes over the documents.
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
        from scipy.sparse import csr_matrix

        rows = [[self._columns[g] for g in ngrams if g in self._columns] for ngrams in captions]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
        counts = csr_matrix((np.ones(len(columns), np.float32), columns, ends), (len(rows), len(self.ngrams)))
        counts.sum_duplicates()
        return counts
