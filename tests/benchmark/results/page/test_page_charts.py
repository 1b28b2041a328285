import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from benchmark.core.errors import UserError
from benchmark.results.page import html_page
from benchmark.results.page.charts import Chart, cost_chart, kept_chart, line_styles, score_chart, size_chart
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import Entry, group
from benchmark.results.result import Result, Scoring
from benchmark.results.run_folder import Histogram
from tests.benchmark.results.report.made_families import family
from tests.benchmark.results.report.made_results import metric, result, trained
from tests.benchmark.results.report.made_run_folders import full_result, summary

NOTHING = RunFolders({})
NAMES = {"random": 0.1, "clip": 0.3, "icc": 0.5, "oracle": 0.6}


def entries(*runs: Result) -> list[Entry]:
    return group(runs or [full_result(name, quality) for name, quality in NAMES.items()])


def drawn(chart: Chart | None) -> list[dict[str, Any]]:
    """The variants of a chart; Plotly's own validation accepts each of them."""
    assert chart is not None
    for variant in chart.variants:
        go.Figure({"data": variant.data, "layout": variant.layout})
        json.dumps(variant.data, allow_nan=False)
    return [{"name": v.name, "data": v.data, "layout": v.layout, "note": v.note} for v in chart.variants]


def test_sizes_are_joined_in_order() -> None:
    sizes = ((500_000, 0.4), (100_000, 0.2), (200_000, 0.3))
    rows = entries(full_result("one", 0.1), *(full_result("clip", q, size=size) for size, q in sizes))
    cider, recall, *_ = drawn(size_chart("k", rows, NOTHING, line_styles(rows)))
    assert cider["layout"]["xaxis"]["ticktext"] == ["100k", "200k", "500k"]
    assert cider["layout"]["xaxis"]["title"]["text"] == "size"
    clip, epochs = cider["data"]  # another filter has one size
    assert (clip["name"], clip["customdata"], clip["y"]) == ("clip", ["clip"], [20, 30, 40])
    assert epochs["xaxis"] == "x2"
    assert cider["layout"]["xaxis2"]["ticktext"] == ["0.001", "0.0005", "0.0002"]  # 100 samples
    assert clip["error_y"]["array"] == [0, 0, 0]  # of one seed without scores of images
    assert clip["hovertext"][0] == "clip, 100k: 20.0"
    assert recall["name"] == "text-to-image R@1 (%), coco (dual encoder)"
    assert cider["note"] == "Sizes are written for the paper's pool."
    assert (
        cider["layout"]["xaxis"]["tickvals"] == clip["x"] == [math.log10(size) for size, _ in sorted(sizes)]
    )
    close = entries(*(full_result("clip", 0.2, size=size) for size in (100_000, 101_000, 900_000)))
    spaced, *_ = drawn(size_chart("k", close, NOTHING, line_styles(close)))
    assert spaced["layout"]["xaxis"]["ticktext"] == ["100k", "900k"]  # no two texts over each other
    assert size_chart("k", entries(), NOTHING, line_styles(entries())) is None
    seeds = [full_result("clip", 0.3 + s / 10, size=n, seed=s) for n in (100_000, 200_000) for s in range(3)]
    cider, *_ = drawn(size_chart("k", entries(*seeds), NOTHING, line_styles(entries(*seeds))))
    assert cider["note"].endswith("Bars are 95% intervals over seeds.")
    bars = cider["data"][0]["error_y"]  # 2.776 * 10 / sqrt(3), the variance pooled over both sizes
    assert bars["array"] == bars["arrayminus"] == pytest.approx([16.03] * 2, abs=1e-2)


def test_a_family_has_a_line_per_budget_with_the_best_sizes_marked(tmp_path: Path) -> None:
    values = {
        "clip": {100_000: 0.3, 200_000: 0.31},
        "icc": {100_000: 0.1, 200_000: 0.2},
        "random": {200_000: 0.1},
    }
    more = {name: {size: value + 0.1 for size, value in of.items()} for name, of in values.items()}
    runs = family(tmp_path, {100_000: values, 200_000: more})
    rows = group(runs.results)
    (cider,) = drawn(size_chart("k", rows, runs.folders, line_styles(rows)))
    lines = {(line["name"], line["line"]["width"]): line for line in cider["data"][:-1]}
    assert [*lines] == [(name, width) for width in (1, 2) for name in ("clip", "icc", "random")]
    assert lines["clip", 1]["y"] == [30.2, 31.2]
    assert lines["clip", 2]["y"] == [40.2, 41.2]
    assert lines["clip", 1]["hovertext"][0].startswith("clip, 100k, 100k: 30.2")
    assert lines["clip", 2]["marker"]["size"] == [6, 12]
    assert lines["icc", 2]["marker"]["size"] == [6, 6]
    assert "meta" not in lines["random", 2]  # the script hides only lines with a label
    assert "customdata" not in lines["clip", 1]
    above = cider["layout"]["xaxis2"]
    assert above["title"]["text"] == "epochs at budget 100k / 200k"
    assert above["ticktext"] == ["1 / 2", "0.5 / 1"]
    assert "Thin lines are smaller budgets" in cider["note"]


