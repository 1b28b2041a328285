"""The demo's classification set: images of single things in an image-folder layout, one class per in-domain kind."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import cv2
import pyarrow.parquet as pq

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_folder, cache_folder
from benchmark.core.ranges import Name, Percentage, PositiveInt
from benchmark.core.requirements import OnFirstUseError
from downstream.evaluation.classification_sets import ClassificationSet, Score, image_folder
from pairsift.demo.draws import DRAWS
from pairsift.demo.pictures import draw_picture, read_pictures
from pairsift.demo.settings import fingerprint_of
from pairsift.demo.shards import encode_jpeg
from pairsift.demo.worlds import WORLDS

log = logging.getLogger(__name__)
SPLIT = 20  # shipped images per class and split


@dataclass(frozen=True)
class ClassesConfig:
    """The settings of the classification set."""

    train: PositiveInt  # training images per class, for the linear probe
    test: PositiveInt  # test images per class
    image_size: PositiveInt  # height and width of every image, in pixels
    jpeg_quality: Percentage  # JPEG quality, 0 to 100


def demo_classes(
    name: Name, score: Score, templates: Sequence[str], probe_epochs: PositiveInt, drawn: ClassesConfig
) -> ClassificationSet:
    """Return the demo's classification set. Raises `OnFirstUseError` if it is not drawn yet.

    Args:
        name: name of the set in results.
        score: metric of the set.
        templates: zero-shot prompts with ``{label}`` in them.
        probe_epochs: training epochs of the linear probe.
        drawn: settings of the images.
    """
    root = classes_root(drawn)
    if not intact(root):
        raise OnFirstUseError(f"will be drawn into {root}", folder=root, make=partial(ensure_classes, drawn))
    return image_folder(name, str(root), score, templates, probe_epochs)


def classes_root(config: ClassesConfig) -> Path:
    """Return the folder of the set. It is next to the demo pools, because several pools may share it."""
    return cache_folder("demo", f"classes-{fingerprint_of(asdict(config))}")


def ensure_classes(config: ClassesConfig) -> Path:
    """Return the folder with ``train`` and ``test``, and generate it first if it is missing."""
    root = classes_root(config)
    with locked(root):
        if not intact(root):
            log.info("evaluation sets: generating the demo's classification set in %s", root)
            cv2.setNumThreads(1)
            with atomic_folder(root) as folder:
                _draw_classes(folder, config)
    return root


def _draw_classes(root: Path, config: ClassesConfig) -> None:
    for split, count in (("train", config.train), ("test", config.test)):
        if count > SPLIT:
            raise UserError(
                f"evalset.classes.drawn.{split}={count} must be at most {SPLIT}, which are shipped"
            )
    rows = pq.read_table(WORLDS / "classes.parquet")
    columns = [rows[name].to_pylist() for name in ("kind", "split", "number", "index")]
    for kind, split, number, index, picture in zip(*columns, read_pictures(rows), strict=True):
        if number < getattr(config, split):
            folder = root / split / kind
            folder.mkdir(parents=True, exist_ok=True)
            image = draw_picture(picture, "", (0, DRAWS["classes"], index), config.image_size)
            (folder / f"{number:04d}.jpg").write_bytes(encode_jpeg(image, config.jpeg_quality))
