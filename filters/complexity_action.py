"""Complexity and Action: keep captions that relate objects and in which something happens."""

import hashlib
import importlib.metadata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from benchmark.batch import Batch
from benchmark.errors import UserError
from filters.base import Filter, Scores
from filters.scene_graph import SceneGraph, scene_graph

if TYPE_CHECKING:
    from spacy.language import Language

# What parts of speech need, and a parse; entities, lemmas and categories are not read.
TAGGING = frozenset(
    {"tok2vec", "transformer", "curated_transformer", "tagger", "attribute_ruler", "morphologizer"}
)
PARSING = TAGGING | {"parser"}
LONGEST_CAPTION = 1000  # characters; the text towers and the captioner read fewer


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
        self.parser = parser
        self._pipeline: Language | None = None

    def identity(self) -> dict[str, Any]:
        """Name the pipeline by its content: the same one in another place scores the same."""
        return super().identity() | {"parser": pipeline_revision(self.parser)}

    def setup(self, device: torch.device) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or does not parse."""
        self._pipeline = load_pipeline(self.parser)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), from 0 to 2; a caption that occurs several times is parsed once."""
        assert self._pipeline is not None, "setup comes before score"
        texts = list(dict.fromkeys(text[:LONGEST_CAPTION] for text in batch.texts))
        with self._pipeline.memory_zone():  # or every word ever seen would stay in its vocabulary
            docs = self._pipeline.pipe(texts, batch_size=256)
            scores = {text: rank(scene_graph(doc)) for text, doc in zip(texts, docs, strict=True)}
        return np.array([scores[text[:LONGEST_CAPTION]] for text in batch.texts], np.float32)


def rank(graph: SceneGraph) -> float:
    """Return the score of a caption with this scene graph."""
    complexity = graph.complexity
    return (complexity >= 1 and bool(graph.actions)) + complexity / (complexity + 1)


def load_pipeline(name: str, parse: bool = True) -> "Language":
    """Return the installed spaCy pipeline `name`, or that in the folder `name`, with the components of a parse alone.

    Without `parse` it gives parts of speech alone, and faster. Raises `UserError` when it is missing, or gives less
    than that.
    """
    import spacy

    _found(name)
    try:
        pipeline = spacy.load(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"filter.parser={name} cannot be loaded by spaCy: {reason}") from None
    needed = PARSING if parse else TAGGING
    unneeded = [part for part in pipeline.pipe_names if pipeline.get_pipe_meta(part).factory not in needed]
    pipeline.disable_pipes(*unneeded)
    probe = pipeline("A dog runs.")
    if not (probe.has_annotation("POS") and (probe.has_annotation("DEP") or not parse)):
        raise UserError(
            f"filter.parser={name} has no dependency parser or no tagger; en_core_web_sm, for one, has both"
        )
    return pipeline


@lru_cache
def pipeline_revision(name: str) -> str:
    """Return a package's name and version, or a hash of all files of a folder."""
    folder = _found(name)
    if folder is None:
        return f"{name}-{importlib.metadata.version(name)}"
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _found(name: str) -> Path | None:
    """Return the folder of a pipeline, None for an installed package; raise `UserError` where there is neither."""
    from spacy.util import is_package

    if is_package(name):
        return None
    folder = Path(name).expanduser()
    if (folder / "config.cfg").is_file():
        return folder
    remedy = "give filter.parser=FOLDER, a spaCy pipeline"
    if not folder.exists() and "/" not in name:
        remedy = f"run `python -m spacy download {name}`, or give filter.parser=FOLDER"
    raise UserError(
        f"filter.parser={name}: no spaCy pipeline is installed under that name or there; {remedy}"
    )
