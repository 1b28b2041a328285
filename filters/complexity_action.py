"""Complexity and Action: keep captions that relate objects and in which something happens."""

from typing import ClassVar

import numpy as np
import torch

from benchmark.core.batch import Batch
from filters.base import Filter, Scores
from filters.text.parsing import CaptionParser
from filters.text.scene_graph import SceneGraph, scene_graph


class ComplexityAction(Filter):
    """The rule of Radenovic et al. 2023 (section 3.1) first, then complexity.

    With c the caption's complexity (`SceneGraph.complexity`), the score is ``c / (c + 1)``, and 1 more where the rule
    holds: c >= 1 ("C1") and an action, a verb with a subject or about a noun that is not stative. Scores of at least
    1 are the paper's filter; among them, and below, more complex captions come first. A caption without words scores
    0; of one longer than 1,000 characters the first 1,000 are read.

    Args:
        parser: the name of an installed spaCy pipeline for English, or the folder of one.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 2048

    def __init__(self, parser: str) -> None:
        self.parser = CaptionParser(parser, parse=True)

    def setup(self, device: torch.device) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or does not parse."""
        self.parser.setup()

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), from 0 to 2."""
        scores = self.parser.read(batch.texts, lambda doc: rank(scene_graph(doc)))
        return np.array(scores, np.float32)


def rank(graph: SceneGraph) -> float:
    """Return the score of a caption with this scene graph."""
    complexity = graph.complexity
    return (complexity >= 1 and bool(graph.actions)) + complexity / (complexity + 1)
