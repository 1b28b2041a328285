"""``task=weak_labels``: compute topics of a pool's captions as soft labels (Ghosal et al. 2019, section 4.3)."""

import json
from pathlib import Path
from typing import Any

from benchmark.core.extras import require
from benchmark.results.report.table import Table, plain
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from pairsift.studies.ava.labels import LabelConfig, label_pool

SHOWN_TOPICS = 20  # topics in the table; topics.json has all of them


def weak_labels(job: Job) -> None:
    """Label the pool and show its main topics; the last line on stdout is the folder of the labels."""
    for extra in ("parsing", "studies"):
        require(extra)
    config = label_config(job)  # before a demo is drawn
    folder = label_pool(job.pool, config, job.engine)
    print_tables([topic_table(folder)])
    print_result(str(folder))


def label_config(job: Job) -> LabelConfig:
    """Return the settings of the labels. Raises `UserError` if a setting is out of range."""
    return LabelConfig(**resolved(job.cfg.weak_labels), seed=job.seed)


def topic_table(folder: Path) -> Table:
    """Return a table of the most frequent topics with their top n-grams, as in the paper's Table 3.

    `captions` counts the captions whose most probable topic it is.
    """
    topics: list[dict[str, Any]] = json.loads((folder / "topics.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    ranked = sorted(topics, key=lambda topic: (-topic["captions"], topic["topic"]))[:SHOWN_TOPICS]
    rows = [plain(", ".join(t["ngrams"]), f"{t['captions']:,}", str(t["topic"])) for t in ranked]
    drops = "".join(f", {count:,} {reason}" for reason, count in manifest["drops"].items())
    captions, images = manifest["captions"], manifest["images"]
    notes = [
        f"{images:,} images have {captions:,} captions that say enough, {captions / images:.2f} each",
        f"{manifest['labelled']:,} captions have a label{drops}",
        f"vocabulary: {manifest['ngrams']:,} of {manifest['distinct_ngrams']:,} n-grams;"
        f" {len(manifest['too_common'])} are too common",
    ]
    if len(topics) > SHOWN_TOPICS:
        notes.append(f"all {len(topics)} topics: {folder / 'topics.json'}")
    return Table(f"Topics of pool {manifest['pool']}", ["top n-grams", "captions", "topic"], rows, notes)
