import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmark.report.bar_charts import Bar, Point, cost_scatter, ranked_bars, stacked_rows
from benchmark.report.leaderboard_figures import KIND_COLOURS
from benchmark.report.leaderboard_page import to_html
from benchmark.report.leaderboard_tables import Table, leaderboard
from benchmark.results.result import DownstreamResult, Result

SVG = "{http://www.w3.org/2000/svg}"


def result(
    name: str, cider: float | None, *, size: int = 200_000, seed: int = 0, folder: Path = Path("nowhere")
) -> Result:
    metric = {"name": "CIDEr", "value": cider, "reason": "why", "count": 1, "version": "v"}
    return Result(
        run_id=f"{name}-{size}-{seed}",
        filter=name,
        size=size,
        k=2_000,
        pool="demo",
        seed=seed,
        selection={"threshold": 0.5, "scored": 80_000, "config": {"_target_": name}},
        downstream={"captioner": DownstreamResult(str(folder / name / "model"), {}, {"coco": [metric]})},
        stages={},
        config={},
    )


def page(*results: Result) -> str:
    return to_html(results, leaderboard(results))


def charts(html: str) -> dict[str, ET.Element]:
    found = [ET.fromstring(chart) for chart in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]
    return {chart.get("aria-label", ""): chart for chart in found}


