"""Topics of captions by latent Dirichlet allocation (Ghosal et al. 2019, section 4.2)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

LIKELIEST = 10  # n-grams that a topic is shown by, as in the paper's Table 3
Captions = Sequence[Sequence[str]]


class TopicModel:
    """LDA by online variational Bayes (Hoffman et al. 2010): one batch of captions is in memory at a time.

    Args:
        ngrams: the vocabulary, of M n-grams.
        topics: K.
        batch_size: captions of one update of the topics.
        seed: of the topics that the first update starts from.
    """

    def __init__(self, ngrams: Sequence[str], topics: int, batch_size: int, seed: int) -> None:
        self.ngrams = list(ngrams)
        self.topics = topics
        self.batch_size = batch_size
        self.seed = seed
        self._places = {ngram: place for place, ngram in enumerate(ngrams)}
        self._model: Any = None

    def fit(
        self,
        batches: Callable[[], Iterable[Captions]],
        passes: int,
        total: int,
        done: Callable[[int], None],
    ) -> None:
        """Find the topics.

        Args:
            batches: gives the n-grams of all captions, in batches, as often as it is called.
            passes: over the captions.
            total: captions in all.
            done: told after each batch how many captions it had.
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
                done(len(captions))

    def label(self, captions: Captions) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
        """Return which of n captions have an n-gram of the vocabulary, (n,), and the topics of those, (m, K).

        Rows are probabilities: they sum to 1.
        """
        assert self._model is not None, "fit comes before label"
        counts = self.count(captions)
        known = np.diff(counts.indptr) > 0
        if not known.any():
            return known, np.empty((0, self.topics), np.float32)
        return known, np.asarray(self._model.transform(counts[known]), np.float32)

    def likeliest(self) -> list[list[str]]:
        """Return each topic's likeliest n-grams, likeliest first."""
        assert self._model is not None, "fit comes before likeliest"
        order = np.argsort(-self._model.components_, axis=1, kind="stable")[:, :LIKELIEST]
        return [[self.ngrams[place] for place in row] for row in order]

    def count(self, captions: Captions) -> Any:
        """Return how often each n-gram occurs in each of n captions, a sparse matrix of shape (n, M)."""
        from scipy.sparse import csr_matrix

        rows = [[self._places[g] for g in ngrams if g in self._places] for ngrams in captions]
        ends = np.cumsum([0, *map(len, rows)])
        places = np.fromiter((place for row in rows for place in row), np.int64, ends[-1])
        counts = csr_matrix((np.ones(len(places), np.float32), places, ends), (len(rows), len(self.ngrams)))
        counts.sum_duplicates()
        return counts
