"""The card of published scores: ``README.md`` with the YAML header of the Hugging Face hub."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.core.bounds import Bounds
from benchmark.core.source_code import git_commit
from benchmark.pool.content import PoolContent
from benchmark.results.provenance import library_versions
from benchmark.results.report.entry_facts import settings_of_what_ran
from benchmark.results.report.hub_card import hub_card, without_folders
from benchmark.scoring.published import ROWS
from benchmark.scoring.score_table import ScoreTable
from filters.base import Filter, Scores

TEMPLATE = Path(__file__).with_suffix(".md.jinja")
QUANTILES = (0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1)
BINS, BAR = 12, 40  # bars of the histogram, and characters of the longest


def score_card(
    pool: str,
    content: PoolContent,
    scorer: Filter,
    table: ScoreTable,
    urls: int,
    bounds: Bounds,
    settings: Mapping[str, Any],
    overrides: Sequence[str],
) -> str:
    """Return the card as Markdown with a YAML header.

    Args:
        pool: its name.
        table: the scores, at least one of them not NaN.
        urls: how many pairs have a url.
        bounds: of the filter.
        settings: of the filter, as recorded.
        overrides: of the command that wrote the scores.
    """
    name, scores = scorer.display_name, table.scores[~np.isnan(table.scores)]
    used = {"minimum": bounds.lowest, "maximum": bounds.highest} if bounds else {}
    within = [f"filter.{of}={value!r}" for of, value in used.items() if np.isfinite(value)]
    quantiles = zip(QUANTILES, np.quantile(scores, QUANTILES), strict=True)
    return hub_card(
        TEMPLATE,
        f"Scores of {pool} by {name}",
        ["scores"],
        "scores-*.parquet",
        {},
        pool=pool,
        content=content,
        name=name,
        scorer=scorer,
        licences=sorted({str(of) for leaf in scorer.leaves() if (of := getattr(leaf, "licence", None))}),
        settings=settings_of_what_ran(settings),
        table=table,
        scored=len(scores),
        pairs=max(content.samples, len(table)),
        urls=urls,
        files=-(-len(table) // ROWS),
        quantiles={f"{100 * q:g}%": f"{value:.4g}" for q, value in quantiles},
        histogram=histogram(scores),
        command=shlex.join(["python", "-m", "benchmark", *map(_without_folders, overrides)]),
        bounds=" ".join(within + ["filter.rank=false"] * (not bounds.rank)),
        versions=library_versions(),
        commit=git_commit(),
    )


def _without_folders(override: str) -> str:
    """Return an override without the folders of absolute paths, also in a list."""
    return "".join(map(without_folders, re.split("([][=,'\"])", override)))


def histogram(scores: Scores) -> str:
    """Return the distribution of n > 0 scores as text: the lower end of each bar, the bar, and its fraction."""
    counts, ends = np.histogram(scores, BINS)
    longest = counts.max()
    return "\n".join(
        f"{end:>11.4g} {'#' * int(np.ceil(BAR * count / longest)):<{BAR}} {count / len(scores):6.1%}"
        for end, count in zip(ends, counts, strict=False)
    )
