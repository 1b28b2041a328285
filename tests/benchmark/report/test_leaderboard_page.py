import re
from dataclasses import replace

from benchmark.report.certainty import RunFolders
from benchmark.report.leaderboard_figures import KIND_COLOURS
from benchmark.report.leaderboard_page import leaderboard_page
from benchmark.report.leaderboard_tables import leaderboard
from benchmark.report.table import Cell, Table
from benchmark.results.result import Result, Scoring
from tests.benchmark.report.charts_read import SVG, charts, charts_in_order, tooltips, written
from tests.benchmark.report.made_results import metric, result, trained

CIDER = "captioner on coco: CIDEr"


def run(
    name: str, cider: float | None, *, size: int = 200_000, seed: int = 0, curve: tuple[float, ...] = ()
) -> Result:
    metrics = [metric("CIDEr", cider, None if cider else "no Java")]
    metrics += [metric("Unique-1", 2.0, curve=curve)] if curve else []
    models = {"captioner": trained(coco=metrics)}
    return result(name, size=size, seed=seed, downstream=models, scoring=Scoring(0.0, 0.0))


def page(*results: Result) -> str:
    return leaderboard_page(results, leaderboard(results, RunFolders({})))


def test_filters_are_ranked_and_coloured() -> None:
    runs = [run("random", 0.3), run("clip", 0.2), run("icc", 0.6), run("oracle", 0.9)]
    chart = charts(page(*runs))[CIDER]
    assert tooltips(chart) == ["oracle: 90.0", "icc: 60.0", "random: 30.0", "clip: 20.0"]
    colours = [box.get("fill") for box in chart.iter(f"{SVG}rect")]
    assert len(set(colours)) == 4  # upper bound, better than random, random, not better
    outlined = [box for box in chart.iter(f"{SVG}rect") if box.get("stroke-dasharray")]
    assert len(outlined) == 1  # the upper bound's


def test_seeds_are_averaged_with_whiskers() -> None:
    html = page(run("clip", 0.1, seed=0), run("clip", 0.3, seed=1))
    chart = charts(html)[CIDER]
    assert tooltips(chart) == ["clip: 20.0 ± 14.1"]  # the deviation of 10 and 30 is the square root of 200
    assert len(list(chart.iter(f"{SVG}polyline"))) == 1


def test_every_size_has_its_charts_on_one_scale() -> None:
    html = page(run("clip", 0.2), run("clip", 0.4, size=500_000))
    assert "demo 200k: 2,000 pairs kept of 79,000 scored" in html
    assert "demo 500k: 5,000 pairs kept of 79,000 scored" in html
    ticks = [[text for text in written(chart) if text.isdigit()] for chart in charts_in_order(html)]
    assert ticks[0] == ticks[1]


def test_a_chart_without_data_is_left_out() -> None:
    assert list(charts(page(run("clip", 0.5)))) == [CIDER]
    assert charts(page(run("clip", None))) == {}
    assert charts(leaderboard_page([], [Table("t", ["a"], [[Cell("1")]])])) == {}


def test_noise_costs_and_diversity_are_drawn() -> None:
    known = {"scoring": Scoring(12.5, 0.0), "kept": {"concrete": 15, "person": 5, "unheard_of": 20}}
    runs = [replace(run("clip", 0.5, curve=(3, 4, 0)), **known), replace(run("icc", 0.4), **known)]
    html = page(*runs)
    drawn = charts(html)
    assert list(drawn) == [CIDER, "What each filter keeps", "Cost against CIDEr", "position in the caption"]
    assert tooltips(drawn["What each filter keeps"])[:3] == [
        "clip, concrete: 37.5%", "clip, person: 12.5%", "clip, unheard of: 50.0%",
    ]  # fmt: skip
    assert f'<i style="background:{KIND_COLOURS["concrete"]}"></i>concrete' in html
    assert tooltips(drawn["Cost against CIDEr"]) == ["clip: 12.5 s, 50.0", "icc: 12.5 s, 40.0"]


def test_diversity_curves_are_read_from_the_results() -> None:
    names = ["random", "oracle", *(f"filter_{n}" for n in range(6))]
    curves = {name: (float(number), 4.0, 0.0) for number, name in enumerate(names)}
    html = page(*(run(name, 0.1 * (n + 1), curve=curves[name]) for n, name in enumerate(names)))
    drawn = charts(html)["position in the caption"]
    assert "Different words by position" in html
    assert sorted(tooltips(drawn)) == sorted(
        f"{name}, position {n + 1}: {value:g}" for name in names for n, value in enumerate(curves[name])
    )
    legend = re.findall(r"</i>([^<]*)</span>", html)
    assert legend == ["filter_5", "filter_4", "filter_3", "filter_2", "random", "oracle", "others"]


def test_all_text_of_results_is_escaped() -> None:
    name = '<script>alert("1")</script>'
    metrics = [metric("CIDEr", 0.5), metric("SPICE", None, name)]
    evil = result(
        name, pool=name, machine=name, git_commit=name, finished=name, versions={name: name}, kept={name: 1},
        downstream={"captioner": trained(**{name: metrics})},
    )  # fmt: skip
    html = page(evil)
    assert "<script" not in html
    assert not re.search(r"(src|href)=", html)
    assert html.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;") > 10
    assert len(charts(html)) == 3


def test_tables_and_provenance_are_on_the_page() -> None:
    runs = [run("clip", 0.5), run("icc", 0.6), run("random", None)]
    runs = [
        replace(made, versions={"torch": number}, machine="m", git_commit="c" + number, finished=number)
        for made, number in zip(runs, ("1.0", "2.0", "2.0"), strict=True)
    ]
    html = page(*runs)
    assert "<td>60.0</td>" in html
    assert "torch 1.0 / 2.0" in html
    assert "<b>machine</b>: m<br>" in html
    assert "c1.0 · c2.0" in html
    assert "C is missing: no Java" in html


def test_a_bold_cell_is_escaped_too() -> None:
    cells = [Cell("<script>", bold=True), Cell("**")]
    html = leaderboard_page([], [Table("<i>", ["a", "<u>"], [cells], ["<s>"])])
    assert "<td><b>&lt;script&gt;</b></td><td>**</td>" in html
    assert not re.search("<(i|u|s)>", html)
