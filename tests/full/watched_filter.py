"""A filter that leaves a trace of each process; in a separate module, which workers import."""

import os
import time
from pathlib import Path

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores


class Watched(Filter):
    """Scores lengths of captions; leaves a file named by its process, in the order of their starts."""

    needs = frozenset({"text"})

    def __init__(self, folder: str, seconds: float) -> None:
        self.folder = folder
        self.seconds = seconds

    def score(self, batch: Batch) -> Scores:
        """Return the lengths, after some seconds."""
        Path(self.folder, f"{os.getpid()}.pid").touch()
        time.sleep(self.seconds)
        return np.array([len(text) for text in batch.texts], np.float32)

    def processes(self) -> list[int]:
        """Return the processes that have scored."""
        paths = sorted(Path(self.folder).glob("*.pid"), key=lambda path: path.stat().st_mtime_ns)
        return [int(path.stem) for path in paths]
