"""Every way to read a tar gives back the same rows, the first and the last among them, and no damaged one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import SampleError
from benchmark.core.pixel_workers import Loadable, PixelBatch
from benchmark.core.uids import decode_uids
from benchmark.pool.tar_index import index_tar
from benchmark.pool.tar_reader import read_images, read_pixels, read_texts
from tests.pools import rows, write_tar


class Brightness:
    """The mean level of each image, as processes that make pixels give it."""

    def batches(self, batches: Sequence[Sequence[Loadable]]) -> Iterator[PixelBatch]:
        for batch in batches:
            levels: list[float] = []
            reasons: list[str | None] = []
            for image in batch:
                try:
                    levels.append(float(np.asarray(image.load()).mean()))
                    reasons.append(None)
                except SampleError as error:
                    reasons.append(error.reason)
            yield PixelBatch(torch.tensor(levels), reasons)


@pytest.mark.parametrize("damaged", [(), (0,), (4,), (8,), (0, 1, 2, 3), (3, 4, 8), tuple(range(9))])
def test_images_pixels_and_texts_are_of_the_same_rows(tmp_path: Path, damaged: tuple[int, ...]) -> None:
    samples = rows(9)
    for row in damaged:
        samples[row].image = samples[row].image[:300]
    write_tar(tmp_path / "a.tar", samples)
    index, drops = index_tar(tmp_path / "a.tar", {}), (Counter[str](), Counter[str]())
    images = list(read_images(tmp_path / "a.tar", index, 4, drops[0]))
    pixels = list(read_pixels(tmp_path / "a.tar", index, 4, drops[1], Brightness()))  # type: ignore[arg-type]
    kept = [(row.uid, row.text) for number, row in enumerate(samples) if number not in damaged]
    for batches in (images, pixels):
        read = [pair for b in batches for pair in zip(decode_uids(b.uids), b.texts, strict=True)]
        assert read == kept
    assert drops[0] == drops[1] == Counter({"image_unreadable": len(damaged)} if damaged else {})
    shown = [float(np.asarray(image).mean()) for batch in images for image in batch.images]
    assert [value for batch in pixels for value in batch.pixels.tolist()] == pytest.approx(shown)
    assert [text for batch in read_texts(index, 4) for text in batch.texts] == [row.text for row in samples]
