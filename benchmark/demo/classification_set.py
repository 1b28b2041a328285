"""The demo's classification set: images of single things in an image-folder layout, one class per in-domain kind."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import cv2

from benchmark.core.hashes import hash_json
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_folder, cache_folder
from benchmark.core.ranges import Name, Percentage, PositiveInt, Seed
from benchmark.core.requirements import OnFirstUseError
from benchmark.core.seals import intact
from benchmark.demo.draws import generator
from benchmark.demo.render import render
from benchmark.demo.shards import encode_jpeg
from benchmark.demo.vocabulary import IN_KINDS
from benchmark.demo.world import single_thing
from downstream.evaluation.classification_sets import ClassificationSet, Score, image_folder

log = logging.getLogger(__name__)
CLASSES_VERSION = 1  # raise it with every change of the images
STRIDE = 1_000_000  # indices of the `classes` draw reserved per class: the first half for train, the second for test


@dataclass(frozen=True)
class ClassesConfig:
    """The settings of the classification set.

    Args:
        train: training images per class, for the linear probe.
        test: test images per class.
        image_size: height and width of every image, in pixels.
        jpeg_quality: JPEG quality, 0 to 100.
        seed: random seed of the images.
    """

    train: PositiveInt
    test: PositiveInt
    image_size: PositiveInt
    jpeg_quality: Percentage
    seed: Seed

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides the images' bytes."""
        fields = {**asdict(self), "version": CLASSES_VERSION}
        return hash_json(fields, 16)


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
    """Return the folder of the set. It is in the same folder as the demo pools, as several of them may share it."""
    return cache_folder("demo", f"classes-{config.fingerprint}")


def ensure_classes(config: ClassesConfig) -> Path:
    """Return the folder with ``train`` and ``test``, and generate it first if it is missing."""
    root = classes_root(config)
    with locked(root):
        if not intact(root):
            log.info("evaluation sets: generating the demo's classification set in %s", root)
            cv2.setNumThreads(1)
            with atomic_folder(root) as folder:
                for label, kind in enumerate(IN_KINDS):
                    _draw_class(folder, config, label, kind)
    return root


def _draw_class(root: Path, config: ClassesConfig, label: int, kind: str) -> None:
    for split, count, offset in (("train", config.train, 0), ("test", config.test, STRIDE // 2)):
        folder = root / split / kind
        folder.mkdir(parents=True)
        for number in range(count):
            rng = generator("classes", label * STRIDE + offset + number, config.seed)
            picture = render(single_thing(rng, kind), rng, config.image_size)
            (folder / f"{number:04d}.jpg").write_bytes(encode_jpeg(picture, config.jpeg_quality))
