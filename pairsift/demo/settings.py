"""The settings of the demo, its fingerprint, and its cache folder."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from benchmark.core.hashes import hash_json
from benchmark.core.paths import cache_folder
from benchmark.core.ranges import Fraction, Percentage, PositiveInt, Seed
from pairsift.demo.worlds import check_world, read_card

# In images of 16 pixels, words would have no height.
DrawnSize = Annotated[int, Field(ge=32, description="an integer of at least 32")]
# Increase it with every change to the drawn images or written files, so that older caches are not reused.
DRAWING_VERSION = 4


@dataclass(frozen=True)
class DemoConfig:
    """The settings of the demo pool and its evaluation sets."""

    pairs: PositiveInt  # number of image-caption pairs in the pool
    shard_size: PositiveInt  # pairs per shard; the last shard may be smaller
    image_size: DrawnSize  # height and width of every image, in pixels
    jpeg_quality: Percentage  # JPEG quality, 0 to 100
    seed: Seed  # random seed of the pool and the evaluation sets
    consistency: Fraction  # probability that the image of a caption with a name shows the look of that name
    mismatched: Fraction  # fraction of pairs with a caption of another scene
    cut: bool | None  # whether the pool holds only pairs that are similar enough to CLIP
    # Number of images of each evaluation set; for NoCaps, the number per domain.
    evaluation: Mapping[str, PositiveInt]


def fingerprint_of(settings: Mapping[str, object]) -> str:
    """Return a hash of settings and of the shipped worlds."""
    return hash_json([settings, read_card(), DRAWING_VERSION], 16)


def demo_root(config: DemoConfig) -> Path:
    """Return the folder of this demo in the user's cache. Raises `UserError` if no such world is shipped."""
    check_world(config.pairs, config.seed, config.consistency, config.mismatched, bool(config.cut))
    return cache_folder("demo", fingerprint_of(asdict(config)))


def demo_model(name: str) -> str:
    """Return the folder of the scale model `name`, for example ``clip``."""
    return str(Path(__file__).parent / "models" / name)
