"""Similarity of a caption and its reconstruction (ICC paper, section 2 and Table 6)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from benchmark.core.devices import Device
from benchmark.core.identity import Identified
from benchmark.core.requirements import Requirement
from benchmark.models.bert_match import BertMatcher, bert_requirement, load_bert_matcher
from benchmark.models.checkpoints import locate_checkpoint, revision
from filters.icc.autoencoder import Beams, one_line

Similarities = npt.NDArray[np.float32]


class Similarity(Identified, ABC):
    """Compares captions with reconstructions: 1 for equal texts, about 0 for unrelated texts."""

    def setup(self, device: Device) -> None:
        """Load models, if any."""

    @abstractmethod
    def compare(self, captions: Sequence[str], reconstructions: Sequence[str]) -> Similarities:
        """Return the similarity of each caption and its reconstruction, shape (n,)."""

    def best(self, captions: Sequence[str], beams: Sequence[Beams]) -> Similarities:
        """Return the similarity of each caption and the best of its beams, shape (n,)."""
        if not captions:
            return np.empty(0, np.float32)
        repeated = [c for c, of_caption in zip(captions, beams, strict=True) for _ in of_caption]
        values = self.compare(repeated, [beam for of_caption in beams for beam in of_caption])
        starts = np.cumsum([0, *(len(of_caption) for of_caption in beams[:-1])])
        best: Similarities = np.maximum.reduceat(values, starts)
        return best


class EditSimilarity(Similarity):
    """1 - Levenshtein distance in characters / length of the longer text: SBA's measure."""

    def compare(self, captions: Sequence[str], reconstructions: Sequence[str]) -> Similarities:
        """Return values from 0 to 1, shape (n,)."""
        lines = [one_line(caption) for caption in captions]
        return np.asarray(
            cpdist(lines, list(reconstructions), scorer=Levenshtein.normalized_similarity), np.float32
        )


class BertScoreSimilarity(Similarity):
    """BERTScore F1, not rescaled: VBA's measure.

    Args:
        model: hub name or folder of the encoder.
        num_layers: number of layers to run; the last one's vectors are compared.
    """

    def __init__(self, model: str, num_layers: int) -> None:
        self.model = model
        self.num_layers = num_layers
        self._matcher: BertMatcher

    def identity(self) -> dict[str, object]:
        """Name the encoder by its revision."""
        return super().identity() | {"model": revision(locate_checkpoint(self.model))}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the encoder."""
        yield bert_requirement(self.model, self.num_layers)

    def setup(self, device: Device) -> None:
        """Load the encoder."""
        self._matcher = load_bert_matcher(self.model, self.num_layers, device)

    def compare(self, captions: Sequence[str], reconstructions: Sequence[str]) -> Similarities:
        """Return F1 values, at most 1, shape (n,)."""
        return self._matcher.f1(reconstructions, captions)
