"""Images of a pool of tars as CLIP's pixels, against webdataset in torch's DataLoader: equal pixels, in less time.

open_clip, clip-retrieval and img2dataset's example read images like this: tars are divided over worker processes,
and each process reads, decodes, preprocesses and joins whole batches.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
import torch

from bench.measurement import compare, measure
from bench.photos import write_photos
from benchmark.core.pixel_workers import PixelWorkers, Preprocessing
from benchmark.pool.tar_index import index_tar
from benchmark.pool.tar_reader import read_pixels

pytestmark = pytest.mark.perf
WORKERS = len(os.sched_getaffinity(0))
IMPORTS = ("open_clip", "webdataset")
IMAGES, BATCH = 512, 64  # images per tar, a tar for each worker: webdataset's read whole tars
Captioned = Iterable[tuple[list[str], torch.Tensor]]


def clip_preprocessing() -> Preprocessing:
    """Return open_clip's preprocessing, to 224 x 224 pixels."""
    from open_clip import image_transform

    torch.set_num_threads(1)
    preprocess: Preprocessing = image_transform(224, is_train=False)
    return preprocess


def by_our_pipeline(paths: list[str], workers: PixelWorkers) -> Captioned:
    """Yield captions and pixels; tars are indexed first, as in a first run."""
    for path in map(Path, paths):
        for batch in read_pixels(path, index_tar(path, {}), BATCH, Counter(), workers):
            assert batch.pixels is not None
            yield list(batch.texts), batch.pixels


def webdataset_loader(paths: list[str], preprocess: Preprocessing) -> Captioned:
    """Return an iterable of captions and pixels. Its processes stay for another iteration."""
    import webdataset
    from torch.utils.data import DataLoader

    samples = webdataset.WebDataset(paths, shardshuffle=False).decode("pilrgb")
    pairs = samples.rename(image="jpg", text="txt").map_dict(image=preprocess).to_tuple("text", "image")
    batches = pairs.batched(BATCH)
    return DataLoader(batches, batch_size=None, num_workers=WORKERS, persistent_workers=True)


def ours(*paths: str) -> Iterator[None]:
    """Read all tars with processes that have had their first images."""
    workers = PixelWorkers(clip_preprocessing(), WORKERS, torch.device("cpu"))
    next(iter(by_our_pipeline(list(paths), workers)))
    yield
    assert count(by_our_pipeline(list(paths), workers)) == IMAGES * len(paths)


def reference(*paths: str) -> Iterator[None]:
    """Read all tars with processes that have read them once."""
    loader = webdataset_loader(list(paths), clip_preprocessing())
    assert count(loader) == IMAGES * len(paths)
    yield
    assert count(loader) == IMAGES * len(paths)


def count(batches: Captioned) -> int:
    return sum(len(texts) for texts, _ in batches)


def test_tars_read_beside_webdataset(tmp_path: Path) -> None:
    pytest.importorskip("webdataset", reason="the extra dev, which `make setup` installs")
    paths = write_photos(tmp_path, WORKERS, IMAGES)
    row = compare(
        f"read {WORKERS * IMAGES:,} images of tars as CLIP's pixels, {WORKERS} processes",
        partial(measure, ours, *paths),
        "webdataset in torch's DataLoader",
        partial(measure, reference, *paths),
        1,
    )
    assert row.ratio < 1.1


def test_pixels_are_those_of_webdataset(tmp_path: Path) -> None:
    pytest.importorskip("webdataset", reason="the extra dev, which `make setup` installs")
    paths, preprocess = write_photos(tmp_path, WORKERS, 20), clip_preprocessing()
    workers = PixelWorkers(preprocess, WORKERS, torch.device("cpu"))
    read = [
        pixels_by_caption(way)
        for way in (by_our_pipeline(paths, workers), webdataset_loader(paths, preprocess))
    ]
    assert read[0] == read[1]
    assert len(read[0]) == WORKERS * 20


def pixels_by_caption(batches: Captioned) -> dict[str, str]:
    """Return the hash of each image's pixels."""
    return {
        text: sha256(image.numpy().tobytes()).hexdigest()
        for texts, pixels in batches
        for text, image in zip(texts, pixels, strict=True)
    }
