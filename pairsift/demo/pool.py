"""The demo pool as a `Pool`, and its evaluation sets, generated into the cache on first use."""

import logging
import os
from collections.abc import Sequence
from functools import partial

from benchmark.core.cached_files import intact
from benchmark.core.ranges import Name, PositiveInt
from benchmark.core.requirements import OnFirstUseError
from benchmark.pool.pool import Pool
from downstream.evaluation.evaluation_sets import EvaluationSet, coco_captions, karpathy
from pairsift.demo.settings import DemoConfig, demo_root

BYTES_PER_PAIR = 8_100  # with images of 128 pixels, measured
log = logging.getLogger(__name__)


def demo_pool(
    name: Name,
    scale: PositiveInt,
    hidden: Sequence[str],
    demo: DemoConfig,
    exclude: str | Sequence[str] = (),
) -> Pool:
    """Return the demo pool with the settings `demo`. Raises `OnFirstUseError` if it is not drawn yet.

    Args:
        name: name of the pool in results and logs.
        scale: divisor of size and budget, as the demo is a 1:`scale` model of the paper's pool.
        hidden: metadata columns that only the oracle filter may read.
        demo: settings of the demo.
        exclude: files with the pairs that scores lack.
    """
    root = demo_root(demo)
    if not intact(root):
        size = demo.pairs * BYTES_PER_PAIR
        drawn = f"{demo.pairs:,} pairs will be drawn into {root}, {size / 1e6:,.0f} MB"
        raise OnFirstUseError(drawn, size, root, partial(_draw, demo))
    return Pool(name, str(root), scale=scale, hidden=hidden, exclude=exclude)


def demo_evaluation_set(name: Name, captioning: bool, retrieval: bool, demo: DemoConfig) -> EvaluationSet:
    """Return an evaluation set of the demo, ``coco``, ``nocaps``, ``flickr30k`` or ``tuning``, in its layout.

    Raises `OnFirstUseError` if the demo is not drawn yet.

    Args:
        name: name of the set.
        captioning: whether captions of its images are evaluated.
        retrieval: whether retrieval among its images is evaluated.
        demo: settings of the demo.
    """
    root = demo_root(demo)
    if not intact(root):
        raise OnFirstUseError("will be drawn with the demo's pool", make=partial(_draw, demo))
    folder = root / "evalsets" / name
    if name == "nocaps":
        annotations = folder / "nocaps_val_4500_captions.json"
        return coco_captions(name, str(annotations), str(folder / "images"), captioning, retrieval)
    images = folder / "flickr30k-images" if name == "flickr30k" else folder
    return karpathy(name, str(folder / f"dataset_{name}.json"), str(images), captioning, retrieval)


def _draw(demo: DemoConfig) -> None:
    from pairsift.demo.build import ensure_demo  # a pool that is drawn needs no renderer

    log.info("pool: drawing the demo, %s pairs, into %s", f"{demo.pairs:,}", demo_root(demo))
    ensure_demo(demo, os.cpu_count() or 1)
