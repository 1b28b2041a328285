"""Complexity and Action (Radenovic et al. 2023): captions that relate objects and describe an action."""

from typing import Any, ClassVar

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from filters.base import Filter, Scores
from filters.text.parsing import CaptionParser
from filters.text.scene_graph import RULES, SceneGraph, scene_graph


class ComplexityAction(Filter):
    """Captions that pass the rule of Radenovic et al. 2023 (section 3.1) first, then by complexity.

    With c the caption's complexity (`SceneGraph.complexity`), the score is ``c / (c + 1)``, plus 1 if the rule
    holds: c >= 1 ("C1") and at least one action, a non-stative verb with a subject, an object or a noun that it
    modifies. Scores of at least 1 are the paper's filter; on either side of 1, more complex captions score higher. An
    empty caption scores 0. Captions are truncated to 1,000 characters.

    Args:
        parser: name of an installed spaCy pipeline for English, or the path of one.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 2048

    def __init__(self, parser: str) -> None:
        self.parser = CaptionParser(parser, parse=True)

    def identity(self) -> dict[str, Any]:
        """Add the version of the rules."""
        return super().identity() | {"rules": RULES}

    def setup(self, device: Device) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or lacks a parser."""
        self.parser.setup()

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), from 0 to 2."""
        scores = self.parser.read(batch.texts, lambda doc: rank(scene_graph(doc)))
        return np.array(scores, np.float32)


def rank(graph: SceneGraph) -> float:
    """Return the score of a caption with this scene graph."""
    complexity = graph.complexity
    return (complexity >= 1 and bool(graph.actions)) + complexity / (complexity + 1)
