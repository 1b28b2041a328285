"""The numbers and claims of README, the leaderboard and docs/report.md are those of the reference results."""

import re
from functools import cache
from pathlib import Path

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
from tests.command_line import Run

CIDER, RECALL, ZERO_SHOT = METRICS = range(3)
BOTH = ("rank_sum", "intersect")
OF_CAPTIONS, OF_PAIRS = ("vba", "icc", "sba"), ("clip", "tmars", "pacscore")
SIZES = (100_000, 200_000, 500_000, 2_000_000)
README, LEADERBOARD = "README.md", "results/LEADERBOARD.md"


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


@cache
def entries_at(size: int) -> dict[str, Entry]:
    setting = summary_board(boards()).protocol.setting
    (board,) = (b for b in boards() if b.protocol.setting == setting and b.entries[0].size == size)
    return {entry.label: entry for entry in board.entries}


def means(metric: int, entries: dict[str, Entry]) -> dict[str, float]:
    measure = headlines([*entries.values()])[metric]
    return {label: float(np.mean(measure.values(entry))) for label, entry in entries.items()}


def index(of: Compared, name: str) -> int:
    found = of.index(name)
    assert found is not None
    return found


def better(metric: int, one: str, other: str) -> bool:
    of = compared(metric)
    return of.comparison.better(index(of, one), index(of, other))


def p_of(metric: int, one: str, other: str) -> str:
    """The corrected p value of a comparison as sentences have it: .094."""
    of = compared(metric)
    return f"{of.comparison.p_values[index(of, one), index(of, other)]:.3f}".lstrip("0")


def missing(file: str, *quoted: str) -> list[str]:
    """Return the quoted numbers that the file does not have."""
    text = " ".join((CONF.parent / file).read_text().split())
    return [quote for quote in quoted if quote not in text]


CLAIMS = {
    **{(metric, one, other): True for metric in (CIDER, RECALL) for one in BOTH for other in ("clip", "icc")},
    **{(CIDER, one, "vba"): False for one in BOTH},
    **{(CIDER, one, "oracle"): True for one in BOTH},
    (CIDER, "vba", "pacscore"): True,
    (RECALL, "pacscore", "vba"): True,
    (RECALL, "pacscore", "icc"): True,
    **{(CIDER, *pair): False for pair in (("icc", "pacscore"), ("pacscore", "icc"), ("icc", "vba"), ("vba", "icc"))},
    **{(ZERO_SHOT, "random", name): True for name in ("normsim", "vas")},
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS)
def test_filters_are_better_as_stated(claim: tuple[int, str, str]) -> None:
    assert better(*claim) == CLAIMS[claim]


def test_filters_of_text_in_images_are_not_told_apart() -> None:
    names = ("no_text", "cotr", "rsa", "rsc")
    assert not any(better(metric, a, b) for metric in METRICS for a in names for b in names if a != b)


def test_p_values_are_quoted_as_computed() -> None:
    of_vba, of_oracle = (" and ".join(p_of(CIDER, name, of) for name in BOTH) for of in ("vba", "oracle"))
    competing = [name for name, entry in entries_at(200_000).items() if entry.competes]
    above = sorted(name for name in competing if better(ZERO_SHOT, name, "random"))
    assert above == ["intersect", "negcliploss"]
    of_random = " and ".join(p_of(ZERO_SHOT, name, "random") for name in reversed(above))
    assert not missing(
        LEADERBOARD,
        f"better than the oracle (p {of_oracle}), and not shown to be better than VBA (p {of_vba})",
        f"only filters above random (p {of_random})",
    )
    below_thousandth = [(m, one, o) for m in (CIDER, RECALL) for one in BOTH for o in ("clip", "icc")]
    below_thousandth += [(ZERO_SHOT, "random", "normsim"), (ZERO_SHOT, "random", "vas")]
    assert {p_of(*pair) for pair in [*below_thousandth, (RECALL, "pacscore", "icc")]} == {".000"}


def test_the_named_filters_are_the_best() -> None:
    for metric in (CIDER, RECALL):
        of_metric = means(metric, {k: e for k, e in entries_at(200_000).items() if e.competes})
        assert {*sorted(of_metric, key=of_metric.__getitem__)[-2:]} == {*BOTH}
    single = [name for name, entry in entries_at(100_000).items() if entry.competes]
    best = {
        (metric, size): max(single, key=means(metric, entries_at(size)).__getitem__)
        for metric in (CIDER, RECALL)
        for size in SIZES
    }
    assert [best[RECALL, size] for size in SIZES] == ["pacscore"] * 4
    assert [best[CIDER, size] for size in SIZES[:3]] == ["vba"] * 3
    assert best[CIDER, 2_000_000] != "vba"


