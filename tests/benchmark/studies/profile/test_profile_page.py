import re
from xml.etree import ElementTree as ET

import pytest

from benchmark.report.svg import WIDE, lines, stacked_bars, steps
from benchmark.studies.profile.examples import Example
from benchmark.studies.profile.intervals import Estimate
from benchmark.studies.profile.page import to_html
from benchmark.studies.profile.profiling import Cluster, Profile
from benchmark.studies.profile.statistics import MEANS, RELATIVE, Group, Histogram
from benchmark.studies.profile.tables import SHOWN, profile_tables

SVG = "{http://www.w3.org/2000/svg}"
SERIES = (("a & b", "#111111"), ("<b>", "#222222"))


def group(images: int, with_text: int, parrots: int) -> Group:
    estimate = Estimate(0.25, 0.125, 0.5, images)
    means = dict.fromkeys(MEANS, estimate)
    if not with_text:
        means["clip_text"] = Estimate(None, None, None, 0, "no such image")
    share = Estimate(with_text / images, 0.0, 1.0, images)
    return Group(images, with_text, parrots, share, share, means)


def profile(clusters: int = 2, caption: str = "a cat") -> Profile:
    found = [
        Cluster(n, group(10, 10 - n % 10, 1), Example(f"{n:032x}", caption, caption.split()[1:], 0.5))
        for n in range(clusters)
    ]
    bars = Histogram([-0.03, -0.01, 0.01, 0.03], [1, 0, 2])
    return Profile(
        pool="p", url="/p", shards=3, sample=40, drawn_from=30, unusable={"caption_empty": 4}, drops={"no_score": 1},
        ocr={}, ocr_key="", clip={}, clip_key="", overall=group(30, 20, 10), clusters=found,
        histograms=dict.fromkeys(RELATIVE, bars), run_id="p-1", seed=0, worker_seconds=1.0,
    )  # fmt: skip


def test_captions_are_escaped_and_what_they_repeat_is_marked() -> None:
    page = to_html(profile(caption='see <script>alert("1")</script> & "so"'))
    assert "<script" not in page
    assert "see <b>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</b> <b>&amp;</b>" in page


def test_the_page_is_complete_and_loads_nothing() -> None:
    page = to_html(profile(clusters=30))
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 3
    for chart in charts:
        ET.fromstring(chart)
    assert page.count('class="words"') == 30
    assert not re.search(r"(src|href)=", page)


def test_bars_are_as_high_as_their_shares() -> None:
    chart = ET.fromstring(stacked_bars([[0.25, 0.75], [1, 0]], SERIES, ["<one>", "two"], "x < y"))
    bars = chart.findall(f"{SVG}g")
    heights = [
        [float(box.get("height", "")) / WIDE.plot_height for box in bar.findall(f"{SVG}rect")] for bar in bars
    ]
    assert heights == [pytest.approx([0.25, 0.75], abs=1e-3), pytest.approx([1, 0], abs=1e-3)]
    assert [bar.findtext(f"{SVG}title") for bar in bars] == ["<one>", "two"]
    assert {text.text for text in chart.findall(f"{SVG}text")} >= {"a & b", "<b>", "x < y", "100%"}


def test_a_line_is_broken_where_a_cluster_has_no_such_images() -> None:
    rows = [[1.0, 2.0, None, 4.0, 5.0], [None, None, 3.0, None, None]]
    chart = ET.fromstring(lines(rows, SERIES, ["c"] * 5, "x"))
    pieces = [len(line.get("points", "").split()) for line in chart.findall(f"{SVG}polyline")]
    assert pieces == [2, 2]
    assert len(chart.findall(f"{SVG}circle")) == 5


@pytest.mark.parametrize("rows", [[[None]], [[0.5]], [[0.0, 0.0]], [[-1e-9, 1e-9]]])
def test_lines_of_hardly_anything(rows: list[list[float | None]]) -> None:
    ET.fromstring(lines(rows, SERIES[:1], ["c"] * len(rows[0]), "x"))


def test_histograms_of_nothing() -> None:
    ET.fromstring(steps([-0.01, 0.01], [[0], [0]], SERIES, "x"))


def test_tables_of_many_clusters_show_both_ends() -> None:
    clusters, *_, text = profile_tables(profile(clusters=2 * SHOWN + 3))
    assert [row[0] for row in clusters.rows] == [
        str(n) for n in (*range(SHOWN), *range(SHOWN + 3, 2 * SHOWN + 3))
    ]
    assert clusters.notes == ["3 clusters between them are in the JSON and in the page."]
    assert text.notes == [
        "Dropped: 1 no_score.",
        "Not drawn from, in the same shards: 4 caption_empty.",
        "The pool has no more than 30 usable samples.",
    ]
    rows = {row[0]: row[1:] for row in text.rows}
    assert rows["Co-embedded text rate, all images"] == ["25.00%", "[12.50%, 50.00%]", "30"]
    assert rows["Share of images with text"][0] == "66.67%"


def test_a_missing_mean_is_a_dash() -> None:
    found = profile()
    found.clusters.append(Cluster(7, group(3, 0, 0), Example("0" * 32, "x", [], 0.1)))
    clusters = profile_tables(found)[0]
    column = clusters.header.index("with text", 3)
    assert [row[column] for row in clusters.rows] == ["0.2500", "0.2500", "–"]
