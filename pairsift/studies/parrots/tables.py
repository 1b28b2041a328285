"""The evaluations as tables, after Figures 5 and 6 and Table 8 of Lin et al. 2023."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmark.results.report.table import MISSING, Table, plain
from pairsift.studies.parrots.evaluation import TextSpottingEvaluation
from pairsift.studies.parrots.rendering import STYLES
from pairsift.studies.parrots.similarity import Bin, Summary

CONTROL = (
    "other: cosine with another n-gram, drawn at random; above: share of images with own > other, chance 50%"
)


def text_spotting_tables(evaluations: Sequence[TextSpottingEvaluation]) -> list[Table]:
    """Return tables of the means with the control, and by colours, frequency and length.

    Among evaluations with the same model and vocabulary, the last to finish is shown.
    """
    latest: dict[str, TextSpottingEvaluation] = {}
    for e in sorted(evaluations, key=lambda e: e.finished):
        latest[str((e.config, e.source, e.ngram))] = e
    rows = sorted(latest.values(), key=lambda e: (e.source, e.ngram, -e.overall.mean))
    if not rows:
        return []
    return [
        _means(rows),
        Table(
            "Text spotting by colours",
            ["model", "vocabulary", *STYLES],
            [plain(*_names(e), *(_mean(e.styles[style]) for style in STYLES)) for e in rows],
        ),
        _binned("Text spotting by frequency (as Figure 5b)", rows, lambda e: e.frequency),
        _binned("Text spotting by length in characters (as Figures 5c, 5d)", rows, lambda e: e.length),
    ]


def _names(e: TextSpottingEvaluation) -> list[str]:
    model, pretrained = str(e.config["model"]), e.config["pretrained"]
    short = "/".join(Path(model).parts[-2:]) + (f" ({pretrained})" if pretrained else "")
    return [short, f"{e.source}, {e.ngram}-gram"]


def _means(rows: Sequence[TextSpottingEvaluation]) -> Table:
    # The std of the cosines; Table 8 prints ten times those of the paper's release.
    header = ["model", "vocabulary", "n-grams", "left out", "mean ± std", "other", "above %"]
    body = [
        plain(
            *_names(e),
            f"{e.overall.texts:,}",
            f"{sum(e.left_out.values()):,}",
            _mean(e.overall),
            _control(e.overall),
            MISSING if e.overall.above is None else f"{100 * e.overall.above:.1f}",
        )
        for e in rows
    ]
    return Table("Text spotting (as Figure 6 and Table 8)", header, body, [CONTROL])


def _binned(
    title: str, rows: Sequence[TextSpottingEvaluation], bins_of: Callable[[TextSpottingEvaluation], list[Bin]]
) -> Table:
    columns = sorted({(b.low, b.high) for e in rows for b in bins_of(e)}, key=lambda column: column[0])
    body = []
    for e in rows:
        summaries = {(b.low, b.high): b.summary for b in bins_of(e)}
        means = [_mean(summaries[column]) if column in summaries else MISSING for column in columns]
        body.append(plain(*_names(e), *means))
    names = (f"{low:,}+" if high is None else f"{low:,}-{high:,}" for low, high in columns)
    return Table(title, ["model", "vocabulary", *names], body)


def _mean(summary: Summary) -> str:
    return f"{summary.mean:.3f} ± {summary.std:.3f}"


def _control(summary: Summary) -> str:
    if summary.other_mean is None or summary.other_std is None:
        return MISSING
    return f"{summary.other_mean:.3f} ± {summary.other_std:.3f}"
