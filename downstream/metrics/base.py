"""The base of caption metrics: a class that turns captions into numbers, or says why it cannot."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.core.pixel_workers import Loadable
from benchmark.core.requirements import Requirement, State, lacking, look
from benchmark.models.checkpoints import revision
from downstream.batching import StoredImages, chunks, pixel_batches, to_pixels
from downstream.metrics.java import find_java
from downstream.metrics.metric import Corpus, ImageId, ScoresOfImages, UnavailableError, library
from downstream.metrics.tokenizer import tokenize_corpus

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Curve:
    """Numbers by position in the caption; the metric's value is their mean."""

    points: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The value of the metric."""
        return math.fsum(self.points) / len(self.points)


Outcome = float | Curve | str  # a value, a curve whose mean is the value, or the reason why there is none
Table = dict[str, dict[str, Outcome]]  # domain -> name of the metric -> outcome


@dataclass(frozen=True)
class Request:
    """The captions to score. Tokens are made at first use, and shared by all metrics."""

    corpus: Corpus  # candidates and references of all domains, each one line of valid text
    # Image ids by the domain's name; no domain is empty. ``nocaps/out-domain`` is a part of the evaluation set
    # ``nocaps``, if that is a domain too.
    domains: Mapping[str, Sequence[ImageId]]
    # The location of each image, which its `load` decodes; None if a set has none.
    images: Mapping[ImageId, Loadable] | None
    device: torch.device
    # Metrics leave their values of single images here.
    of_images: ScoresOfImages = field(default_factory=dict)

    @cached_property
    def tokens(self) -> Corpus:
        """The corpus as COCO's evaluation tokenises it. Raises `UnavailableError`."""
        return tokenize_corpus(self.corpus)

    def means(self, name: str, scores: Mapping[ImageId, float]) -> Table:
        """Return the metric `name` as the mean of per-image `scores` over each domain; leave these in `of_images`."""
        self.of_images[name] = dict(scores)
        return {
            domain: {name: math.fsum(scores[image] for image in ids) / len(ids)}
            for domain, ids in self.domains.items()
        }


class CaptionMetric(ABC):
    """A metric of captions. Its public settings are the arguments of its config in ``conf/metrics``.

    `names` are the metrics that `compute` returns for every domain, in the order of the result; a part of an
    evaluation set may have others after them. `unit` and `higher_is_better` are explained in `Metric`; `details` are
    the names of metrics that are details.
    """

    names: tuple[str, ...]
    unit = ""
    higher_is_better = True
    details: frozenset[str] = frozenset()
    library = "pairsift"  # the package that computes it
    reads_tokens = False  # of `Request.tokens`, which Java makes

    @abstractmethod
    def compute(self, request: Request) -> Table:
        """Return for each domain the outcome of each of `names`, as if its images were the whole corpus.

        Only `Cider` looks at the rest of an evaluation set too. Raises `UnavailableError` if none of them can be
        computed here; a single metric is absent with its reason as the outcome.
        """

    def requirements(self) -> Iterator[Requirement]:
        """Yield the requirements; the metric is absent without them. By default Java, for tokens."""
        if self.reads_tokens:
            yield without_unless("Java", find_java)

    def unit_of(self, name: str) -> str:
        """Return the unit of the metric `name`: `unit`, unless the class has metrics of several units."""
        return self.unit

    def version(self) -> str:
        """Return the library and version, and the revision of the weights: with the captions they give the values."""
        return library(self.library)


def without_unless(name: str, locate: Callable[[], object]) -> Requirement:
    """Return the requirement `name`, see `look`; if `locate` raises `UnavailableError`, the metric is absent."""
    try:
        return look(name, locate)
    except UnavailableError as error:
        return lacking(name, error, State.WITHOUT)


def revision_or_none(locate: Callable[[], Path]) -> str:
    """Return the revision of the weights that `locate` finds, ``"none"`` if it raises `UnavailableError`."""
    try:
        return revision(locate())
    except UnavailableError:
        return "none"


def corpus_batches(
    corpus: Corpus,
    images: Mapping[ImageId, Loadable],
    processor: Any,
    size: int,
    device: torch.device,
) -> Iterator[tuple[torch.Tensor, Corpus]]:
    """Yield the pixels of `size` images at a time, as the `processor` makes them, and their part of the corpus."""
    stored = StoredImages([images[image] for image in corpus.candidates], "compare captions with images")
    batches = pixel_batches(stored, partial(to_pixels, processor), size, device)
    for pixels, ids in zip(batches, chunks(corpus.candidates, size), strict=True):
        yield pixels, corpus.subset(ids)
