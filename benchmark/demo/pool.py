"""The demo pool: drawn into the cache on first use, then a pool like any other."""

import logging
import os
from collections.abc import Sequence

from benchmark.demo.build import ensure_demo
from benchmark.demo.settings import DemoConfig, demo_root
from benchmark.pool.pool import Pool

log = logging.getLogger(__name__)


def demo_pool(name: str, scale: int, hidden: Sequence[str], demo: DemoConfig) -> Pool:
    """Return the demo pool that `demo` describes, and draw it first if it is not there."""
    if not demo_root(demo).is_dir():
        log.info("pool: drawing the demo, %s pairs, into %s", f"{demo.pairs:,}", demo_root(demo))
    return Pool(name, str(ensure_demo(demo, os.cpu_count() or 1)), scale=scale, hidden=hidden)