def test_means_and_counts_are_quoted_as_computed() -> None:
    of_metric = [means(metric, entries_at(200_000)) for metric in METRICS]
    one, two, three = (sum(mean > of["oracle"] for mean in of.values()) for of in of_metric)
    best = of_metric[RECALL]
    classes = means(ZERO_SHOT, entries_at(2_000_000))["random"]
    of_oracle = means(ZERO_SHOT, entries_at(500_000))["oracle"]
    action = entries_at(200_000)["complexity_action"].runs[0]
    kinds = {kind: f"{100 * action.kept[kind] / action.k:.0f}%" for kind in ("abstract", "news", "concrete")}
    passing = action.selection.scored / action.pairs_read
    pool = pq.read_table(WORLDS / "cut.parquet", columns=["noise"])["noise"].to_pylist().count("mismatched")
    kept = [entries_at(200_000)[name].runs[0].kept for name in OF_CAPTIONS]
    low, *_, high = sorted(100 * of["mismatched"] / pool for of in kept)
    assert all(0.24 < of["mismatched"] / sum(of.values()) < 1 / 3 for of in kept)
    assert not missing(
        LEADERBOARD,
        f"{one}, {two} and {three} rows are above it",
        f"Here PACScore has {best['pacscore']:.1f} and ICC {best['icc']:.1f}",
        f"{classes:.1f} of random pairs, {of_oracle:.1f} of the oracle's at 500k",
        f"random 2,000 of the {passing:.0%} that pass",
        f"abstract captions ({kinds['abstract']}) and news ({kinds['news']}) than descriptions ({kinds['concrete']}",
        f"keep {low:.0f} to {high:.0f}% of the mismatched pairs",
    )  # fmt: skip


def test_ranks_agree_as_quoted() -> None:
    rows = [(row[0], row[1], row[3].replace("0.", ".")) for row in texts(rank_agreement_tables(results())[0])]
    taus = {(compared, metric): tau for compared, metric, tau in rows}
    of_paper = {
        table: [tau for of, _, tau in rows if of.endswith(f"k: coco and the ICC paper's Table {table}")]
        for table in (1, 2)
    }
    recall = "text-to-image R@1 (%)"
    of_seeds = {
        name: sorted(tau for (what, of), tau in taus.items() if what.startswith("coco, 200k: seeds") and of == name)
        for name in ("CIDEr", recall)
    }  # fmt: skip
    few, every = (taus[name, f"CIDEr and {recall}"] for name in ("coco, 200k, 3 seeds", "coco, 200k"))
    assert not missing(
        LEADERBOARD,
        "Table 1 by CIDEr is {}, {} and {} at 100k, 200k and 500k".format(*of_paper[1]),
        "its Table 2 by R@1 {}, {} and {}".format(*of_paper[2]),
        "CIDEr of two seeds {} to {}, R@1 of two seeds {} to {}, CIDEr and R@1 {}".format(
            *(of_seeds[name][end] for name in of_seeds for end in (0, -1)), few
        ),
        f"CIDEr and R@1 have {every}",
    )


def test_sizes_change_the_order_as_stated() -> None:
    for size in SIZES[:3]:
        found = means(RECALL, entries_at(size))
        captions = [found[name] for name in OF_CAPTIONS]
        assert min(captions) > found["random"]
        assert (max(captions) < min(found[name] for name in OF_PAIRS)) == (size < 500_000)
    assert min(captions) > max(found["clip"], found["tmars"])
    before, largest = (means(CIDER, entries_at(size)) for size in SIZES[2:])
    above = [name for name in largest if largest[name] > largest["random"] and name != "complexity_action"]
    assert len(above) >= 6
    assert all(largest[name] < before[name] for name in above)
    accuracies = [means(ZERO_SHOT, entries_at(size)) for size in SIZES]
    fallen = {name for name in largest if max(of[name] for of in accuracies) > accuracies[-1][name]}
    assert fallen == {"complexity_action"}


def test_pacscore_changes_its_rank_between_worlds() -> None:
    ranks = {}
    for board in boards():
        if found := re.search(r"consistency=([\d.]+)", board.protocol.name):
            of = means(CIDER, {entry.label: entry for entry in board.entries})
            ranks[found[1]] = sorted(of, key=of.__getitem__, reverse=True).index("pacscore") + 1
    assert ranks == {"0": 2, "0.5": 4, "1": 4}


def test_bartletts_p_values_are_quoted_as_computed() -> None:
    entries = [entry for entry in entries_at(200_000).values() if len(entry.runs) >= SEVERAL]
    of = {m: [np.array(headlines(entries)[m].values(entry)) for entry in entries] for m in METRICS}
    p = [f"{bartlett(*of[metric]).pvalue:.2f}".lstrip("0") for metric in METRICS]
    of_roots = f"{bartlett(*map(np.sqrt, of[CIDER])).pvalue:.2f}".lstrip("0")
    assert bartlett(*map(np.log, of[CIDER])).pvalue < 0.001
    assert not missing(
        "docs/report.md",
        "{} for CIDEr, {} for R@1 and {} for zero-shot".format(*p),
        f"for square roots of CIDEr it is {of_roots}",
    )


@pytest.mark.slow
def test_published_tables_are_current(run: Run, tmp_path: Path) -> None:
    published = {
        tmp_path / Path(file).name: (CONF.parent / file).read_text() for file in (README, LEADERBOARD)
    }
    for path, text in published.items():
        path.write_text(text)
    files = ",".join(map(str, published))
    done = run(
        "task=report", f"results_dir={tmp_path}", f"task.folders=[{REFERENCE_RESULTS}]", f"task.publish=[{files}]"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path: path.read_text() for path in published} == published