def test_the_front_joins_what_no_cheaper_filter_beats() -> None:
    costs = {
        "random": (1, 0.1),
        "worse": (10, 0.05),
        "icc": (100, 0.2),
        "slow": (1000, 0.15),
        "oracle": (2, 0.9),
    }
    rows = entries(*(full_result(name, q, scoring=Scoring(s, 0.0)) for name, (s, q) in costs.items()))
    cider, *_ = drawn(cost_chart("k", rows, NOTHING, line_styles(rows), ["worse"]))
    front, *points = cider["data"]
    assert (front["x"], front["y"]) == ([1, 100], [10, 20])
    assert {point["name"] for point in points if "customdata" in point} == {"random", "icc", "worse"}
    assert {point["name"] for point in points if "opacity" in point} == {"slow", "oracle"}
    assert "icc: 100 s, 20.0" in {point["hovertext"][0] for point in points}
    assert "Point at a pale mark" in cider["note"]

    runs = []
    for name, seconds, error in (("random", 1, 3.0), ("worse", 10, 4.0), ("icc", 100, 1.0)):
        errors = metric("errors", error, unit="words", higher_is_better=False)
        models = {"own": trained(coco=[errors])}
        runs.append(result(name, downstream=models, scoring=Scoring(seconds, 0.0)))
    lower = entries(*runs)
    front, *_ = drawn(cost_chart("k", lower, NOTHING, line_styles(lower), []))[0]["data"]
    assert (front["x"], front["y"]) == ([1, 100], [3, 1])
    untimed = [full_result(name, 0.5, scoring=Scoring(0.0, 0.0)) for name in ("clip", "icc")]
    for rows in (entries(full_result("clip", 0.5), full_result("oracle", 0.6)), entries(*untimed)):
        assert cost_chart("k", rows, NOTHING, line_styles(rows), []) is None


def test_as_many_filters_as_colours_and_dashes_have_unique_styles() -> None:
    runs = [full_result(f"f{n}", 0.1, family="planted" if n < 5 else "") for n in range(50)]
    styles = line_styles(entries(*runs, full_result("random", 0.1)))
    looks = [(style["line"]["color"], style["line"]["dash"]) for style in styles.values()]
    assert len(set(looks)) == 42  # 36 of those that compete, and 6 in grey
    assert styles["random"]["marker"]["symbol"] == "circle-open"
    assert styles["f0"]["marker"]["symbol"] == "diamond-open"


def test_kinds_and_lengths_are_drawn() -> None:
    rows, summaries = entries(), {"clip": summary(), "icc": summary()}
    kinds, lengths = drawn(kept_chart("k", rows, summaries))
    assert [trace["name"] for trace in kinds["data"]] == ["concrete", "web string"]
    assert kinds["data"][0]["x"] == [75] * 4
    (box,) = lengths["data"]
    assert lengths["layout"]["yaxis"]["ticktext"] == ["the pool", "clip", "icc"]
    assert lengths["layout"]["yaxis"]["range"] == [2.5, -0.5]
    assert box["median"] == [1, 2.75, 2.75]  # half of 500 + 400 + 100; 30 of the 80 in the bin from 2 to 4
    unknown = entries(full_result("clip", 0.5, kept={}))
    assert kept_chart("k", unknown, {}) is None
    nothing, of_pool = Histogram((0.0, 1.0), (0,), (0,)), Histogram((0.0, 1.0), (5,), (0,))
    assert kept_chart("k", unknown, {"clip": replace(summary(), histograms={"words": nothing})}) is None
    (words,) = drawn(kept_chart("k", unknown, {"clip": replace(summary(), histograms={"words": of_pool})}))
    assert words["layout"]["yaxis"]["ticktext"] == ["the pool"]


def test_scores_have_their_threshold() -> None:
    linear, logarithmic = drawn(score_chart("k", "clip", summary().scores, 1.5))
    assert linear["layout"]["shapes"][0]["x0"] == linear["layout"]["annotations"][0]["x"] == 1.5
    assert [trace["y"] for trace in linear["data"]] == [[500, 400, 100], [0, 20, 80]]
    assert linear["data"][0]["x"] == [0.5, 1.5, 3]
    assert logarithmic["layout"]["yaxis"]["type"] == "log"
    assert "shapes" not in drawn(score_chart("k", "clip", summary().scores, None))[0]["layout"]


@pytest.mark.parametrize("name", ["<b>bold</b>", "<a href='javascript:alert(1)'>x</a>", "&lt;"])
def test_plotly_is_given_no_markup(name: str) -> None:
    rows = entries(full_result(name, 0.5), full_result(name, 0.4, size=100_000))
    styles, summaries = line_styles(rows), {name: summary(0, name), f"{name}2": summary(1, name)}
    others = [rows[1], *entries()]
    charts = [
        size_chart("k", rows, NOTHING, styles),
        cost_chart("k", others, NOTHING, styles | line_styles(others), [name]),
        kept_chart("k", rows, summaries),
    ]
    traces = [trace for chart in charts for variant in drawn(chart) for trace in variant["data"]]
    for trace in traces:
        trace.pop("meta", None)  # is not shown
    text = json.dumps(traces, ensure_ascii=False)
    assert name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in text
    assert "<" not in text.replace("<extra></extra>", "")


def test_a_checkout_without_plotlys_script_says_how_to_get_it() -> None:
    with pytest.raises(UserError, match=r"the page lacks its gone\.js; run `.* --editable .*`"):
        html_page._static("gone.js")
