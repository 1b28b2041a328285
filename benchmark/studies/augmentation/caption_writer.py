"""The captions of a subset as parquet files of a thousand samples each; a killed run goes on after the last one."""

import json
import logging
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmark.core.batch import CAPTION_EMPTY, Sample
from benchmark.core.errors import UserError
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_write, write_text
from benchmark.core.progress import progress
from benchmark.engine.base import Engine
from benchmark.studies.augmentation.base import Augmenter
from benchmark.subset.other_captions import CAPTION, UID
from downstream.training.training_data import Samples, read_samples

PART = 1000  # samples
_MANIFEST = "augmentation.json"
_DROPS = b"drops"
log = logging.getLogger(__name__)


def write_captions(
    subset: Samples[Sample], sha256: str, augmenter: Augmenter, folder: Path, engine: Engine
) -> Counter[str]:
    """Write a caption of each sample of `subset`, whose uids have the hash `sha256`, to parquet files in `folder`.

    Returns how many samples were left out, by reason. Raises `UserError` when `folder` holds captions of another
    selection or by another augmenter.
    """
    _claim(folder, {"selection": sha256, "augmenter": augmenter.identity(), "part": PART})
    work = WritePart(subset, augmenter, folder)
    parts = [range(start, min(start + PART, len(subset))) for start in range(0, len(subset), PART)]
    missing = [part for part in parts if not work.path(part).is_file()]
    if missing:
        log.info("augment: %d of %d parts", len(missing), len(parts))
        done, started = 0, time.monotonic()
        with progress("augment", sum(map(len, missing)), "samples") as advance:
            for written in engine.run(work, missing):
                done += written
                advance(written, f"{done / (time.monotonic() - started):.1f}/s")
    return sum((_drops(work.path(part)) for part in parts), Counter[str]())


class WritePart:
    """Writes the captions of the samples at some positions of a subset, as a file of their own."""

    light = False

    def __init__(self, subset: Samples[Sample], augmenter: Augmenter, folder: Path) -> None:
        self.subset = subset
        self.augmenter = augmenter
        self.folder = folder

    def path(self, part: range) -> Path:
        """Return the file of `part`, named by its first position."""
        return self.folder / f"part-{part.start:08d}.parquet"

    def setup(self, device: torch.device) -> None:
        """Load the augmenter's model."""
        self.augmenter.setup(device)

    def __call__(self, part: range) -> int:
        """Write the file of `part`; return how many samples were read for it or left out."""
        path = self.path(part)
        with locked(path):
            if not path.is_file():
                _write_part(path, self.subset, part, self.augmenter)
        return len(part)


def _claim(folder: Path, content: dict[str, Any]) -> None:
    """Note what `folder` is for, or check that it is for the same."""
    manifest = folder / _MANIFEST
    text = json.dumps(content, indent=2, sort_keys=True, default=str) + "\n"
    if not manifest.is_file():
        if any(folder.glob("*.parquet")):
            raise UserError(f"{folder} holds parquet files that are not task=augment's; give an empty folder")
        write_text(manifest, text)
    elif manifest.read_text(encoding="utf-8") != text:
        raise UserError(
            f"{folder} holds captions of another selection or augmentation; give task.output=ANOTHER_FOLDER"
        )


def _write_part(path: Path, subset: Samples[Sample], part: range, augmenter: Augmenter) -> None:
    samples, reasons = read_samples(subset, part)
    drops = Counter(reason for reason in reasons if reason is not None)
    captions = augmenter.captions(samples) if samples else []
    rows = [(sample.uid, text) for sample, text in zip(samples, captions, strict=True) if text]
    if len(rows) < len(samples):
        drops[CAPTION_EMPTY] += len(samples) - len(rows)
    schema = pa.schema([(UID, pa.string()), (CAPTION, pa.string())], {_DROPS: json.dumps(drops)})
    columns = [[uid for uid, _ in rows], [text for _, text in rows]]
    with atomic_write(path) as temporary:
        pq.write_table(pa.table(columns, schema=schema), temporary)


def _drops(path: Path) -> Counter[str]:
    """Return what a part left out: it is kept in the file, for the runs that find it done."""
    return Counter(json.loads((pq.read_schema(path).metadata or {}).get(_DROPS, b"{}")))
