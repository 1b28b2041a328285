import pytest

from benchmark.results.report.table import Cell, Table, plain, table_lines, to_markdown
from benchmark.results.report.terminal import print_tables

TABLE = Table("T", ["a|b", "c"], [[Cell("x|y"), Cell("2", bold=True)], plain("**", "line\nbreak")], ["why"])


def test_markdown_escapes_and_emphasises() -> None:
    assert to_markdown("Title", "Intro.", [TABLE]).splitlines() == [
        "# Title", "", "Intro.", "", "## T", "",
        "| a\\|b | c |", "| --- | ---: |", "| x\\|y | **2** |", "| ** | line break |", "", "why",
    ]  # fmt: skip
    rules = [table_lines(Table("", list("abc")[:columns], []))[1] for columns in (1, 3)]
    assert rules == ["| --- |", "| --- | ---: | ---: |"]


def test_text_from_the_web_is_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("T", ["f", "c"], [plain("a\x1b[31mred\u202e", "![](http://x/y.png)<img src=x>`")])
    assert "| a\\\\x1b\\[31mred\\\\u202e | !\\[](http://x/y.png)\\<img src=x>\\` |" in to_markdown(
        "T", "", [table]
    )
    print_tables([table])
    printed = capsys.readouterr().out
    assert "a\\x1b[31mred\\u202e" in printed
    assert "\x1b[31m" not in printed


def test_the_terminal_prints_each_note_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([TABLE, TABLE])
    printed = capsys.readouterr().out
    assert printed.count("why") == 1
    assert printed.count("x|y") == 2
    assert "**2**" not in printed


def test_numbers_are_never_folded(capsys: pytest.CaptureFixture[str]) -> None:
    wide = Table("T", ["filter", *(f"column {n}" for n in range(30))], [plain("f", *["12.5 ± 3.1"] * 30)])
    print_tables([wide])
    assert "12.5 ± 3.1" in capsys.readouterr().out
