"""The claims and the numbers in README, the leaderboard and the report's documentation are those of the results."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import bartlett

from benchmark.core.paths import REFERENCE_RESULTS
from benchmark.core.records import read_records
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import Entry, Leaderboard, leaderboards
from benchmark.results.report.leaderboard_tables import summary_board
from benchmark.results.result import Result
from benchmark.run.config import CONF
from pairsift.demo.worlds import WORLDS
from pairsift.studies.findings import SEVERAL, rank_agreement_tables
from tests.benchmark.results.report.made_results import texts

CIDER, RECALL, ZERO_SHOT = METRICS = range(3)
OF_CAPTIONS, OF_PAIRS, BOTH = ("vba", "icc", "sba"), ("clip", "tmars", "pacscore"), ("rank_sum", "intersect")
SIZES = (100_000, 200_000, 500_000, 2_000_000)
BETTER = [
    *product((CIDER, RECALL), BOTH, ("clip", "icc")),
    *((CIDER, name, "oracle") for name in BOTH),
    *((ZERO_SHOT, "random", name) for name in ("normsim", "vas")),
    *((ZERO_SHOT, name, "random") for name in ("negcliploss", "intersect")),
    (CIDER, "vba", "pacscore"), (RECALL, "pacscore", "vba"), (RECALL, "pacscore", "icc"),
]  # fmt: skip
NOT_SHOWN = [
    *product(METRICS, ("no_text", "cotr", "rsa", "rsc"), ("no_text", "cotr", "rsa", "rsc")),
    *((CIDER, name, "vba") for name in BOTH),
    (CIDER, "icc", "pacscore"), (CIDER, "pacscore", "icc"), (CIDER, "icc", "vba"), (CIDER, "vba", "icc"),
]  # fmt: skip


@cache
def results() -> list[Result]:
    return read_records(REFERENCE_RESULTS, Result)


@cache
def boards() -> list[Leaderboard]:
    return leaderboards(results())


@cache
def compared(metric: int) -> Compared:
    """The published leaderboard by a headline metric, with the scores of single images."""
    entries = summary_board(boards()).entries
    folders = RunFolders({run.run_id: REFERENCE_RESULTS / run.run_id for run in results()})
    return compare_entries(headlines(entries)[metric], entries, folders)


def entries_at(size: int) -> dict[str, Entry]:
    setting = summary_board(boards()).protocol.setting
    (board,) = (b for b in boards() if b.protocol.setting == setting and b.entries[0].size == size)
    return {entry.label: entry for entry in board.entries}


def means(metric: int, entries: dict[str, Entry]) -> dict[str, float]:
    measure = headlines([*entries.values()])[metric]
    return {label: float(np.mean(measure.values(entry))) for label, entry in entries.items()}


def better(metric: int, one: str, other: str) -> tuple[bool, str]:
    """Whether one filter is better than another, and the corrected p value as sentences have it: .094."""
    of = compared(metric)
    first, second = of.index(one), of.index(other)
    assert first is not None
    assert second is not None
    p = of.comparison.p_values[first, second]
    return of.comparison.better(first, second), f"{p:.3f}".lstrip("0")


@pytest.mark.parametrize(("shown", "claims"), [(True, BETTER), (False, NOT_SHOWN)])
def test_claims_are_what_the_comparison_shows(shown: bool, claims: list[tuple[int, str, str]]) -> None:
    assert [claim for claim in claims if better(*claim)[0] != shown] == []


def test_the_best_single_filter_depends_on_the_model() -> None:
    best = {}
    for metric, size in product((CIDER, RECALL), SIZES):
        entries = entries_at(size)
        single = {label: entries[label] for label in entries_at(100_000) if entries[label].competes}
        of_metric = means(metric, single)
        best[metric, size] = max(of_metric, key=of_metric.__getitem__)
    assert {best[RECALL, size] for size in SIZES} == {"pacscore"}
    assert [size for size in SIZES if best[CIDER, size] == "vba"] == [*SIZES[:3]]
    for metric in (CIDER, RECALL):
        competing = {label: e for label, e in entries_at(200_000).items() if e.competes}
        of_metric = means(metric, competing)
        assert {*sorted(of_metric, key=of_metric.__getitem__)[-2:]} == {*BOTH}


def test_captions_come_last_at_retrieval_but_at_500k() -> None:
    for size in SIZES[:3]:
        found = means(RECALL, entries_at(size))
        last = max(found[name] for name in OF_CAPTIONS) < min(found[name] for name in OF_PAIRS)
        assert min(found[name] for name in OF_CAPTIONS) > found["random"]
        assert last == (size < 500_000)
    assert min(found[name] for name in OF_CAPTIONS) > max(found["clip"], found["tmars"])


def test_pacscore_changes_its_place_between_worlds() -> None:
    places = {}
    for board in boards():
        if found := re.search(r"consistency=([\d.]+)", board.protocol.name):
            of = means(CIDER, {entry.label: entry for entry in board.entries})
            places[found[1]] = sorted(of, key=of.__getitem__, reverse=True).index("pacscore") + 1
    assert places == {"0": 2, "0.5": 4, "1": 4}


def test_only_two_are_above_random_by_zero_shot_accuracy() -> None:
    competing = [name for name, entry in entries_at(200_000).items() if entry.competes]
    assert sorted(n for n in competing if better(ZERO_SHOT, n, "random")[0]) == ["intersect", "negcliploss"]


def test_at_2m_captioners_are_worse_and_zero_shot_accuracy_is_higher() -> None:
    largest, smaller = entries_at(2_000_000), entries_at(500_000)
    captioners, before = means(CIDER, largest), means(CIDER, smaller)
    above = [n for n in largest if captioners[n] > captioners["random"] and n != "complexity_action"]
    assert len(above) >= 6
    assert all(captioners[name] < before[name] for name in above)
    accuracies = {size: means(ZERO_SHOT, entries_at(size)) for size in SIZES}
    best = {name: max(SIZES, key=lambda size, name=name: accuracies[size][name]) for name in largest}
    assert {name for name, size in best.items() if size < 2_000_000} == {"complexity_action"}


def numbers() -> Iterator[tuple[str, list[str]]]:
    """Numbers of the results with the file that has them, near each other and in this order."""
    of_vba, of_oracle = ([better(CIDER, name, other)[1] for name in BOTH] for other in ("vba", "oracle"))
    yield "README.md", of_vba
    yield "results/LEADERBOARD.md", [*of_oracle, *of_vba]
    yield "results/LEADERBOARD.md", [better(ZERO_SHOT, n, "random")[1] for n in ("negcliploss", "intersect")]
    recall = means(RECALL, entries_at(200_000))
    yield "results/LEADERBOARD.md", [f"{recall[name]:.1f}" for name in ("pacscore", "icc")]
    above = []
    for metric in METRICS:
        of_metric = means(metric, entries_at(200_000))
        above.append(str(sum(mean > of_metric["oracle"] for mean in of_metric.values())))
    yield "results/LEADERBOARD.md", [*above, "rows"]
    accuracies = [means(ZERO_SHOT, entries_at(size)) for size in (2_000_000, 500_000)]
    yield "results/LEADERBOARD.md", [f"{accuracies[0]['random']:.1f}", f"{accuracies[1]['oracle']:.1f}"]

    rows = texts(rank_agreement_tables(results())[0])
    taus = {(name, metric): tau.replace("0.", ".") for name, metric, _, tau in rows}
    of_name = {name: tau for (name, _), tau in taus.items()}
    for number, metric in enumerate(("CIDEr", "text-to-image R@1 (%)"), 1):
        of_paper = [f"{size}: coco and the ICC paper's Table {number}" for size in ("100k", "200k", "500k")]
        yield "results/LEADERBOARD.md", [f"Table {number}", *(of_name[name] for name in of_paper)]
        seeds = [tau for (n, m), tau in taus.items() if n.startswith("coco, 200k: seeds") and m == metric]
        yield "results/LEADERBOARD.md", [min(seeds), max(seeds)]
    yield (
        "results/LEADERBOARD.md",
        [taus[n, "CIDEr and text-to-image R@1 (%)"] for n in ("coco, 200k, 3 seeds", "coco, 200k")],
    )

    pool = pq.read_table(WORLDS / "cut.parquet", columns=["noise"])["noise"].to_pylist().count("mismatched")
    kept = [entries_at(200_000)[name].runs[0].kept for name in OF_CAPTIONS]
    of_pool = sorted(of["mismatched"] / pool for of in kept)
    assert all(0.24 < of["mismatched"] / sum(of.values()) < 1 / 3 for of in kept)
    yield "results/LEADERBOARD.md", [f"{100 * of_pool[0]:.0f}", f"{100 * of_pool[-1]:.0f}%"]
    run = entries_at(200_000)["complexity_action"].runs[0]
    passing, kinds = run.selection.scored / run.pairs_read, ("abstract", "news", "concrete")
    yield (
        "results/LEADERBOARD.md",
        [f"{passing:.0%}", *(f"{100 * run.kept[kind] / run.k:.0f}%" for kind in kinds)],
    )

    entries = [entry for entry in entries_at(200_000).values() if len(entry.runs) >= SEVERAL]
    values = [[np.array(measure.values(e)) for e in entries] for measure in headlines(entries)]
    of_seeds = [f"{bartlett(*of).pvalue:.2f}".lstrip("0") for of in values]
    yield (
        "docs/report.md",
        [*of_seeds, f"{bartlett(*map(np.sqrt, values[CIDER])).pvalue:.2f}".lstrip("0"), ".001"],
    )
    assert bartlett(*map(np.log, values[CIDER])).pvalue < 0.001


def test_numbers_in_sentences_are_those_of_the_results() -> None:
    for file, wanted in numbers():
        lines = (CONF.parent / file).read_text().splitlines()
        text = " ".join(line for line in lines if not line.startswith("|"))  # no tables
        near = r".{,90}?".join(rf"(?<![\d.]){re.escape(number)}(?!\d)" for number in wanted)
        assert re.search(near, text), (file, wanted)
