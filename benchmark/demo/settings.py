"""The settings of the demo, its fingerprint, and its cache folder."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.core.paths import cache_dir

# Raise it with every change of what is generated or written, so that caches of older versions are not reused.
GENERATOR_VERSION = 2


@dataclass(frozen=True)
class DemoConfig:
    """The settings of the demo pool and its evaluation sets.

    Args:
        pairs: number of image-caption pairs in the pool.
        shard_size: pairs per shard; the last shard may be smaller.
        image_size: height and width of every image, in pixels.
        jpeg_quality: JPEG quality, 0 to 100.
        seed: random seed of the pool and the evaluation sets.
        noise: for each kind of noise its `share` of the pool, and in `follows` the published figure behind it.
        evaluation: number of images of each evaluation set; for NoCaps, the number per domain.
    """

    pairs: int
    shard_size: int
    image_size: int
    jpeg_quality: int
    seed: int
    noise: Mapping[str, Mapping[str, Any]]
    evaluation: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """The share of the pool that each kind of noise has."""
        return {kind: float(entry["share"]) for kind, entry in self.noise.items()}

    @property
    def fingerprint(self) -> str:
        """A hash of all settings that decide the demo's bytes, which leaves out `follows`."""
        fields = {**asdict(self), "noise": self.shares, "version": GENERATOR_VERSION}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def demo_root(config: DemoConfig) -> Path:
    """Return the folder of this demo in the user's cache; it may not exist yet."""
    return cache_dir() / "demo" / config.fingerprint
