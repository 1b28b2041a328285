"""What the ICC paper found, beside what runs on a pool find: which of two selections trains the better model."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmark.report.leaderboard_entries import Entry, by_setting, group
from benchmark.report.leaderboard_figures import Headline
from benchmark.report.leaderboard_tables import thousands
from benchmark.report.table import Cell, Table, plain
from benchmark.results.result import Result

CIDER = Headline("captioner", "CIDEr", "coco", "CIDEr")
RECALL = Headline("dual_encoder", "text_to_image_R@1", "coco", "R@1")
MIDDLE = 200_000


@dataclass(frozen=True)
class PaperFigure:
    """A filter at a size, and the paper's figure for it."""

    filter: str
    paper: float
    size: int = MIDDLE


@dataclass(frozen=True)
class Finding:
    """A claim of the paper: the metric of `better` is above that of `worse`.

    Args:
        claim: the claim in words.
        source: table of the ICC paper with both figures.
        metric: the metric.
        better: the filter and size with the higher figure in the paper.
        worse: the other one.
    """

    claim: str
    source: str
    metric: Headline
    better: PaperFigure
    worse: PaperFigure


FINDINGS = (
    Finding("ICC is far above random", "1", CIDER, PaperFigure("icc", 35.5), PaperFigure("random", 5.0)),
    Finding("Random is above CLIP", "1", CIDER, PaperFigure("random", 5.0), PaperFigure("clip", 3.4)),
    Finding("T-MARS is above random", "1", CIDER, PaperFigure("tmars", 6.5), PaperFigure("random", 5.0)),
    Finding("Random is above Complexity-Action", "1", CIDER, PaperFigure("random", 5.0),
            PaperFigure("complexity_action", 3.7)),
    Finding("PACScore is above random", "1", CIDER, PaperFigure("pacscore", 7.0), PaperFigure("random", 5.0)),
    Finding("ICC is above the best of the others", "1", CIDER, PaperFigure("icc", 35.5),
            PaperFigure("pacscore", 7.0)),
    Finding("VBA is above SBA", "5", CIDER, PaperFigure("vba", 29.8), PaperFigure("sba", 17.8)),
    Finding("ICC is a little above VBA", "5", CIDER, PaperFigure("icc", 30.9), PaperFigure("vba", 29.8)),
    Finding("ICC's best 100k are above its best 500k", "1", CIDER, PaperFigure("icc", 35.8, 100_000),
            PaperFigure("icc", 30.9, 500_000)),
    Finding("100k random pairs are above 500k", "1", CIDER, PaperFigure("random", 5.0, 100_000),
            PaperFigure("random", 4.5, 500_000)),
    Finding("ICC retrieves better than random", "2", RECALL, PaperFigure("icc", 15.5),
            PaperFigure("random", 9.6)),
    Finding("Random retrieves better than T-MARS", "2", RECALL, PaperFigure("random", 9.6),
            PaperFigure("tmars", 8.2)),
)  # fmt: skip


def findings_tables(results: Iterable[Result]) -> list[Table]:
    """Return for each setting the findings whose two selections were both run in it, sizes aside."""
    tables = []
    settings = by_setting(results)
    for runs in settings:
        entries, pool = group(runs), runs[0].pool
        if len(settings) > 1:
            pool += f" [{runs[0].protocol.setting}]"
        rows = [row for finding in FINDINGS for row in _rows(finding, entries)]
        header = ["the paper's finding", "metric", "its figures", "this pool's", "agrees", "source"]
        note = "Both figures are in the order of the comparison, the paper's higher one first."
        tables.append(Table(f"Findings of the ICC paper, pool {pool}", header, rows, [note]))
    return [table for table in tables if table.rows]


def _rows(finding: Finding, entries: Sequence[Entry]) -> list[list[Cell]]:
    """Return the finding's row; none unless both selections have the metric."""
    better, worse = (_mean(finding.metric, side, entries) for side in (finding.better, finding.worse))
    if better is None or worse is None:
        return []
    paper = ", ".join(f"{_named(side)} {side.paper:.1f}" for side in (finding.better, finding.worse))
    agrees = "yes" if better > worse else "no"
    metric = f"{finding.metric.name}, COCO"
    return [
        plain(finding.claim, metric, paper, f"{better:.1f}, {worse:.1f}", agrees, f"Table {finding.source}")
    ]


def _named(figure: PaperFigure) -> str:
    return figure.filter if figure.size == MIDDLE else f"{figure.filter} {thousands(figure.size)}"


def _mean(metric: Headline, figure: PaperFigure, entries: Sequence[Entry]) -> float | None:
    """Return the mean over seeds, or None where the pool has no such run, or several that differ in settings."""
    values = [metric.values(e) for e in entries if e.label == figure.filter and e.size == figure.size]
    return statistics.fmean(values[0]) if len(values) == 1 and values[0] else None
