"""What a scoring worker does with one shard: read, extract or load features, score, write the part."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from benchmark.batch import Batch
from benchmark.feature_cache import load_features, save_features
from benchmark.paths import cache_dir
from benchmark.pool import Pool, Shard
from benchmark.score_parts import write_part
from filters.base import Features, Filter


class ScoreShard:
    """Scores shards with one filter. The part is written whole, so a killed run repeats one shard at most."""

    def __init__(self, pool: Pool, scorer: Filter, parts: dict[str, Path]) -> None:
        self.pool = pool
        self.scorer = scorer
        self.parts = parts
        self.light = scorer.light
        self._device: torch.device | None = None
        self._features_ready = False

    def setup(self, device: torch.device) -> None:
        """Load the filter's models."""
        self._device = device
        self.scorer.setup(device)

    def __call__(self, shard: Shard) -> int:
        """Score one shard and write its part; return how many samples it has."""
        started = time.monotonic()
        drops = Counter[str]()
        uids: list[str] = []
        scores: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)]
        for batch in self._batches(shard, drops):
            uids += batch.uids
            scores.append(self._checked(batch))
        seconds = time.monotonic() - started
        write_part(self.parts[shard.name], uids, np.concatenate(scores), drops, seconds)
        return len(uids)

    def _checked(self, batch: Batch) -> npt.NDArray[np.float32]:
        scores = self.scorer.score(batch)
        if scores.shape != (len(batch),) or scores.dtype != np.float32:
            name = type(self.scorer).__name__
            raise TypeError(f"{name}.score gave {scores.dtype} {scores.shape}, not float32 ({len(batch)},)")
        return scores

    def _batches(self, shard: Shard, drops: Counter[str]) -> Iterator[Batch]:
        features = self.scorer.features
        if features is None:
            return self.pool.batches(shard, self.scorer.needs, self.scorer.batch_size, drops)
        path = (
            cache_dir()
            / "features"
            / self.pool.key
            / features.key()
            / f"{shard.name}-{shard.fingerprint}.npz"
        )
        if not path.is_file():
            self._extract(shard, features, path)
        return load_features(path, self.scorer.batch_size, drops)

    def _extract(self, shard: Shard, features: Features, path: Path) -> None:
        if not self._features_ready:  # loaded only when a shard's features are not cached yet
            assert self._device is not None
            features.setup(self._device)
            self._features_ready = True
        drops = Counter[str]()
        uids: list[str] = []
        arrays: dict[str, list[npt.NDArray[np.float32]]] = {}
        for batch in self.pool.batches(shard, features.needs, features.batch_size, drops):
            uids += batch.uids
            for name, array in features.extract(batch).items():
                arrays.setdefault(name, []).append(array)
        save_features(path, uids, {name: np.concatenate(a) for name, a in arrays.items()}, drops)
