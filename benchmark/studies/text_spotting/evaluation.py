"""One model judged on one vocabulary, and the typed JSON that says so."""

import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.results.result import provenance
from benchmark.studies.text_spotting.rendering import why_not
from benchmark.studies.text_spotting.similarity import (
    Bin,
    Encoder,
    Summary,
    by_bin,
    by_style,
    measure,
    summarise,
)
from benchmark.studies.text_spotting.vocabulary import Vocabulary

SCHEMA_VERSION = 1
FOLDER = "text_spotting"  # within the results
# Intervals of Figures 5b (frequency) and 5c, 5d (characters); the paper draws but does not print its own.
FREQUENCIES = tuple(10**exponent for exponent in range(10))
LENGTHS = (1, 3, 5, 7, 9, 11, 13, 16, 21, 31)


@dataclass(frozen=True)
class Model:
    """What is judged: its encoder, its settings (`model`, `pretrained`) and a key that changes with its weights."""

    encoder: Encoder
    config: dict[str, Any]
    key: str


@dataclass(frozen=True)
class Evaluation:
    """How similar one model finds the n-grams of a vocabulary and the images that show them.

    Of `kept` most frequent n-grams `drawn` were taken (all, or a sample); `left_out` of them by reason could not be
    rendered: ``no_glyph`` (a character that the font lacks), ``too_wide`` (not readable on one line).
    """

    config: dict[str, Any]
    key: str
    source: str
    sha256: str
    ngram: int
    distinct: int
    occurrences: int
    too_long: int
    undercount: int
    kept: int
    drawn: int
    left_out: dict[str, int]
    overall: Summary
    styles: dict[str, Summary]
    frequency: list[Bin]
    length: list[Bin]
    seed: int
    seconds: float
    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def run_id(self) -> str:
        """A readable name and a hash of everything that the similarities depend on."""
        identity = [self.config, self.key, self.source, self.sha256, self.ngram, self.drawn, self.seed]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
        name = Path(str(self.config["model"])).name.replace(":", "-")
        return f"{name}-{self.ngram}gram-{digest}"


def evaluate(model: Model, vocabulary: Vocabulary, *, sample: int | None, seed: int) -> Evaluation:
    """Measure `sample` n-grams of the vocabulary, drawn without replacement, or all of them for None.

    Raises `UserError` when none can be rendered.
    """
    started = time.monotonic()
    rows = np.arange(len(vocabulary.ngrams))
    if sample is not None and sample < len(rows):
        rows = np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))
    reasons = [why_not(vocabulary.ngrams[row]) for row in rows]
    left_out = Counter(str(reason) for reason in reasons if reason)
    shown = rows[[reason is None for reason in reasons]]
    if not len(shown):
        raise UserError(
            f"none of {len(rows):,} n-grams of {vocabulary.source} can be rendered: {dict(left_out)}"
        )
    texts = [vocabulary.ngrams[row] for row in shown]
    similarities = measure(model.encoder, texts, seed)
    return Evaluation(
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
        left_out=dict(sorted(left_out.items())),
        overall=summarise(similarities),
        styles=by_style(similarities),
        frequency=by_bin(similarities, vocabulary.counts[shown], FREQUENCIES),
        length=by_bin(similarities, np.array([len(text) for text in texts]), LENGTHS),
        seed=seed,
        seconds=round(time.monotonic() - started, 3),
        **provenance(),
    )


def write_evaluation(results: Path, evaluation: Evaluation) -> Path:
    """Write ``results/text_spotting/<run_id>.json``, whole or not at all, and return its path."""
    return write_record(results / FOLDER, evaluation)


def read_evaluations(results: Path) -> list[Evaluation]:
    """Read all evaluations, in the order of their names; files of another schema are left out."""
    found = []
    for data in read_records(results / FOLDER, SCHEMA_VERSION, "overall"):
        data["overall"] = Summary(**data["overall"])
        data["styles"] = {name: Summary(**summary) for name, summary in data["styles"].items()}
        for name in ("frequency", "length"):
            data[name] = [Bin(b["low"], b["high"], Summary(**b["summary"])) for b in data[name]]
        found.append(Evaluation(**data))
    return found
