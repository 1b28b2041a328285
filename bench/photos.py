"""Photos of one size as JPEGs, and pools of tars that hold them."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from tests.pools import Row, write_tar

SIDE, DISTINCT = 512, 16


def photos(count: int) -> list[bytes]:
    """Return smooth noise of 512 x 384 pixels; every 16th image is the same."""
    rng = np.random.default_rng(0)
    files = []
    for _ in range(DISTINCT):
        coarse = Image.fromarray(rng.integers(0, 255, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8))
        encoded = io.BytesIO()
        coarse.resize((SIDE, SIDE * 3 // 4), Image.Resampling.BICUBIC).save(encoded, "JPEG", quality=90)
        files.append(encoded.getvalue())
    return [files[number % DISTINCT] for number in range(count)]


def write_photos(folder: Path, tars: int, images: int) -> list[str]:
    """Write tars of so many photos each, with different captions; return their paths."""
    paths = [folder / "shards" / f"{number:08d}.tar" for number in range(tars)]
    for number, path in enumerate(paths):
        keys = [f"{number:05d}{row:04d}" for row in range(images)]
        samples = zip(keys, photos(images), strict=True)
        write_tar(
            path, [Row(key, f"https://example.org/{key}.jpg", f"photo {key}", data) for key, data in samples]
        )
    return [str(path) for path in paths]
