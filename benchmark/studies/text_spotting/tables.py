"""Lin et al. 2023's Figures 5 and 6 and Table 8 as tables, of whatever evaluations there are."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmark.report.leaderboard_tables import MISSING, Table
from benchmark.studies.text_spotting.evaluation import Evaluation
from benchmark.studies.text_spotting.rendering import STYLES
from benchmark.studies.text_spotting.similarity import Bin, Summary

CONTROL = "other: the same images with another n-gram, at random; above: own > other, chance 50%"


def text_spotting_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return a table of means with the control, one by colours, and one each by frequency and by length."""
    latest: dict[str, Evaluation] = {}
    for e in sorted(evaluations, key=lambda e: e.finished):
        latest[str((e.config, e.source, e.ngram))] = e  # of several the one finished last counts
    rows = sorted(latest.values(), key=lambda e: (e.source, e.ngram, -e.overall.mean))
    if not rows:
        return []
    return [
        _means(rows),
        _styles(rows),
        _binned("Text spotting by frequency (as Figure 5b)", rows, lambda e: e.frequency),
        _binned("Text spotting by length in characters (as Figures 5c, 5d)", rows, lambda e: e.length),
    ]


def _names(e: Evaluation) -> list[str]:
    model, pretrained = str(e.config["model"]), e.config["pretrained"]
    short = "/".join(Path(model).parts[-2:]) + (f" ({pretrained})" if pretrained else "")
    return [short, f"{e.source}, {e.ngram}-gram"]


def _means(rows: Sequence[Evaluation]) -> Table:
    """As Table 8, which prints a std of 0.25 to 0.66; here it is the std of the cosines."""
    header = ["model", "vocabulary", "n-grams", "left out", "mean ± std", "other", "above %"]
    body = [
        [
            *_names(e),
            f"{e.overall.texts:,}",
            f"{sum(e.left_out.values()):,}",
            _cell(e.overall),
            _control(e.overall),
            MISSING if e.overall.above is None else f"{100 * e.overall.above:.1f}",
        ]
        for e in rows
    ]
    return Table("Text spotting (as Figure 6 and Table 8)", header, body, [CONTROL])


def _styles(rows: Sequence[Evaluation]) -> Table:
    body = [[*_names(e), *(_cell(e.styles[style]) for style in STYLES)] for e in rows]
    return Table("Text spotting by colours", ["model", "vocabulary", *STYLES], body, [])


def _binned(title: str, rows: Sequence[Evaluation], bins_of: Callable[[Evaluation], list[Bin]]) -> Table:
    columns = sorted({(b.low, b.high) for e in rows for b in bins_of(e)}, key=lambda column: column[0])
    body = []
    for e in rows:
        found = {(b.low, b.high): b.summary for b in bins_of(e)}
        body.append([*_names(e), *(_cell(found[c]) if c in found else MISSING for c in columns)])
    header = ["model", "vocabulary", *(_interval(*column) for column in columns)]
    return Table(title, header, body, [])


def _interval(low: int, high: int | None) -> str:
    return f"{low:,}+" if high is None else f"{low:,}-{high:,}"


def _cell(summary: Summary) -> str:
    return f"{summary.mean:.3f} ± {summary.std:.3f}"


def _control(summary: Summary) -> str:
    if summary.other_mean is None or summary.other_std is None:
        return MISSING
    return f"{summary.other_mean:.3f} ± {summary.other_std:.3f}"
