"""What workers do with one shard: extract features, of several filters in one walk, or score and write the part."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.cached_files import intact
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.locks import locked
from benchmark.core.progress import progress
from benchmark.core.uids import UID_DTYPE, UidIndex, read_subset
from benchmark.core.usage import Seconds, now, since
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_parts import SCORING, read_part_info, write_part
from benchmark.scoring.shard_reader import ShardReader, check_columns, shards_without_features, take_among
from filters.base import Filter, Reader, Scores
from filters.embeddings.pool_embeddings import Targeted

log = logging.getLogger(__name__)
# Random numbers for 10,000 pairs take .01 s, cosines of embeddings .05; a worker process takes 1.5 s to start.
LIGHT_SHARDS = 256


def needs_setup(scorer: Filter) -> bool:
    """Whether `setup` has something to load: it does not read a target that is the pool itself."""
    fitted = isinstance(scorer, Targeted) and scorer.corpus_dependent
    return type(scorer).setup is not Reader.setup and not fitted


def is_light(scorer: Filter) -> bool:
    """Whether scoring is arithmetic on cached features: few shards take less time than starting a process."""
    return scorer.light or (bool(scorer.features) and "image" not in scorer.needs and not needs_setup(scorer))


@dataclass
class ScoreShard:
    """Scores shards with one fitted filter. The part is written whole, so a killed run repeats one shard at most."""

    pool: Pool
    scorer: Filter
    shards: Mapping[Shard, Path]  # the path of the part of each shard that is scored
    fitting: Seconds = field(default_factory=Seconds)  # of the fit, per shard
    survivors: Path | None = None  # that the filter was fitted on and scores; None for the whole pool
    _reader: ShardReader | None = None
    _index: UidIndex | None = None

    def __post_init__(self) -> None:
        # What a light filter loads or fits, such as scores of files, is in memory once, not in each of many workers.
        few = len(self.shards) < LIGHT_SHARDS or needs_setup(self.scorer) or self.scorer.corpus_dependent
        light = few and is_light(self.scorer)
        self.light = light and not shards_without_features(self.pool, self.scorer, self.shards)

    def setup(self, device: str) -> None:
        """Load the filter's models."""
        self._reader = ShardReader(self.pool, device)
        self._index = UidIndex(read_subset(self.survivors)) if self.survivors else None
        if needs_setup(self.scorer):
            self.scorer.setup(resolve_device(device))

    def __call__(self, shard: Shard) -> int:
        """Score one shard and write its part, unless another process has; return its number of scored samples."""
        path = self.shards[shard]
        with locked(path):
            if intact(path):
                return read_part_info(path).rows
            return self._score(shard, path)

    def _score(self, shard: Shard, path: Path) -> int:
        assert self._reader is not None
        features = self._reader.prepare(shard, self.scorer)
        started = now()
        drops = Counter[str]()
        uids = [np.empty(0, UID_DTYPE)]
        scores: list[Scores] = [np.empty(0, np.float32)]
        for batch in take_among(self._reader.batches(shard, self.scorer, drops), self._index):
            uids.append(batch.uids)
            scores.append(self._checked(batch))
        scoring = since(started) + self.fitting
        scored = np.concatenate(uids)
        write_part(path, scored, np.concatenate(scores), drops, {SCORING: scoring, **features})
        return len(scored)

    def _checked(self, batch: Batch) -> Scores:
        scores = self.scorer.score(batch)
        shape, kind = getattr(scores, "shape", None), getattr(scores, "dtype", type(scores).__name__)
        if shape != (len(batch),) or kind not in (np.float32, np.float64):
            raise UserError(
                f"{type(self.scorer).__name__}.score gave {kind} of shape {shape} for {len(batch)} pairs; it must"
                f" return a numpy array of float32 or float64 of shape ({len(batch)},)"
            )
        return scores


@dataclass
class ExtractShard:
    """Extracts the features under each shard's readers; features of images share one walk over the shard."""

    pool: Pool
    shards: Mapping[Shard, Sequence[Reader]]
    light = False
    _reader: ShardReader | None = None

    def setup(self, device: str) -> None:
        """Load nothing yet: models are loaded with the first shard that lacks their features."""
        self._reader = ShardReader(self.pool, device)

    def __call__(self, shard: Shard) -> int:
        """Extract and cache the features of one shard; return its number of samples."""
        assert self._reader is not None
        features = [of for reader in self.shards[shard] for of in reader.features]
        self._reader.extract(shard, features)
        return max(len(self._reader.table(shard, of).uids) for of in features)


def run_on_shards(title: str, work: ScoreShard | ExtractShard, engine: Engine) -> None:
    """Run work on its shards under a progress bar that shows the pairs per second."""
    started, shards = time.monotonic(), list(work.shards)
    done = 0
    with progress(title, len(shards), "shards") as advance:
        for samples in engine.run(work, shards):
            done += samples
            advance(1, f"{done / (time.monotonic() - started):,.0f} pairs/s")


def extract_shared(pool: Pool, scorers: Iterable[Filter], engine: Engine) -> None:
    """Extract what several filters lack, if more than one of them needs features of images; else nothing.

    Each image is read and decoded once for all features with batches of one size; the models are in memory together.
    Raises `UserError` if a filter needs what the pool does not have, or reads what the pool hides.
    """
    not_scored: dict[str, Filter] = {}
    for scorer in scorers:
        check_columns(pool, scorer)
        if not all(map(intact, score_paths(pool, scorer).values())):
            not_scored |= {leaf.key(): leaf for leaf in scorer.leaves() if leaf.features}
    shards = {}
    for key, leaf in not_scored.items():  # all shards for a fit, else those without scores
        parts = score_paths(pool, leaf).items()
        needed = [shard for shard, path in parts if leaf.corpus_dependent or not intact(path)]
        shards[key] = shards_without_features(pool, leaf, needed)
    readers = {key: leaf for key, leaf in not_scored.items() if shards[key] and _of_images(leaf)}
    if len(readers) > 1 and len(set().union(*map(_of_images, readers.values()))) > 1:
        wanted: dict[Shard, list[Filter]] = defaultdict(list)
        for key, leaf in readers.items():
            for shard in shards[key]:
                wanted[shard].append(leaf)
        names = ", ".join(leaf.display_name for leaf in readers.values())
        log.info("extract: images are read once for %s, on %d shards", names, len(wanted))
        run_on_shards("extract", ExtractShard(pool, wanted), engine)


def _of_images(leaf: Filter) -> set[str]:
    """Return the keys of the features under `leaf` that read images."""
    return {key for key, of in leaf.all_features().items() if "image" in of.needs}