def bars(chart: ET.Element) -> list[tuple[str | None, float, str | None]]:
    """What each bar says when pointed at, its width, its colour; from top to bottom."""
    groups = [group for group in chart.findall(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
    boxes = [(group.findtext(f"{SVG}title"), group.find(f"{SVG}rect")) for group in groups]
    return [(says, float(box.get("width", "")), box.get("fill")) for says, box in boxes if box is not None]


def test_bars_are_ranked_and_as_long_as_their_values() -> None:
    given = [
        Bar("low", 10, "10.0", "#111111"),
        Bar("high", 40, "40.0", "#222222"),
        Bar("mid", 20, "20.0", "#333333"),
    ]
    chart = ET.fromstring(ranked_bars(given, 80, None, "x"))
    says, widths, colours = zip(*bars(chart), strict=True)
    assert says == ("high: 40.0", "mid: 20.0", "low: 10.0")
    assert colours == ("#222222", "#333333", "#111111")
    assert [width / widths[2] for width in widths] == pytest.approx([4, 2, 1], rel=1e-2)


def test_whiskers_reach_one_deviation_to_both_sides_and_not_below_zero() -> None:
    given = [Bar("one", 40, "40.0 ± 10.0", "#111111", 10.0), Bar("two", 20, "20.0 ± 30.0", "#111111", 30.0)]
    chart = ET.fromstring(ranked_bars(given, 50, 20.0, "x"))
    (_, longer, _), (_, shorter, _) = bars(chart)
    box = chart.find(f".//{SVG}rect")
    assert box is not None
    left = float(box.get("x", ""))
    ends = [
        [float(point.split(",")[0]) - left for point in line.get("points", "").split()]
        for line in chart.iter(f"{SVG}polyline")
    ]
    unit = longer / 40
    assert ends == [pytest.approx([30 * unit, 50 * unit], abs=0.2), pytest.approx([0, 50 * unit], abs=0.2)]
    dashed = [line for line in chart.findall(f"{SVG}line") if line.get("stroke-dasharray")]
    assert [float(line.get("x1", "")) - left for line in dashed] == [pytest.approx(shorter, abs=0.2)]


def test_stacked_rows_fill_their_width() -> None:
    series = [("good", "#111111"), ("bad", "#222222")]
    chart = ET.fromstring(stacked_rows(["one", "two"], [[0.25, 0.75], [1, 0]], series, "x"))
    parts = bars(chart)
    whole = parts[2][1]
    assert [width / whole for _, width, _ in parts] == pytest.approx([0.25, 0.75, 1, 0], abs=2e-3)
    assert [says for says, _, _ in parts] == [
        "one, good: 25.0%",
        "one, bad: 75.0%",
        "two, good: 100.0%",
        "two, bad: 0.0%",
    ]
    assert {text.text for text in chart.iter(f"{SVG}text")} >= {"25%", "100%"}


def test_cost_is_logarithmic_and_the_line_joins_what_no_cheaper_one_beats() -> None:
    costs = {"cheap": (1, 10), "worse": (10, 5), "good": (100, 20), "dear": (1000, 15)}
    points = [Point(name, seconds, value, "#111111") for name, (seconds, value) in costs.items()]
    points.append(Point("oracle", 2, 90, "#222222", bound=True))
    chart = ET.fromstring(cost_scatter(points, "x", "seconds"))
    across = [float(dot.get("cx", "")) for dot in chart.findall(f"{SVG}circle")]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)
    assert across[2] - across[1] == pytest.approx(across[3] - across[2], abs=0.2)
    line = chart.find(f"{SVG}polyline")
    assert line is not None
    front = [float(point.split(",")[0]) for point in line.get("points", "").split()]
    assert front == pytest.approx([across[0], across[2]], abs=0.2)
    assert {text.text for text in chart.findall(f"{SVG}text")} >= {*costs, "oracle", "1 s", "1,000 s"}


def test_labels_of_points_in_one_place_do_not_cover_each_other() -> None:
    chart = ET.fromstring(cost_scatter([Point(f"filter_{n}", 5, 50, "#111111") for n in range(30)], "x", "s"))
    placed = [text for text in chart.findall(f"{SVG}text") if (text.text or "").startswith("filter_")]
    assert 1 < len(placed) < 30
    assert len({(text.get("x"), text.get("y")) for text in placed}) == len(placed)
    assert len(chart.findall(f"{SVG}circle")) == 30


def test_the_ranking_by_hand() -> None:
    html = page(result("random", 0.3), result("clip", 0.2), result("icc", 0.6), result("oracle", 0.9))
    ranking = charts(html)["captioner on coco: CIDEr"]
    says, widths, colours = zip(*bars(ranking), strict=True)
    assert says == ("oracle: 90.0", "icc: 60.0", "random: 30.0", "clip: 20.0")
    assert len(set(colours)) == 4
    assert colours[0] == "currentColor"
    assert [width / widths[0] for width in widths] == pytest.approx([1, 2 / 3, 1 / 3, 2 / 9], rel=1e-2)
    assert len([box for box in ranking.iter(f"{SVG}rect") if box.get("stroke-dasharray")]) == 1


def test_seeds_are_averaged_and_sizes_have_one_scale() -> None:
    runs = [result("clip", 0.1, seed=0), result("clip", 0.3, seed=1), result("clip", 0.4, size=500_000)]
    both = re.findall(r"<svg.*?</svg>", page(*runs), re.DOTALL)
    (small,), (large,) = (bars(ET.fromstring(chart)) for chart in both)
    assert small[0] == "clip: 20.0 ± 14.1"  # the deviation of 10 and 30 is the square root of 200
    assert large[0] == "clip: 40.0"
    assert "size 200k: 2,000 pairs kept of 80,000 scored" in page(*runs)
    assert len(list(ET.fromstring(both[0]).iter(f"{SVG}polyline"))) == 1


def test_a_chart_without_data_is_left_out() -> None:
    assert list(charts(page(result("clip", 0.5)))) == ["captioner on coco: CIDEr"]
    assert charts(page(result("clip", None))) == {}
    assert charts(to_html([], [Table("t", ["a", "b"], [["1", "2"]], [])])) == {}


def test_what_is_known_is_drawn(tmp_path: Path) -> None:
    full = [result(name, value, folder=tmp_path) for name, value in (("clip", 0.5), ("icc", 0.4))]
    for run in full:
        run.scoring = {"seconds": 12.5}
        run.kept = {"concrete": 15, "parrot": 5, "unheard_of": 20}
    (tmp_path / "clip").mkdir()
    (tmp_path / "clip" / "diversity_coco.json").write_text(json.dumps({"Unique-1": [3, 4, 0]}))
    found = charts(page(*full))
    assert list(found) == [
        "captioner on coco: CIDEr", "what each filter keeps", "cost against quality", "position in the caption",
    ]  # fmt: skip
    kept = bars(found["what each filter keeps"])
    assert [says for says, _, _ in kept[:3]] == [
        "clip, concrete: 37.5%", "clip, parrot: 12.5%", "clip, unheard of: 50.0%",
    ]  # fmt: skip
    assert kept[0][2] == KIND_COLOURS["concrete"]
    curve = found["position in the caption"].findall(f"{SVG}circle")
    assert [dot.findtext(f"{SVG}title") for dot in curve] == [
        "clip, position 1: 3", "clip, position 2: 4", "clip, position 3: 0",
    ]  # fmt: skip


def test_all_that_comes_from_results_is_escaped(tmp_path: Path) -> None:
    name = '<script>alert("1")</script>'
    evil = result(name, 0.5, folder=tmp_path)
    evil.pool = evil.machine = evil.git_commit = evil.finished = name
    evil.versions = {name: name}
    evil.scoring, evil.kept = {"seconds": 1.0}, {name: 1}
    evil.downstream["captioner"].evaluations = {name: evil.downstream["captioner"].evaluations["coco"]}
    evil.downstream["captioner"].evaluations[name].append(
        {"name": "SPICE", "value": None, "reason": name, "count": 0, "version": name}
    )
    html = page(evil)
    assert "<script" not in html
    assert not re.search(r"(src|href)=", html)
    assert html.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;") > 10
    assert len(charts(html)) == 3


def test_tables_and_where_results_come_from() -> None:
    runs = [result("clip", 0.5), result("icc", 0.6)]
    for run, version in zip(runs, ("1.0", "2.0"), strict=True):
        run.versions, run.machine, run.git_commit, run.finished = (
            {"torch": version},
            "m",
            "c" + version,
            version,
        )
    html = page(*runs)
    assert "<td><b>60.0</b></td>" in html
    assert "torch 1.0 / 2.0" in html
    assert "<b>machine</b>: m<br>" in html
    assert "c1.0 · c2.0" in html
    missing = page(result("clip", None), result("icc", 0.5))
    assert "C is missing: why" in missing


def test_a_bold_cell_is_escaped_too() -> None:
    html = to_html([], [Table("<i>", ["a", "<u>"], [["**<script>**", "**"]], ["<s>"])])
    assert "<td><b>&lt;script&gt;</b></td><td>**</td>" in html
    assert not re.search("<(i|u|s)>", html)
