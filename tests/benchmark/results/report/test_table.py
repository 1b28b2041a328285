import re
from collections import Counter
from dataclasses import replace
from html import unescape
from itertools import product

import pytest
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from benchmark.core.errors import UserError
from benchmark.core.sanitize import visible
from benchmark.pool.pairs import Written
from benchmark.results.report.data_card import data_card, length_figures
from benchmark.results.report.table import Cell, Table, plain, publish, table_lines, to_markdown
from benchmark.results.report.terminal import print_tables
from tests.benchmark.results.report.made_results import result

TABLE = Table("T", ["a|b", "c"], [[Cell("x|y"), Cell("2", bold=True)], plain("**", "line\nbreak")], ["why"])


def test_markdown_escapes_and_emphasises() -> None:
    assert to_markdown("Title", "Intro.", [TABLE]).splitlines() == [
        "# Title", "", "Intro.", "", "## T", "",
        "| a\\|b | c |", "| --- | ---: |", "| x\\|y | **2** |", "| ** | line break |", "", "why",
    ]  # fmt: skip
    rules = [table_lines(Table("", list("abc")[:columns], []))[1] for columns in (1, 3)]
    assert rules == ["| --- |", "| --- | ---: | ---: |"]


def test_the_terminal_prints_each_note_once_and_folds_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    wide = Table("T", ["filter", *(f"column {n}" for n in range(30))], [plain("f", *["12.5 ± 3.1"] * 30)])
    print_tables([TABLE, TABLE, wide])
    printed = capsys.readouterr().out
    assert (printed.count("why"), printed.count("x|y"), "**2**" in printed) == (1, 2, False)
    assert "12.5 ± 3.1" in printed


def test_only_the_lines_between_the_markers_change() -> None:
    table = Table("", ["filter", "C"], [plain("clip", "1.0"), plain("random", "0.5")], ["Note."])
    around = "before\n<!-- leaderboard{} -->\n{}\n<!-- /leaderboard -->\nafter\n"
    header = "| filter | C |\n| --- | ---: |\n| clip | 1.0 |\n"
    for rows, shown in (
        ("", f"{header}| random | 0.5 |\n\nNote."),
        (": 1 rows", f"{header}\nThe first 1 of 2 rows."),
        (": 2 rows", f"{header}| random | 0.5 |\n\nNote."),
    ):
        published = publish(
            around.format(rows, "old"), {"findings": table, "leaderboard": table}, "README.md"
        )
        assert published == around.format(rows, shown)
    with pytest.raises(UserError, match=r"README\.md must have the lines <!-- leaderboard -->"):
        publish("nothing here", {"leaderboard": table}, "README.md")


# Names of filters, pools, metrics; with up to two backslashes in front of them.
BEGINNINGS = [
    "<img src=x onerror=alert(1)>", "![](http://e/x.png)", "[x](javascript:alert(1))", "[x]: http://e/",
    "<http://e>", "`<b>`", "``", "|", "&lt;img&gt;", "&", "<!-- x -->", "<details open>", "# x", "> x", "- x",
    "* x", "1. x", "1) x", "---", "===", "~~~", "```", "    x", "\n\n<img src=x>", "\r\n# x", "x", "<table>",
    "| --- | --- |", "</td>", "{{ x }}",
]  # fmt: skip
PAYLOADS = [slashes + text for slashes, text in product(["", "\\", "\\\\"], BEGINNINGS)]


def rendered(markdown: str) -> tuple[Counter[str], str]:
    """How often each tag begins in a document as a browser gets it, and the text that it shows."""
    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    return Counter(re.findall(r"<(\w+)", html)), " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def with_tables(text: str) -> tuple[Counter[str], str]:
    """A report and a README with the text in all places of a table."""
    rows = [plain(text, text), [Cell(text), Cell(text)]]
    table = Table(text, [text, text], rows, [text, f"{text} is missing"])
    marked = "<!-- x -->\n<!-- /x -->\n\n"
    return rendered(publish(marked, {"x": table}, "README.md") + to_markdown("T", "", [table]))


def card_with(text: str) -> Counter[str]:
    """A data card with the text in all places of a selection and of a run."""
    manifest = replace(
        result("icc").selection, pool=text, filter=text, selector=text, sha256=text, drops={text: 1},
        versions={text: text}, config={text: text}, selector_config={text: text}, lost={text: 1},
    )  # fmt: skip
    run = result("icc", selection=manifest, run_id=text, protocol=replace(result("icc").protocol, name=text))
    lengths = {"words": length_figures([1])}
    card = data_card(manifest, Written(2000, 2000), ["subset.npy"], lengths, Counter(), [run])
    return rendered(DatasetCard(card).text)[0]


def test_texts_in_tables_and_notes_are_only_text() -> None:
    tags, _ = with_tables("word")
    for text in PAYLOADS:
        found, shown = with_tables(text)
        assert (text, found) == (text, tags)
        seen = " ".join(visible(text.replace("\n", " ")).split())
        assert shown.count(seen) >= 2 * (2 + 4 + 2) + 1, (text, shown)


def test_texts_in_a_data_card_are_only_text() -> None:
    tags = card_with("word")
    for text in [*BEGINNINGS[::2], r"\`<b>"]:
        assert (text, card_with(text)) == (text, tags)
