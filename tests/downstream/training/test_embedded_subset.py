"""Embedded images: their rows on the disk, and their memory."""

import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from benchmark.core.batch import Sample, SampleError
from downstream.training.embedded_subset import EmbeddedSubset, embed_subset

CPU = torch.device("cpu")
IMAGE = Image.new("RGB", (4, 4))


@dataclass(frozen=True)
class Numbered:
    samples: int

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int, /) -> Sample:
        if index % 5 == 1:
            raise SampleError("image_too_large")
        others = ("a dog", f"dog {index}")[: index % 3]
        return Sample(f"{index:032x}", f"a caption of about fifty characters, number {index}", IMAGE, others)


def embedded(samples: int, folder: Path, drawn: np.ndarray) -> EmbeddedSubset:
    def preprocess(images: list[Image.Image]) -> torch.Tensor:
        return torch.zeros(len(images), 2)

    return embed_subset(Numbered(samples), drawn, folder, lambda pixels: pixels + 1, preprocess, 16, 0, CPU)


def test_samples_are_those_of_the_subset(tmp_path: Path) -> None:
    drawn = np.arange(3, 60, 2)
    found = embedded(60, tmp_path / "embedded", drawn)
    assert len(found) == 60
    for index in drawn.tolist():
        if index % 5 == 1:
            with pytest.raises(SampleError, match="image_too_large"):
                found[index]
        else:
            sample, original = found[index], Numbered(60)[index]
            assert (sample.text, sample.others) == (original.text, original.others)
            assert sample.features.tolist() == [1, 1]
    assert sorted(found.captions()) == sorted(
        text for index in drawn.tolist() if index % 5 != 1 for text in texts_of(Numbered(60)[index])
    )


def texts_of(sample: Sample) -> list[str]:
    return [sample.text, *(other for other in sample.others if other is not None)]


def test_captions_stay_in_the_file(tmp_path: Path) -> None:
    samples = 4000
    embedded(samples, tmp_path / "embedded", np.arange(samples))
    tracemalloc.start()
    arrow_before, (before, _) = pa.total_allocated_bytes(), tracemalloc.get_traced_memory()
    subset = EmbeddedSubset(tmp_path / "embedded", samples)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(subset) == samples
    taken = after - before + pa.total_allocated_bytes() - arrow_before
    assert taken < 12 * samples  # 8 bytes for the index
