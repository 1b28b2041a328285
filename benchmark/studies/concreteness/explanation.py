"""Why a caption gets its score: what each of its words adds, by leaving it out."""

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.studies.concreteness.evaluation import score_texts
from filters.base import Filter

SCHEMA_VERSION = 1
FOLDER = "explained"  # within the results


@dataclass(frozen=True)
class Word:
    """One word of a caption and what it adds to the score; None where the rest has no score."""

    text: str
    contribution: float | None


@dataclass(frozen=True)
class Explanation:
    """A caption's score and its words, in their order."""

    caption: str
    filter: str
    config: dict[str, Any]
    key: str
    score: float
    words: list[Word]
    versions: dict[str, str] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    @property
    def largest(self) -> float:
        """The largest size of a contribution; 1 if there is none, so that it can be divided by."""
        return max((abs(w.contribution) for w in self.words if w.contribution is not None), default=0) or 1.0

    @property
    def run_id(self) -> str:
        """The filter's name and a hash of what the contributions depend on."""
        digest = hashlib.sha256(json.dumps([self.caption, self.key]).encode()).hexdigest()[:8]
        return f"{self.filter}-{digest}"


def leave_one_out(scorer: Filter, caption: str) -> tuple[float, list[Word]]:
    """Return the score of a caption, and score(caption) - score(caption without the word) for each word.

    Words are what white space parts. Raises `UserError` when there are none, or the caption has no score.
    """
    words = caption.split()
    if not words:
        raise UserError("explain is empty; give a caption: explain='a dog on a beach'")
    # Joined by single spaces also in whole, so that only the missing word makes the difference.
    texts = [" ".join(words), *(" ".join(words[:i] + words[i + 1 :]) for i in range(len(words)))]
    whole, *rest = (float(score) for score in score_texts(scorer, texts))
    if not math.isfinite(whole):
        raise UserError(f"the filter gives {caption[:60]!r} no score, so there is nothing to explain")
    added = [whole - score if math.isfinite(score) else None for score in rest]
    return whole, [Word(word, value) for word, value in zip(words, added, strict=True)]


def write_explanation(results: Path, explanation: Explanation) -> Path:
    """Write ``results/explained/<run_id>.json``, whole or not at all, and return its path."""
    return write_record(results / FOLDER, explanation)


def read_explanations(results: Path) -> list[Explanation]:
    """Read all explanations, in the order of their names; files of another schema are left out."""
    found = []
    for data in read_records(results / FOLDER, SCHEMA_VERSION, "words"):
        data["words"] = [Word(**word) for word in data["words"]]
        found.append(Explanation(**data))
    return found
