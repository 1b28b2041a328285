"""The demo pool as a `Pool`, generated into the cache on first use."""

import logging
import os
from collections.abc import Sequence
from functools import partial

from benchmark.core.ranges import Name, PositiveInt
from benchmark.core.requirements import OnFirstUseError
from benchmark.core.seals import intact
from benchmark.demo.settings import DemoConfig, demo_root
from benchmark.pool.pool import Pool

BYTES_PER_PAIR = 8_100  # with images of 128 pixels, measured
log = logging.getLogger(__name__)


def demo_pool(name: Name, scale: PositiveInt, hidden: Sequence[str], demo: DemoConfig) -> Pool:
    """Return the demo pool with the settings `demo`. Raises `OnFirstUseError` if it is not drawn yet.

    Args:
        name: name of the pool in results and logs.
        scale: factor by which size and budget shrink, as the demo is a 1:`scale` model of the paper's pool.
        hidden: metadata columns that only the oracle filter may read.
        demo: settings of the demo.
    """
    root = demo_root(demo)
    if not intact(root):
        size = demo.pairs * BYTES_PER_PAIR
        drawn = f"{demo.pairs:,} pairs will be drawn into {root}, {size / 1e6:,.0f} MB"
        raise OnFirstUseError(drawn, size, root, partial(_draw, demo))
    return Pool(name, str(root), scale=scale, hidden=hidden)


def _draw(demo: DemoConfig) -> None:
    from benchmark.demo.build import ensure_demo  # a pool that is drawn needs no renderer

    log.info("pool: drawing the demo, %s pairs, into %s", f"{demo.pairs:,}", demo_root(demo))
    ensure_demo(demo, os.cpu_count() or 1)
