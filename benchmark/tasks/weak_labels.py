"""``task=weak_labels``: the topics of a pool's captions, as soft labels (Ghosal et al. 2019, section 4.3)."""

import json
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool, resolved
from benchmark.core.extras import require
from benchmark.report.leaderboard import Table
from benchmark.studies.weak_labels.labels import LabelConfig, label_pool
from benchmark.tasks.output import say
from benchmark.tasks.report import show

SHOWN = 20  # topics; all are in topics.json


def weak_labels(cfg: DictConfig) -> None:
    """Label the pool; show the topics of most captions; print the folder, the last line on stdout."""
    for extra in ("parsing", "studies"):
        require(extra)
    config = label_config(cfg)
    folder = label_pool(make_pool(cfg), config, make_engine(cfg))
    show([topic_table(folder)])
    say(str(folder))


def label_config(cfg: DictConfig) -> LabelConfig:
    """Return the settings of the labels. Raises `UserError` for one that cannot be."""
    return LabelConfig(**resolved(cfg.weak_labels), seed=int(cfg.seed))


def topic_table(folder: Path) -> Table:
    """Return the topics that are the likeliest of most captions, with their likeliest n-grams (as Table 3)."""
    topics: list[dict[str, Any]] = json.loads((folder / "topics.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    ranked = sorted(topics, key=lambda topic: (-topic["captions"], topic["topic"]))[:SHOWN]
    rows = [[", ".join(t["ngrams"]), f"{t['captions']:,}", str(t["topic"])] for t in ranked]
    drops = "".join(f", {count:,} {reason}" for reason, count in manifest["drops"].items())
    notes = [
        f"{manifest['labelled']:,} captions have a label{drops}",
        f"vocabulary: {manifest['ngrams']:,} of {manifest['distinct_ngrams']:,} n-grams;"
        f" {len(manifest['too_common'])} are too common",
    ]
    if len(topics) > SHOWN:
        notes.append(f"all {len(topics)} topics: {folder / 'topics.json'}")
    return Table(
        f"Topics of pool {manifest['pool']}", ["likeliest n-grams", "captions", "topic"], rows, notes
    )
