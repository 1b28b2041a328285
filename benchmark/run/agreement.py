"""``task=agreement task.filters=[icc,clip]``: how far scores agree with each other, and with human grades."""

import csv
import io
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # `scipy.stats` is imported when it is used

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import atomic_write, write_text
from benchmark.core.records import json_text
from benchmark.core.ties import highest
from benchmark.core.uids import UidArray
from benchmark.results.report.table import MISSING, Cell, Table, plain
from benchmark.results.report.terminal import print_tables
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.scoring.score_table import join_scores
from filters.base import Scores

log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
MEASURES = ("Spearman", "Kendall", "AUC of the first", "AUC of the second", "overlap", "Jaccard")
LOWEST = np.array([-1.0, -1.0, 0.0, 0.0, 0.0, 0.0])  # of each measure; the highest is 1
MIN_PAIRS = 3
RESAMPLES = 400
DRAWN = 5_000  # pairs per resample
SHOWN = 100_000  # pairs in the picture of two filters


@dataclass(frozen=True)
class Agreement:
    """The agreement of two scores: `values` has value, low and high of each of `MEASURES`, (6, 3).

    `pairs` counts the pairs with both scores. NaN with a `reason` if nothing is defined.
    """

    first: str
    second: str
    pairs: int
    values: Floats
    reason: str = ""


def agreement(job: Job) -> None:
    """Score by each filter and compare; print the table, then the paths of its CSV, JSON and pictures."""
    tables = {name: score_pairs(job, scorer) for name, scorer in job.compared_filters.items()}
    uids, columns = join_scores(list(tables.values()))
    scores, fraction = dict(zip(tables, columns, strict=True)), float(job.cfg.task.fraction)
    found = [
        compare(one, other, scores[one], scores[other], uids, fraction, job.seed)
        for one, other in combinations(scores, 2)
    ]
    print_tables([table_of(found, job.pool.name, fraction)])
    folder = job.results_dir / "agreement"
    stem = "-".join([str(job.cfg.pool.name), *scores])[:120]
    settings = {"pool": job.pool.name, "fraction": fraction, "seed": job.seed}
    filters = {name: scorer.key() for name, scorer in job.compared_filters.items()}
    rows = [row for of in found for row in measure_rows(of)]
    text = json_text(settings | {"filters": filters, "agreement": rows}, indent=2)
    written = io.StringIO()
    writer = csv.DictWriter(written, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / f"{stem}.csv", written.getvalue())
    write_text(folder / f"{stem}.json", f"{text}\n")
    paths = [folder / f"{stem}.csv", folder / f"{stem}.json"]
    try:
        require("studies", "matplotlib")
    except UserError as error:
        log.info("agreement: no picture: %s", error)
    else:
        paths += draw(folder / stem, scores, found, fraction, job.seed)
    for path in paths:
        print_result(str(path))


def compare(
    first: str, second: str, x: Scores, y: Scores, uids: UidArray, fraction: float, seed: int
) -> Agreement:
    """Return the agreement of two scores of n pairs, (n,), NaN for none, on the pairs that have both.

    Intervals, 95%, are from the m-out-of-n bootstrap: `RESAMPLES` resamples of m = min(n, `DRAWN`) pairs with
    replacement. The errors of all measures shrink with 1 / sqrt(n), so that the deviations of the resamples from
    their mean are multiplied by sqrt(m / n) (Bickel, Götze and van Zwet 1997). With n <= `DRAWN` this is the ordinary
    bootstrap.
    """
    both = ~(np.isnan(x) | np.isnan(y))
    x, y, uids = x[both], y[both], uids[both]
    n, m = len(x), min(len(x), DRAWN)
    reason = f"{n} pairs have both scores, and {MIN_PAIRS} are needed" if n < MIN_PAIRS else ""
    for name, scores in ((first, x), (second, y)):
        if not reason and scores.min() == scores.max():
            reason = f"all scores of {name} are equal"
    if not reason and not 0 < round(fraction * n) < n:
        reason = f"task.fraction={fraction:g} of {n:,} pairs keeps {round(fraction * n):,}"
    if reason:
        return Agreement(first, second, n, np.full((len(MEASURES), 3), np.nan), reason)
    value = measures(x, y, uids, fraction, seed)
    drawn = np.random.default_rng(seed).integers(0, n, (RESAMPLES, m))
    resampled = np.array([measures(x[rows], y[rows], uids[rows], fraction, seed) for rows in drawn])
    deviations = np.sqrt(m / n) * (resampled - np.nanmean(resampled, 0))
    low, high = np.clip(value + np.nanquantile(deviations, [0.025, 0.975], axis=0), LOWEST, 1)
    return Agreement(first, second, n, np.stack([value, low, high], axis=1))


def measures(x: Scores, y: Scores, uids: UidArray, fraction: float, seed: int) -> Floats:
    """Return the `MEASURES` of two scores of n pairs, (n,), none of them NaN: shape (6,); NaN if undefined.

    Spearman's and Kendall's (tau-b) coefficients; the area under the ROC curve of each score for the pairs that the
    other keeps; the fraction of a selection that the other has too, and the intersection divided by the union. Each
    keeps the highest `fraction`, among equal scores as a selection with this `seed` would, see `highest`.
    """
    n = len(x)
    count = min(max(1, round(fraction * n)), n - 1)
    kept_x, kept_y = (highest(scores, uids, count, seed) for scores in (x, y))
    ranks_x, ranks_y = scipy.stats.rankdata(x), scipy.stats.rankdata(y)
    areas = [
        (ranks[kept].sum() - count * (count + 1) / 2) / (count * (n - count))
        for ranks, kept in ((ranks_x, kept_y), (ranks_y, kept_x))
    ]
    if ranks_x.min() == ranks_x.max() or ranks_y.min() == ranks_y.max():  # a resample of few pairs
        spearman = kendall = np.nan
    else:
        spearman = np.corrcoef(ranks_x, ranks_y)[0, 1]
        kendall = scipy.stats.kendalltau(x, y).statistic
    common = len(np.intersect1d(kept_x, kept_y, assume_unique=True))
    return np.array([spearman, kendall, *areas, common / count, common / (2 * count - common)])


