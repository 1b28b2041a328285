"""Selections of filters with bounds on a small demo: filters that decide, and scores that are minus the measure."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmark.core.uids import UidArray, UidIndex, read_subset, read_uid_columns
from tests.command_line import Run
from tests.demos import draw, link

pytestmark = pytest.mark.full
DEMO = [
    "pool.demo.pairs=600",
    "pool.demo.shard_size=300",
    "pool.demo.evaluation={coco: 12, nocaps: 4, flickr30k: 8}",
]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    draw(folder, DEMO)
    return folder


@pytest.fixture
def demo(drawn: Path, cache: Path) -> Path:
    """The cache of this test, which finds what was drawn."""
    link(drawn, cache)
    return cache


def selected(run: Run, cache: Path, *arguments: str) -> tuple[UidArray, np.ndarray, dict[str, Any]]:
    """The kept uids, their cached scores, and the manifest."""
    done = run("task=select", *DEMO, "engine.workers=1", *arguments)
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.splitlines()[-1])
    folder = cache / "pairsift" / "v2" / "scores" / path.parent.parent.name
    (name,) = (f.name for f in folder.iterdir() if path.name.startswith(f.name))
    tables = [pq.read_table(part) for part in sorted((folder / name).rglob("*.parquet"))]
    kept = UidIndex(uids := read_subset(path))
    scores = [t["score"].to_numpy()[kept.find(read_uid_columns(t)) >= 0] for t in tables]
    return uids, np.concatenate(scores), json.loads(path.with_suffix(".json").read_text())


# The command, and between which values of the paper's measure all kept pairs are.
MEASURES = [
    ("filter=rsa filter.maximum=0", -np.inf, 0),
    ("filter=cotr filter.minimum=0.5", 0.5, 1),
    ("filter=no_text filter.minimum=0.8 filter.rank=false", 0.8, 1),
    ("filter=no_text filter.maximum=0", 0, 0),
]


def test_bounds_of_text_in_images_are_of_the_papers_measure(run: Run, demo: Path) -> None:
    for command, low, high in MEASURES:  # in one test: OCR is cached
        _, scores, manifest = selected(run, demo, *command.split(), "size=all")
        measure = -scores
        assert len(scores) == manifest["k"] == manifest["scored"] < 600
        assert measure.min() >= np.float32(low)
        assert measure.max() <= high
        assert manifest["k"] + sum(manifest["drops"].values()) == 600
