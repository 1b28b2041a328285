"""The data card of an exported or resharded subset: ``README.md`` with the YAML header of the Hugging Face hub."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.pool.pairs import Written
from benchmark.pool.subset_writer import NAME
from benchmark.results.report.entry_facts import loss_note, settings_of_what_ran
from benchmark.results.report.table import escaped
from benchmark.results.result import Result
from benchmark.selection.manifest import Manifest
from filters.published.entries import terms_of

TEMPLATE = Path(__file__).with_suffix(".md.jinja")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SHOWN_LANGUAGES = 8
COMMON_LANGUAGE = 0.01  # lowest fraction of the captions of a language in the header
FOLDERS = r"^(file://|[\w-]+:)?/(?!/)(?:[^/]*/)*"  # of an absolute path, also in local-dir:/models/clip
# As subset.parquet is read: see https://github.com/rom1504/img2dataset. Images as in DataComp's download.
DOWNLOAD = """img2dataset --url_list subset.parquet --input_format parquet --url_col url --caption_col caption \\
  --save_additional_columns '["uid","score"]' --output_format webdataset --output_folder images \\
  --image_size 512 --resize_mode keep_ratio_largest --resize_only_if_bigger True"""
DOWNLOADED = 10_000  # pairs per tar of img2dataset
# What `datasets` reads of a sample. By default it infers the fields of JSON from five samples, and fails at one with
# others.
FEATURES = [
    {"name": "jpg", "dtype": "image"},
    {"name": "txt", "dtype": "string"},
    {"name": "json", "struct": [{"name": "uid", "dtype": "string"}]},
]
# The trainer needs a tar for each worker of each GPU.
OPEN_CLIP = """python -m open_clip_train.main --train-data '{folder}/{{{first}..{last}}}.tar' \\
  --train-num-samples {pairs} --dataset-type webdataset --workers {workers} \\
  --model ViT-B-32 --batch-size {batch} --epochs 10 --warmup 500"""
DATACOMP = """torchrun --nproc_per_node 1 train.py --scale small --data_dir FOLDER/{folder} \\
  --output_dir trained --exp_name trained"""


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
    from huggingface_hub import DatasetCard, DatasetCardData

    shares = {code: count / languages.total() for code, count in languages.most_common(SHOWN_LANGUAGES)}
    path = "shards/*.tar" if tars else "subset.parquet"
    count = tars or -(-written.pairs // DOWNLOADED)
    trained = {
        "folder": "shards" if tars else "images",
        "pairs": written.pairs,
        "workers": min(count, 4),
        "batch": min(written.pairs, 256),
        "first": NAME.format(0) if tars else "00000",
        "last": NAME.format(tars - 1) if tars else f"{count - 1:05d}",
    }
    header = DatasetCardData(
        pretty_name=f"{written.pairs:,} pairs of {manifest.pool} by {manifest.filter}",
        license="other",
        license_name="terms-of-the-pool",
        language=[code for code, share in shares.items() if share >= COMMON_LANGUAGE] or None,
        task_categories=["image-to-text", "text-to-image"],
        tags=["image-text-pairs", "data-filtering", "datacomp", "pairsift"],
        configs=[{"config_name": "default", "data_files": [{"split": "train", "path": path}]}],
        dataset_info={"features": FEATURES} if tars else None,
    )
    settings = {"filter": settings_of_what_ran(manifest.config), "selector": manifest.selector_config}
    card = DatasetCard.from_template(
        header,
        template_path=str(TEMPLATE),
        manifest=manifest,
        written=written,
        subset_files=subset_files,
        lengths=lengths,
        languages=shares,
        detected=languages.total(),
        results=results,
        settings=json.dumps(without_folders(settings), indent=2),
        toy_models="demo/models/" in json.dumps(settings["filter"]),
        terms=terms_of(settings["filter"]),
        decides=manifest.config.get("rank") is False,
        download=DOWNLOAD,
        tars=tars,
        open_clip=OPEN_CLIP.format(**trained),
        datacomp=DATACOMP.format(**trained),
        code=code_span,
        notes=lambda result: map(escaped, loss_note(result)),
        number="{:,}".format,
    )
    return f"{card}\n"


def code_span(text: str) -> str:
    """Return untrusted text as a code span of Markdown, which neither Markdown nor HTML in it can leave.

    Not for tables: a pipe ends their cells even there. Characters that are not printed, like marks that turn the
    direction of writing, are replaced.
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def without_folders(settings: Any) -> Any:
    """Return settings with the folders of absolute paths left out: they say where things lie on one machine."""
    if isinstance(settings, Mapping):
        return {name: without_folders(value) for name, value in settings.items()}
    if isinstance(settings, list):
        return [without_folders(value) for value in settings]
    return re.sub(FOLDERS, r"\1.../", settings) if isinstance(settings, str) else settings
