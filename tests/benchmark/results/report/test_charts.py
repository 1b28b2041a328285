from xml.etree import ElementTree as ET

import pytest

from benchmark.results.report.bar_charts import Bar, ranked_bars, stacked_columns
from benchmark.results.report.line_charts import histograms, lines
from tests.benchmark.results.report.charts_read import SVG, tooltips, written

SERIES = (("a & b", "#111111"), ("<b>", "#222222"))


def test_bars_are_ranked_with_their_numbers() -> None:
    bars = [
        Bar("low", 10, "10.0", "#111"),
        Bar("high", 40, "40.0 ± 2.0", "#222", 2.0),
        Bar("mid", 20, "20", "#333"),
    ]
    chart = ET.fromstring(ranked_bars(bars, 80, None, "x"))
    assert tooltips(chart) == ["high: 40.0 ± 2.0", "mid: 20", "low: 10.0"]
    assert [text for text in written(chart) if text in {"40.0 ± 2.0", "20", "10.0"}]
    assert len(list(chart.iter(f"{SVG}polyline"))) == 1  # one whisker, of the bar with a spread


def test_longer_bars_are_larger_values() -> None:
    bars = [Bar(str(value), value, str(value), "#111") for value in (1, 4, 2)]
    widths = [
        float(box.get("width", ""))
        for box in ET.fromstring(ranked_bars(bars, 4, None, "x")).iter(f"{SVG}rect")
    ]
    assert [width / widths[-1] for width in widths] == pytest.approx([4, 2, 1], rel=1e-2)


def test_a_long_label_is_cut_and_whole_in_the_tooltip() -> None:
    name = "a very long label of a filter with settings"
    chart = ET.fromstring(ranked_bars([Bar(name, 1, "1", "#111")], 1, None, "x"))
    assert name not in written(chart)
    assert tooltips(chart) == [f"{name}: 1"]


def test_stacked_columns_have_one_box_per_share() -> None:
    chart = ET.fromstring(stacked_columns([[0.25, 0.75], [1, 0]], SERIES, ["<one>", "two"], "x < y"))
    assert tooltips(chart) == ["<one>", "two"]
    assert [len(bar.findall(f"{SVG}rect")) for bar in chart.findall(f"{SVG}g")] == [2, 2]
    assert {"a & b", "<b>", "x < y", "100%"} <= set(written(chart))


def test_a_line_is_broken_where_a_value_is_missing() -> None:
    rows = [[1.0, 2.0, None, 4.0, 5.0], [None, None, 3.0, None, None]]
    chart = ET.fromstring(lines(rows, SERIES, ["c"] * 5, "x"))
    assert [len(line.get("points", "").split()) for line in chart.iter(f"{SVG}polyline")] == [2, 2]
    assert len(tooltips(chart)) == 5
    assert {"a & b", "<b>"} <= set(written(chart))


@pytest.mark.parametrize("rows", [[[None]], [[0.5]], [[0.0, 0.0]], [[-1e-9, 1e-9]]])
def test_lines_of_few_or_equal_values_are_drawn(rows: list[list[float | None]]) -> None:
    chart = ET.fromstring(lines(rows, SERIES[:1], ["c"] * len(rows[0]), "x"))
    assert len(tooltips(chart)) == sum(value is not None for value in rows[0])


def test_empty_histograms_are_drawn() -> None:
    chart = ET.fromstring(histograms([-0.01, 0.01], [[0], [0]], SERIES, "x"))
    assert len(list(chart.iter(f"{SVG}polyline"))) == 2
