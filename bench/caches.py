"""A copy of a pool's cache, for work that would find its earlier results there when measured again."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_beside(folder: str) -> str:
    """Return the cache folder of the pool in `folder`."""
    return f"{folder}/cache"


@contextmanager
def copied_cache(folder: str) -> Iterator[None]:
    """Let this process work in a copy of the cache, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(cache_beside(folder), Path(copy, "cache"))
        os.environ["XDG_CACHE_HOME"] = f"{copy}/cache"
        yield