def measure_rows(of: Agreement) -> list[dict[str, Any]]:
    """Return a row for each measure, for the CSV and the JSON; numbers are None with a reason."""
    named = {"first": of.first, "second": of.second, "pairs": of.pairs}
    rows: list[dict[str, Any]] = []
    for name, numbers in zip(MEASURES, of.values.tolist(), strict=True):
        value, low, high = (None if of.reason else number for number in numbers)
        rows.append(
            named | {"measure": name, "value": value, "low": low, "high": high, "reason": of.reason or None}
        )
    return rows


def table_of(found: Sequence[Agreement], pool: str, fraction: float) -> Table:
    """Return the table for the terminal, a row per pair of filters."""
    rows = [
        [
            *plain(f"{of.first}, {of.second}", f"{of.pairs:,}"),
            *(
                Cell(MISSING if of.reason else f"{value:z.3f} ±{(high - low) / 2:.3f}")
                for value, low, high in of.values.tolist()
            ),
        ]
        for of in found
    ]
    notes = [
        "± is half of the 95% bootstrap interval over pairs. AUC of the first: how well its scores rank the pairs"
        " that the second keeps (0.5 by chance); AUC of the second: the reverse.",
        f"Overlap: fraction of one selection of {fraction:.0%} that the other has too ({fraction:.2f} by chance)."
        " Jaccard: pairs that both keep, divided by pairs that either keeps.",
        *(f"{of.first}, {of.second}: not defined, {of.reason}" for of in found if of.reason),
    ]
    title = f"Agreement of scores on pool {pool}; each keeps {fraction:.0%} of the pairs with both scores"
    return Table(title, ["filters", "pairs", *MEASURES], rows, notes)


def draw(
    path: Path, scores: Mapping[str, Scores], found: Sequence[Agreement], fraction: float, seed: int
) -> list[Path]:
    """Draw Spearman's coefficients, or the ranks by two filters; return the paths of the SVG and the PNG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    size = max(5.0, 1.6 + 0.85 * len(scores))
    figure = Figure(figsize=(size + 0.8, size), layout="constrained")
    if len(scores) == 2:
        _draw_ranks(figure.subplots(), scores, found[0], fraction, seed)
    else:
        _draw_matrix(figure.subplots(), list(scores), found)
    paths = [path.with_name(f"{path.name}.{kind}") for kind in ("svg", "png")]
    with mpl.rc_context({"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "pairsift"}):
        for file in paths:
            with atomic_write(file) as temporary:
                date = {"Date": None} if file.suffix == ".svg" else None
                figure.savefig(temporary, format=file.suffix[1:], dpi=150, metadata=date)
    return paths


def _draw_ranks(axes: Any, scores: Mapping[str, Scores], of: Agreement, fraction: float, seed: int) -> None:
    """Draw the density of the ranks by both filters, of at most `SHOWN` pairs; lines show what each keeps."""
    x, y = scores.values()
    rows = np.flatnonzero(~(np.isnan(x) | np.isnan(y)))
    rows = np.random.default_rng(seed).permutation(rows)[:SHOWN]
    ranks = [(scipy.stats.rankdata(column[rows]) - 0.5) / max(1, len(rows)) for column in (x, y)]
    size = int(np.clip(len(rows) ** 0.5 / 5, 8, 40))
    cells = axes.hexbin(*ranks, gridsize=size, extent=(0, 1, 0, 1), mincnt=1, cmap="viridis", linewidths=0.1)
    axes.figure.colorbar(cells, label=f"pairs per cell, of {len(rows):,}")
    for line in (axes.axvline, axes.axhline):
        line(1 - fraction, color="crimson", linestyle="--", linewidth=1.2)
    value, low, high = of.values[0]
    text = of.reason or f"Spearman {value:.3f} ({low:.3f} to {high:.3f}), {of.pairs:,} pairs"
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_title(f"{text}\nright of and above the lines: kept ({fraction:.0%})", fontsize=10)
    axes.set_xlabel(f"rank by {of.first} (1: the highest)")
    axes.set_ylabel(f"rank by {of.second} (1: the highest)")


def _draw_matrix(axes: Any, names: Sequence[str], found: Sequence[Agreement]) -> None:
    """Draw a matrix of Spearman's coefficients with their numbers; a dash if undefined."""
    matrix = np.full((len(names), len(names)), np.nan)
    for of in found:
        row, column = names.index(of.first), names.index(of.second)
        matrix[row, column] = matrix[column, row] = of.values[0, 0]
    image = axes.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu_r")
    axes.figure.colorbar(image, label="Spearman's coefficient", shrink=0.8)
    for (row, column), value in np.ndenumerate(matrix):
        text = "" if row == column else MISSING if np.isnan(value) else f"{value:z.2f}"
        axes.text(column, row, text, ha="center", va="center", color="white" if abs(value) > 0.6 else "black")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    low, high = min(of.pairs for of in found), max(of.pairs for of in found)
    pairs = f"{high:,} pairs" if low == high else f"{low:,} to {high:,} pairs"
    axes.set_title(f"Agreement of scores, {pairs}", fontsize=11)
