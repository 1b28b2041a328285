"""The demo's classification set: single things, in the layout of an image folder, a class for each usual kind."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2

from benchmark.core.locks import locked
from benchmark.core.paths import atomic_folder, cache_dir
from benchmark.demo.draws import generator
from benchmark.demo.render import render
from benchmark.demo.shards import encode_jpeg
from benchmark.demo.vocabulary import IN_KINDS
from benchmark.demo.world import single_thing
from downstream.evaluation.classification_sets import ClassificationSet, Score, image_folder

log = logging.getLogger(__name__)
CLASSES_VERSION = 1  # raise it with every change of what is drawn
STRIDE = 1_000_000  # between the first indices of two classes, and half of it between those of train and test


@dataclass(frozen=True)
class ClassesConfig:
    """What is drawn: images of each class for the probe to learn from, and to test; their size in pixels."""

    train: int
    test: int
    image_size: int
    jpeg_quality: int
    seed: int

    @property
    def fingerprint(self) -> str:
        """What identifies the images' bytes."""
        fields = {**asdict(self), "version": CLASSES_VERSION}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def demo_classes(
    name: str, score: Score, templates: Sequence[str], probe_epochs: int, drawn: ClassesConfig
) -> ClassificationSet:
    """Return the demo's classification set, drawn into the cache first if it is not there."""
    return image_folder(name, str(ensure_classes(drawn)), score, templates, probe_epochs)


def ensure_classes(config: ClassesConfig) -> Path:
    """Return the folder with ``train`` and ``test``; beside the demo's pools, none of which it is part of."""
    root = cache_dir() / "demo" / f"classes-{config.fingerprint}"
    with locked(root):
        if not root.is_dir():
            log.info("evaluation sets: drawing the demo's classes into %s", root)
            cv2.setNumThreads(1)
            with atomic_folder(root) as folder:
                for number, kind in enumerate(IN_KINDS):
                    _draw_class(folder, config, number, kind)
    return root


def _draw_class(root: Path, config: ClassesConfig, number: int, kind: str) -> None:
    for split, count, first in (("train", config.train, 0), ("test", config.test, STRIDE // 2)):
        folder = root / split / kind
        folder.mkdir(parents=True)
        for image in range(count):
            rng = generator("classes", number * STRIDE + first + image, config.seed)
            picture = render(single_thing(rng, kind), rng, config.image_size)
            (folder / f"{image:04d}.jpg").write_bytes(encode_jpeg(picture, config.jpeg_quality))
