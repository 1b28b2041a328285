"""One model evaluated on one vocabulary of rendered n-grams."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.records import Schema
from benchmark.results.provenance import Provenance, provenance
from pairsift.studies.parrots.ngrams import Vocabulary
from pairsift.studies.parrots.rendering import unrenderable_reason
from pairsift.studies.parrots.similarity import (
    Bin,
    Encoder,
    Summary,
    by_bin,
    by_style,
    measure,
    summarise,
)

# Lower ends of the bins of Figures 5b (frequency) and 5c, 5d (characters); the paper does not print its own.
FREQUENCIES = tuple(10**exponent for exponent in range(10))
LENGTHS = (1, 3, 5, 7, 9, 11, 13, 16, 21, 31)


@dataclass(frozen=True)
class Model:
    """A model: its encoder, its settings (`model`, `pretrained`) and a key that changes with its weights."""

    encoder: Encoder
    config: dict[str, Any]
    key: str


@dataclass(frozen=True)
class TextSpottingEvaluation(Provenance):
    """Cosines of one model between the n-grams of a vocabulary and the images that show them."""

    SCHEMA: ClassVar[Schema] = Schema(
        "text_spotting", 2, "text_spotting", "python -m benchmark task=text_spotting"
    )

    config: dict[str, Any]
    key: str
    source: str
    sha256: str
    ngram: int
    distinct: int  # different n-grams counted
    occurrences: int  # n-grams counted
    too_long: int  # n-grams that were too long to count
    undercount: int  # largest possible error of a count, see `Vocabulary`
    kept: int  # most frequent n-grams in the vocabulary
    drawn: int  # n-grams evaluated, all of them or a sample
    # N-grams that could not be rendered, counted by reason: ``no_glyph`` (a character that the font lacks),
    # ``too_wide`` (not readable on one line).
    left_out: dict[str, int]
    overall: Summary
    styles: dict[str, Summary]
    frequency: list[Bin]
    length: list[Bin]
    seed: int  # random seed of the sample and the control
    seconds: float

    @property
    def run_id(self) -> str:
        """A readable name and a hash of all that the similarities depend on."""
        identity = [self.config, self.key, self.source, self.sha256, self.ngram, self.drawn, self.seed]
        digest = hash_json(identity, 8)
        name = Path(str(self.config["model"])).name.replace(":", "-")
        return f"{name}-{self.ngram}gram-{digest}"


def evaluate(
    model: Model, vocabulary: Vocabulary, *, sample: int | None, seed: int
) -> TextSpottingEvaluation:
    """Evaluate the model on `sample` random n-grams, or all for None. Raises `UserError` if none can be rendered."""
    started = time.monotonic()
    rows = _draw(len(vocabulary.ngrams), sample, seed)
    reasons = [unrenderable_reason(vocabulary.ngrams[row]) for row in rows]
    left_out = Counter(sorted(str(reason) for reason in reasons if reason))
    rendered = rows[[reason is None for reason in reasons]]
    if not len(rendered):
        raise UserError(
            f"task.vocabulary: none of {len(rows):,} n-grams of {vocabulary.source} can be rendered"
            f" ({counts(left_out)}); give texts in Latin letters"
        )
    texts = [vocabulary.ngrams[row] for row in rendered]
    similarities = measure(model.encoder, texts, seed)
    return TextSpottingEvaluation(
        config=model.config,
        key=model.key,
        source=vocabulary.source,
        sha256=vocabulary.sha256,
        ngram=vocabulary.ngram,
        distinct=vocabulary.distinct,
        occurrences=vocabulary.occurrences,
        too_long=vocabulary.too_long,
        undercount=vocabulary.undercount,
        kept=len(vocabulary.ngrams),
        drawn=len(rows),
        left_out=dict(left_out),
        overall=summarise(similarities),
        styles=by_style(similarities),
        frequency=by_bin(similarities, vocabulary.counts[rendered], FREQUENCIES),
        length=by_bin(similarities, np.array([len(text) for text in texts]), LENGTHS),
        seed=seed,
        seconds=round(time.monotonic() - started, 3),
        **provenance(),
    )


def _draw(count: int, sample: int | None, seed: int) -> npt.NDArray[np.int64]:
    """Return `sample` of `count` rows, drawn without replacement and sorted; all of them for None."""
    rows = np.arange(count)
    if sample is None or sample >= count:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))
