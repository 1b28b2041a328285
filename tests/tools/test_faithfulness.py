import pytest

from benchmark.results.report.table import table_lines
from tools.demo_world.faithfulness import (
    ROWS,
    faithfulness_table,
    misses,
    written_text_values,
)
from tools.demo_world.written_text import WrittenText


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("sba_cc3m", [0.2, 0.5], [0.19, 0.51, float("nan")]),
        ("bits_grade_0", [1.18, 1.66], [1.16, 1.68]),
        ("word_types", [6_000, 20_000], [5_999]),
        ("exact_repeats", [0.0, 0.03], [0.031]),
        ("words_per_caption", [7.7, 10.7], [7.6, 10.8]),
        ("describes", [0.05, 0.08, 0.1], [0.31]),
    ],
)
def test_the_ends_of_a_range_are_accepted(name: str, inside: list[float], outside: list[float]) -> None:
    assert all(ROWS[name].accepts(value) for value in inside)
    assert not any(ROWS[name].accepts(value) for value in outside)


def test_a_miss_says_what_is_accepted() -> None:
    found = misses({"word_types": 1_296.0, "near_copies": 0.59, "heaps_exponent": 0.7})
    assert found == [
        "Distinct words in 35,000: 1,296, accepted at least 6,000",
        "Near copies in 4,000: 59.0%, accepted at most 15.0%",
    ]


def test_the_table_is_markdown_with_a_column_per_world() -> None:
    after = written_text_values(WrittenText(0.55, 0.28, 0.56, 0.9)) | {"word_types": 6_279.0}
    table = faithfulness_table({"before": {"word_types": 1_296.0}, "after": after})
    lines = table_lines(table)
    assert lines[0] == "| statistic | real | accepted | before | after |"
    assert len(lines) == len(ROWS) + 2
    assert "| Distinct words in 35,000 | 11,910 | at least 6,000 | 1,296 (outside) | 6,279 |" in lines
    assert "| Exact CoTR, images with text | 28% | 24.0% to 32.0% | – | 28.0% |" in lines
