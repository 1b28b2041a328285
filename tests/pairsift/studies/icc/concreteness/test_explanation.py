import html
import io
import re

import numpy as np
import pytest
from rich.console import Console

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.base import Filter, Scores
from pairsift.studies.icc.concreteness.explanation import (
    Explanation,
    Word,
    contribution_table,
    explanations_page,
    leave_one_out,
)

VALUES = {"dog": 2.0, "idea": -1.0}


class Sum(Filter):
    """Adds up the words it knows; nothing can be said of no words."""

    needs = frozenset({"text"})

    def score(self, batch: Batch) -> Scores:
        sums = [sum(VALUES.get(w, 0.0) for w in t.split()) if t else np.nan for t in batch.texts]
        return np.array(sums, np.float32)


def explanation(*words: Word) -> Explanation:
    return Explanation("c", "icc", {}, "k", 0.5, list(words))


def test_a_contribution_is_the_loss_without_the_word() -> None:
    score, words = leave_one_out(Sum(), " dog  and an idea, idea dog")
    assert score == 3.0
    assert [(word.text, word.contribution) for word in words] == [
        ("dog", 2.0), ("and", 0.0), ("an", 0.0), ("idea,", 0.0), ("idea", -1.0), ("dog", 2.0),
    ]  # fmt: skip
    assert leave_one_out(Sum(), "dog") == (2.0, [Word("dog", None)])  # nothing is left without it
    with pytest.raises(UserError, match=r"task\.explain is empty"):
        leave_one_out(Sum(), "  \n")

    class Nothing(Sum):
        def score(self, batch: Batch) -> Scores:
            return np.full(len(batch), np.nan, np.float32)

    with pytest.raises(UserError, match="gets no score from this filter"):
        leave_one_out(Nothing(), "a dog")


def test_the_page_colours_by_sign_and_size() -> None:
    words = (Word("dog", 2.0), Word("of", 0.0), Word("idea", -1.0), Word("x", None))
    page = explanations_page([explanation(*words)])
    colours = ["46,160,67,0.85", "218,54,51,0.00", "218,54,51,0.42"]
    assert re.findall(r'background:rgba\((.*?)\)"', page) == colours
    assert re.findall(r'<span[^>]* title="(.*?)"', page) == ["+2.0000", "+0.0000", "-1.0000"]
    assert page.count("<span") == 4


def test_captions_cannot_write_html() -> None:
    nasty = "<script>alert(1)</script>\"'&{x}"
    words = [Word(nasty, 1.0), Word(nasty, None)]
    page = explanations_page([Explanation(nasty, "<b>f</b>", {}, "k", 0.5, words)])
    assert not re.search("<(script|b)>", page)
    assert html.unescape(page).count(nasty) == 2
    assert "&lt;b&gt;f&lt;/b&gt;: 0.5000" in page


def test_the_terminal_shows_markup_as_text() -> None:
    made = explanation(Word("[red]dog[/red]", 2.0), Word("idea", -1.0), Word("x", None))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(contribution_table(made))
    text = console.export_text()
    assert all(shown in text for shown in ("[red]dog[/red]", "idea", "+2.0000"))
    words = list(contribution_table(made).columns[0].cells)
    assert [str(word.style) for word in words] == ["#2ea043", "#ad5b5a", ""]
