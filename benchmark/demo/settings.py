"""What the demo consists of, and where it is cached."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.core.paths import cache_dir

# Raise it with every change of what is drawn or written: caches of older worlds are then left alone.
GENERATOR_VERSION = 2


@dataclass(frozen=True)
class DemoConfig:
    """What the demo consists of.

    `noise` gives each kind's `share` of the pool and, for the reader, the figure that it `follows`;
    `evaluation` gives each set's number of images (for NoCaps: in each domain).
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
        """The share of each kind of noise."""
        return {kind: float(entry["share"]) for kind, entry in self.noise.items()}

    @property
    def fingerprint(self) -> str:
        """What identifies the demo's bytes: everything but the reasons for the shares."""
        fields = {**asdict(self), "noise": self.shares, "version": GENERATOR_VERSION}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def demo_root(config: DemoConfig) -> Path:
    """Return the folder of this demo in the user's cache; it may not be there yet."""
    return cache_dir() / "demo" / config.fingerprint
