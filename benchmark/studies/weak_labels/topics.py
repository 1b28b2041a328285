"""Topics of captions by latent Dirichlet allocation (Ghosal et al. 2019, section 4.2)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

TOP_NGRAMS = 10  # n-grams shown per topic, as in the paper's Table 3
Captions = Sequence[Sequence[str]]


class TopicModel:
    """LDA fitted by online variational Bayes (Hoffman et al. 2010), with one batch of captions in memory at a time.

    Args:
        ngrams: the vocabulary, M n-grams.
        topics: K, the number of topics.
        batch_size: captions per update of the topics.
        seed: random seed of the initial topics.
    """

    def __init__(self, ngrams: Sequence[str], topics: int, batch_size: int, seed: int) -> None:
        self.ngrams = list(ngrams)
        self.topics = topics
        self.batch_size = batch_size
        self.seed = seed
        self._columns = {ngram: column for column, ngram in enumerate(ngrams)}
        self._model: Any = None

    def fit(
        self,
        batches: Callable[[], Iterable[Captions]],
        passes: int,
        total: int,
        on_batch: Callable[[int], None],
    ) -> None:
        """Fit the topics.

        Args:
            batches: returns an iterator over batches of all captions' n-grams; called once per pass.
            passes: number of passes over the captions.
            total: total number of captions.
            on_batch: called after each batch with its number of captions.
        """
        from sklearn.decomposition import LatentDirichletAllocation

        self._model = LatentDirichletAllocation(
            self.topics,
            learning_method="online",
            batch_size=self.batch_size,
            total_samples=total,
            random_state=self.seed,
        )
        for _ in range(passes):
            for captions in batches():
                counts = self.count(captions)
                known = np.diff(counts.indptr) > 0
                if known.any():
                    self._model.partial_fit(counts[known])
                on_batch(len(captions))

    def label(self, captions: Captions) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
        """Return which of n captions have an n-gram of the vocabulary, shape (n,), and the topics of these m.

        Topics have shape (m, K); each row is a probability distribution.
        """
        assert self._model is not None, "fit comes before label"
        counts = self.count(captions)
        known = np.diff(counts.indptr) > 0
        if not known.any():
            return known, np.empty((0, self.topics), np.float32)
        return known, np.asarray(self._model.transform(counts[known]), np.float32)

    def top_ngrams(self) -> list[list[str]]:
        """Return the most probable n-grams of each topic, most probable first."""
        assert self._model is not None, "fit comes before top_ngrams"
        order = np.argsort(-self._model.components_, axis=1, kind="stable")[:, :TOP_NGRAMS]
        return [[self.ngrams[column] for column in row] for row in order]

    def count(self, captions: Captions) -> Any:
        """Return the count of each n-gram in each of n captions, a sparse matrix of shape (n, M)."""
        from scipy.sparse import csr_matrix

        rows = [[self._columns[g] for g in ngrams if g in self._columns] for ngrams in captions]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
        counts = csr_matrix((np.ones(len(columns), np.float32), columns, ends), (len(rows), len(self.ngrams)))
        counts.sum_duplicates()
        return counts
