"""Augmenters, and their captions of a subset in parquet files of 1,000 samples each; an interrupted run resumes."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmark.core.batch import CAPTION_EMPTY, Sample
from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.identity import Identified
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_write, write_text
from benchmark.core.progress import progress
from benchmark.engine.base import Engine
from benchmark.pool.other_captions import CAPTION, UID
from downstream.training.training_data import Samples, read_samples

MAX_WORDS = 77  # per caption: "no more than 77 words" (DS-CLIP, appendix A)
PART_SIZE = 1000  # samples per parquet file
_MANIFEST = "augmentation.json"
_DROPS = b"drops"


class Augmenter(Identified, ABC):
    """Generates captions with greedy decoding or beam search; a caption does not depend on the rest of the batch."""

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the model onto `device`, in bf16 on a GPU that computes it."""

    @abstractmethod
    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one caption per sample: one line of at most 77 words, empty if the model generated nothing."""


def first_words(text: str) -> str:
    """Return the first 77 words of `text` on one line."""
    return " ".join(text.split()[:MAX_WORDS])


def write_captions(
    subset: Samples[Sample], sha256: str, augmenter: Augmenter, folder: Path, engine: Engine
) -> Counter[str]:
    """Write one caption per sample of `subset` to parquet files in `folder`, with columns `uid` and `caption`.

    Args:
        folder: output folder; files of an interrupted run are kept.

    Returns:
        The number of samples without a caption, by reason.

    Raises `UserError` if `folder` holds captions of another selection or augmentation, or other parquet files.
    """
    _check_manifest(folder, {"selection": sha256, "augmenter": augmenter.identity(), "part": PART_SIZE})
    work = WritePart(subset, augmenter, folder)
    parts = [range(start, min(start + PART_SIZE, len(subset))) for start in range(0, len(subset), PART_SIZE)]
    missing = [part for part in parts if not work.path(part).is_file()]
    if missing:
        with progress("augment", sum(map(len, missing)), "samples") as advance:
            for written in engine.run(work, missing):
                advance(written, "")
    schemas = (pq.read_schema(work.path(part)) for part in parts)
    drops = (json.loads((schema.metadata or {}).get(_DROPS, b"{}")) for schema in schemas)
    return sum(map(Counter, drops), Counter[str]())


class WritePart:
    """Writes the captions of one part of a subset, a range of positions, to a parquet file."""

    light = False

    def __init__(self, subset: Samples[Sample], augmenter: Augmenter, folder: Path) -> None:
        self.subset = subset
        self.augmenter = augmenter
        self.folder = folder

    def path(self, part: range) -> Path:
        """Return the path of the file of `part`, named after its first position."""
        return self.folder / f"part-{part.start:08d}.parquet"

    def setup(self, device: str) -> None:
        """Load the augmenter's model."""
        self.augmenter.setup(torch.device(device))

    def __call__(self, part: range) -> int:
        """Write the file of `part` unless it exists; return the number of samples in the part."""
        path = self.path(part)
        with locked(path):
            if not intact(path):
                self._write(path, part)
        return len(part)

    def _write(self, path: Path, part: range) -> None:
        samples, reasons = read_samples(self.subset.__getitem__, part)
        drops = Counter(reason for reason in reasons if reason is not None)
        captions = self.augmenter.captions(samples) if samples else []
        rows = [(sample.uid, text) for sample, text in zip(samples, captions, strict=True) if text]
        if len(rows) < len(samples):
            drops[CAPTION_EMPTY] += len(samples) - len(rows)
        # Later runs read the drop counts of the part in the file's metadata.
        schema = pa.schema([(UID, pa.string()), (CAPTION, pa.string())], {_DROPS: json.dumps(drops)})
        columns = [[uid for uid, _ in rows], [text for _, text in rows]]
        with atomic_write(path) as temporary:
            pq.write_table(pa.table(columns, schema=schema), temporary)


def _check_manifest(folder: Path, content: dict[str, Any]) -> None:
    """Write the manifest of a new folder, or check that an existing one has the same content."""
    manifest = folder / _MANIFEST
    text = json.dumps(content, indent=2, sort_keys=True, default=str) + "\n"
    with locked(manifest):  # two commands that begin at once see each other
        if not manifest.is_file():
            if any(folder.glob("*.parquet")):
                raise UserError(
                    f"{folder} holds parquet files that task=augment did not write; give task.output=EMPTY_FOLDER"
                )
            write_text(manifest, text)
        elif manifest.read_text(encoding="utf-8") != text:
            raise UserError(
                f"{folder} holds captions of another selection or augmentation; give task.output=ANOTHER_FOLDER"
            )
