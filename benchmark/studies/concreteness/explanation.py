"""Why a caption gets its score: the contribution of each word, by leaving it out."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.records import Schema
from benchmark.studies.concreteness.evaluation import score_texts
from filters.base import Filter


@dataclass(frozen=True)
class Word:
    """One word of a caption and its contribution to the score; None where the caption without it has no score."""

    text: str
    contribution: float | None


@dataclass(frozen=True)
class Explanation:
    """A caption's score and its words, in their order.

    `filter` names the filter's config, `config` holds its settings, `key` is its cache key.
    """

    SCHEMA: ClassVar[Schema] = Schema(
        "explanation", 2, "explained", "python -m benchmark task=concreteness explain=CAPTION"
    )

    caption: str
    filter: str
    config: dict[str, Any]
    key: str
    score: float
    words: list[Word]
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def max_contribution(self) -> float:
        """The largest absolute contribution; 1 if all are 0 or None, so that it can be divided by."""
        return max((abs(w.contribution) for w in self.words if w.contribution is not None), default=0) or 1.0

    @property
    def run_id(self) -> str:
        """The filter's name and a hash of what the contributions depend on."""
        digest = hash_json([self.caption, self.key], 8)
        return f"{self.filter}-{digest}"


def leave_one_out(scorer: Filter, caption: str) -> tuple[float, list[Word]]:
    """Return the score of a caption, and score(caption) - score(caption without the word) for each word.

    Words are separated by white space. Raises `UserError` when there are none, or the caption has no score.
    """
    words = caption.split()
    if not words:
        raise UserError("explain is empty; give a caption: explain='a dog on a beach'")
    # The whole caption is joined by single spaces too, so that only the missing word makes the difference.
    texts = [" ".join(words), *(" ".join(words[:i] + words[i + 1 :]) for i in range(len(words)))]
    whole, *rest = (float(score) for score in score_texts(scorer, texts))
    if not math.isfinite(whole):
        raise UserError(
            f"explain={caption[:60]!r} gets no score from this filter; give another caption or filter"
        )
    added = [whole - score if math.isfinite(score) else None for score in rest]
    return whole, [Word(word, value) for word, value in zip(words, added, strict=True)]
