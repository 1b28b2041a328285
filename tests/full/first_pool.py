"""Writes the pool and the COCO folder of `first_hour.sh`: ``python -m tests.full.first_pool DATA FOLDER``."""

import sys
from pathlib import Path

from tests.pools import Row, write_metadata, write_tar
from tests.slow.test_real_data import coco_photos, write_karpathy

PHOTOS, CAPTIONS = 100, 4  # of the pool: 400 pairs, as img2dataset writes them


def main(data: Path, folder: Path) -> None:
    captions, _ = coco_photos(data)
    photos = [*captions.items()]
    pairs = [(photo, text) for photo, texts in photos[:PHOTOS] for text in texts[:CAPTIONS]]
    samples = [
        Row(f"{n:09d}", f"http://images.cocodataset.org/{photo.name}?{n}", text, photo.read_bytes())
        for n, (photo, text) in enumerate(pairs)
    ]
    for number in range(2):
        part = samples[number::2]
        write_tar(folder / "my_pool" / f"{number:05d}.tar", part)
        write_metadata(folder / "my_pool" / f"{number:05d}.parquet", part, status=["success"] * len(part))
    write_karpathy(folder / "coco", dict(photos[PHOTOS:]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
