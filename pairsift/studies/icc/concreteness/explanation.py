"""Why a caption gets its score: the contribution of each word, by leaving it out; on a page and in the terminal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.records import Schema
from benchmark.core.sanitize import visible, visible_html
from benchmark.results.page.html_page import plain_page
from benchmark.results.report.table import MISSING
from filters.base import Filter
from pairsift.studies.icc.concreteness.evaluation import score_texts


@dataclass(frozen=True)
class Word:
    """One word of a caption and its contribution to the score; None if the caption without it cannot be scored."""

    text: str
    contribution: float | None


@dataclass(frozen=True)
class Explanation:
    """A caption's score and its words in order, by the filter of that name, settings and cache key."""

    SCHEMA: ClassVar[Schema] = Schema(
        "explanation", 2, "explained", "python -m benchmark task=concreteness task.explain=CAPTION"
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
        """The filter's name and a hash of the inputs of the contributions."""
        digest = hash_json([self.caption, self.key], 8)
        return f"{self.filter}-{digest}"


def leave_one_out(scorer: Filter, caption: str) -> tuple[float, list[Word]]:
    """Return the score of a caption, and score(caption) - score(caption without the word) for each word.

    Words are separated by white space. Raises `UserError` without words, or if the caption cannot be scored.
    """
    words = caption.split()
    if not words:
        raise UserError("task.explain is empty; give a caption: task.explain='a dog on a beach'")
    # The whole caption is joined by single spaces too, so that only the missing word makes the difference.
    texts = [" ".join(words), *(" ".join(words[:i] + words[i + 1 :]) for i in range(len(words)))]
    whole, *rest = (float(score) for score in score_texts(scorer, texts))
    if not math.isfinite(whole):
        raise UserError(
            f"task.explain={caption[:60]!r} gets no score from this filter; give another caption or filter"
        )
    added = [whole - score if math.isfinite(score) else None for score in rest]
    return whole, [Word(word, value) for word, value in zip(words, added, strict=True)]


CONCRETE, ABSTRACT = (46, 160, 67), (218, 54, 51)  # RGB: green raises the score, red lowers it
_STYLE = """body{font-size:16px;line-height:1.7}h2{font-size:1em;font-weight:normal;opacity:.7;margin:1.5em 0 0}
span{border-radius:.2em;padding:.1em .2em}"""
_INTRODUCTION = """<p>The contribution of a word is the caption's score minus the score of the caption without that
word. Green words raise the score, red words lower it; the strength of a colour is relative to the caption's largest
contribution. Hover over a word to see its contribution.</p>"""


def explanations_page(explanations: Sequence[Explanation]) -> str:
    """Return a whole page; captions are escaped."""
    captions = []
    for explanation in explanations:
        words = " ".join(_word(word, explanation.max_contribution) for word in explanation.words)
        head = f"{visible_html(explanation.filter)}: {explanation.score:.4f}"
        captions.append(f"<section><h2>{head}</h2><p>{words}</p></section>")
    return plain_page("Explained captions", [_INTRODUCTION, *captions], _STYLE)


def _word(word: Word, max_contribution: float) -> str:
    if word.contribution is None:
        return f"<span>{visible_html(word.text)}</span>"
    red, green, blue = _hue(word.contribution)
    strength = abs(word.contribution) / max_contribution
    style = f"background:rgba({red},{green},{blue},{0.85 * strength:.2f})"
    return f'<span style="{style}" title="{word.contribution:+.4f}">{visible_html(word.text)}</span>'


def _hue(contribution: float) -> tuple[int, int, int]:
    return CONCRETE if contribution > 0 else ABSTRACT


def contribution_table(explanation: Explanation) -> Table:
    """Return the words, coloured, with their contributions for the terminal."""
    table = Table("word", title=Text(f"{explanation.filter}: {explanation.score:.4f}"), title_justify="left")
    table.add_column("contribution", justify="right")
    for word in explanation.words:
        style, contribution = "", MISSING
        if word.contribution is not None:
            contribution = f"{word.contribution:+.4f}"
            # A small contribution is near grey, which is readable on dark and light backgrounds.
            strength = abs(word.contribution) / explanation.max_contribution
            style = "#" + "".join(f"{round(128 + strength * (c - 128)):02x}" for c in _hue(word.contribution))
        table.add_row(Text(visible(word.text), style), contribution)
    return table
