"""SBA and VBA without distillation, as filters: reconstruct, compare, standardise (ICC paper, Table 4)."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from benchmark.core.batch import Batch
from benchmark.core.uids import UidArray
from filters.base import Composite, Filter, Scores
from filters.icc.autoencoder import Autoencoder
from filters.icc.combine import Combination
from filters.icc.similarity import Similarity
from filters.icc.standardize import Standardizer


class DirectScorer(Filter):
    """Scores captions by how well an autoencoder reconstructs them.

    Args:
        autoencoder: SBA or VBA.
        similarity: compares a caption with its beams, of which the best counts.
        standardizer: removes the effect of caption length; None returns raw similarities.
    """

    needs = frozenset({"text"})

    def __init__(
        self, autoencoder: Autoencoder, similarity: Similarity, standardizer: Standardizer | None
    ) -> None:
        self.autoencoder = autoencoder
        self.similarity = similarity
        self.standardizer = standardizer

    def setup(self, device: torch.device) -> None:
        """Load all models."""
        self.autoencoder.setup(device)
        self.similarity.setup(device)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 0 to 1."""
        similarities = self.similarity.best(batch.texts, self.autoencoder.reconstruct(batch.texts))
        return self.standardizer(batch.texts, similarities) if self.standardizer else similarities


class DirectICC(Composite):
    """Combines the scores of both pipelines as task=icc_build did.

    Args:
        filters: the pipelines `vba` and `sba`.
        combination: weights of the two.
    """

    def __init__(self, filters: Mapping[str, Filter], combination: Combination) -> None:
        super().__init__({name: filters[name] for name in ("vba", "sba")})
        self.combination = combination

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,), from 0 to 1, from those of VBA and SBA, (n,) each."""
        return self.combination(*(np.asarray(column, np.float32) for column in scores))


def standardizer_file(measure: str) -> str:
    """Return the file name of the standardizer for a similarity measure."""
    return f"standardizer-{measure}.json"
