"""The data card of an exported or resharded subset: ``README.md`` with the YAML header of the Hugging Face hub."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmark.pool.pairs import Written
from benchmark.pool.subset_writer import NAME
from benchmark.results.report.entry_facts import loss_note, settings_of_what_ran
from benchmark.results.report.hub_card import hub_card
from benchmark.results.report.table import escaped
from benchmark.results.result import Result
from benchmark.selection.manifest import Manifest
from filters.published.entries import terms_of

TEMPLATE = Path(__file__).with_suffix(".md.jinja")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SHOWN_LANGUAGES = 8
COMMON_LANGUAGE = 0.01  # lowest fraction of the captions of a language in the header
DOWNLOADED = 10_000  # pairs per tar of img2dataset
# What `datasets` reads of a sample. By default it infers the fields of JSON from five samples, and fails at one with
# others.
FEATURES = [
    {"name": "jpg", "dtype": "image"},
    {"name": "txt", "dtype": "string"},
    {"name": "json", "struct": [{"name": "uid", "dtype": "string"}]},
]


def length_figures(lengths: Sequence[int]) -> list[str]:
    """Return the mean of n > 0 lengths, the numbers at `QUANTILES`, and the largest."""
    quantiles = [f"{value:,.0f}" for value in np.quantile(lengths, QUANTILES)]
    return [f"{np.mean(lengths):.1f}", *quantiles, f"{max(lengths):,}"]


def data_card(
    manifest: Manifest,
    written: Written,
    subset_files: Sequence[str],
    lengths: Mapping[str, Sequence[str]],
    languages: Counter[str],
    results: Sequence[Result],
    tars: int = 0,
) -> str:
    """Return the card as Markdown with a YAML header.

    Args:
        written: the content of ``subset.parquet``, or of the tars.
        subset_files: a name per epoch.
        lengths: `length_figures` of the captions by unit, such as ``words``.
        languages: captions by ISO 639 code, as far as their language was detected.
        results: runs on this selection.
        tars: how many tars hold the pairs, of a resharded subset; 0 for an export.
    """
    shares = {code: count / languages.total() for code, count in languages.most_common(SHOWN_LANGUAGES)}
    scorer = settings_of_what_ran(manifest.config)
    header = {
        "language": [code for code, share in shares.items() if share >= COMMON_LANGUAGE] or None,
        "task_categories": ["image-to-text", "text-to-image"],
        "dataset_info": {"features": FEATURES} if tars else None,
    }
    return hub_card(
        TEMPLATE,
        f"{written.pairs:,} pairs of {manifest.pool} by {manifest.filter}",
        ["datacomp"],
        "shards/*.tar" if tars else "subset.parquet",
        header,
        manifest=manifest,
        written=written,
        subset_files=subset_files,
        lengths=lengths,
        languages=shares,
        detected=languages.total(),
        results=results,
        settings={"filter": scorer, "selector": manifest.selector_config},
        toy_models="demo/models/" in str(scorer),
        terms=terms_of(scorer),
        decides=manifest.config.get("rank") is False,
        tars=tars,
        downloaded=-(-written.pairs // DOWNLOADED),
        name=(NAME if tars else "{:05d}").format,
        notes=lambda result: map(escaped, loss_note(result)),
    )
