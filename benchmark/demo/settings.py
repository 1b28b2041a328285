"""The settings of the demo, its fingerprint, and its cache folder."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file, hash_json
from benchmark.core.paths import cache_folder
from benchmark.core.ranges import Percentage, PositiveInt, Seed, Share
from benchmark.demo.mix import Mix

# Raise it with every change of what is generated or written, so that caches of older versions are not reused.
GENERATOR_VERSION = 3

ACCEPTED = "accepted.npz"  # the file of a cut
NEW_CUT = "make it anew with `python -m benchmark.demo.training cut`, or set pool.demo.cut=null for no cut"
Shares = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class DemoConfig:
    """The settings of the demo pool and its evaluation sets.

    Args:
        pairs: number of image-caption pairs in the pool.
        shard_size: pairs per shard; the last shard may be smaller.
        image_size: height and width of every image, in pixels.
        jpeg_quality: JPEG quality, 0 to 100.
        seed: random seed of the pool and the evaluation sets.
        consistency: probability that the image of a caption with a name shows the look of that name.
        cut: folder with the indices of the drawn pairs that a cut at a CLIP similarity accepted; None for no cut.
        noise: for each kind of caption its `share` of the pool, its share of the pairs `drawn` before the cut, and in
            `follows` the figure behind it.
        text: the same for each kind of text in images.
        evaluation: number of images of each evaluation set; for NoCaps, the number per domain.
    """

    pairs: PositiveInt
    shard_size: PositiveInt
    image_size: PositiveInt
    jpeg_quality: Percentage
    seed: Seed
    consistency: Share
    cut: str | None
    noise: Shares
    text: Shares
    evaluation: Mapping[str, PositiveInt]

    @property
    def mix(self) -> Mix:
        """The mix of the pool."""
        return Mix(_column(self.noise, "share"), _column(self.text, "share"), self.consistency)

    @property
    def drawn(self) -> Mix:
        """The mix that pairs are drawn from: before the cut if there is one, else the pool's."""
        if self.cut is None:
            return self.mix
        return Mix(_column(self.noise, "drawn"), _column(self.text, "drawn"), self.consistency)

    @property
    def draws_fingerprint(self) -> str:
        """A hash of all settings that decide which pairs are drawn, before any cut."""
        drawn = self.drawn
        names = (drawn.consistency, drawn.name_shift)
        return _fingerprint([self.seed, self.image_size, drawn.kinds, drawn.texts, names])

    @property
    def fingerprint(self) -> str:
        """A hash of all settings that decide the demo's bytes, which leaves out `follows`."""
        fields = asdict(self) | {"noise": None, "text": None, "drawn": self.draws_fingerprint}
        if self.cut is not None:
            fields["cut"] = hash_file(cut_file(self.cut))
        return _fingerprint(fields)


def cut_file(folder: str) -> Path:
    """Return the file of the cut in `folder`; raise `UserError` if it is missing."""
    path = Path(folder) / ACCEPTED
    if not path.is_file():
        raise UserError(f"pool.demo.cut={folder} holds no {ACCEPTED}; {NEW_CUT}")
    return path


def _column(shares: Shares, name: str) -> dict[str, float]:
    return {kind: float(entry[name]) for kind, entry in shares.items()}


def _fingerprint(fields: Any) -> str:
    return hash_json([fields, GENERATOR_VERSION], 16)


def demo_root(config: DemoConfig) -> Path:
    """Return the folder of this demo in the user's cache; it may not exist yet."""
    return cache_folder("demo", config.fingerprint)
