"""Writes the pool and the COCO folder of `first_hour.sh`: ``python -m tests.full.first_pool DATA FOLDER``.

The pool has 563 pairs as img2dataset writes them: 509 plain ones, and 54 with something odd or wrong.
"""

import io
import json
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from tests.pools import Row, write_tar
from tests.slow.test_real_data import coco_photos, write_karpathy

PHOTOS, CAPTIONS, SHARDS = 100, 5, 2
FAILED = "failed_to_download"
UNLISTED = "in the tar only"


def encoded(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def odd_images(photo: Path) -> dict[str, bytes]:
    """Each odd image; the first six can be read."""
    data = photo.read_bytes()
    image = Image.open(photo).convert("RGB").resize((160, 120))
    return {
        "grey": encoded(image.convert("L"), "JPEG"),
        "CMYK": encoded(image.convert("CMYK"), "JPEG"),
        "PNG with alpha": encoded(image.convert("RGBA"), "PNG"),
        "WebP": encoded(image, "WEBP"),
        "GIF": encoded(image.convert("P"), "GIF"),
        "palette PNG": encoded(image.convert("P"), "PNG"),
        "truncated": data[: len(data) // 2],
        "a web page": b"<html><body>404 Not Found</body></html>",
        "20,000 x 20,000 pixels": encoded(Image.new("1", (20_000, 20_000)), "PNG"),
        "1 x 9,000 pixels": encoded(Image.new("L", (1, 9_000)), "PNG"),
    }


def sample(key: str, kind: str, url: str, caption: str | None, image: bytes | None) -> Row:
    """A sample of a tar as img2dataset writes it, without a uid."""
    text = f"{caption} in the tar" if kind.startswith("other") else caption or ""
    record = {"key": key, "url": url, "caption": text, "status": "success"}
    files = {"jpg": image or b"", "txt": text.encode(), "json": json.dumps(record).encode()}
    return Row(key, url, text, image or b"", files=files)


def main(data: Path, folder: Path) -> None:
    captions, _ = coco_photos(data)
    photos = [*captions.items()]
    rows: list[tuple[str, str, str | None, bytes | None]] = []  # kind, url, caption of the metadata, image
    for photo, texts in photos[:PHOTOS]:
        url = f"http://images.cocodataset.org/{photo.name}"
        rows += [("good", f"{url}?{n}", text, photo.read_bytes()) for n, text in enumerate(texts[:CAPTIONS])]
    photo, image = photos[0][0], photos[0][0].read_bytes()
    again = (text for _, texts in photos[1:PHOTOS] for text in texts[:CAPTIONS])

    def add(kind: str, count: int, image: bytes | None, caption: str | None = "") -> None:
        for number in range(count):
            url = f"http://example.org/{kind.replace(' ', '_')}/{number}.jpg"
            rows.append((kind, url, f"{next(again)} again" if caption == "" else caption, image))

    add(FAILED, 30, None)
    for kind, odd in odd_images(photo).items():
        add(kind, 1, odd)
    add("no image in the tar", 1, None)
    add("null caption", 2, image, None)
    add("blank caption", 2, image, " \n")
    add("caption of 5,000 characters", 1, image, "very " * 1_000)
    add("other caption in the tar", 2, image)
    add("caption of HTML and control characters", 1, image, "<script>alert('\x1b[31m')</script>\u202e")
    add(UNLISTED, 2, image)
    add("plain", 9, image)
    rows += [("twice", *row[1:]) for row in rows[:3]]
    print(", ".join(f"{count} {kind}" for kind, count in Counter(kind for kind, *_ in rows).items()))
    assert len(rows) == 563
    for shard in range(SHARDS):
        part = [(f"{n:09d}", row) for n, row in enumerate(rows) if n % SHARDS == shard]
        listed = [(key, row) for key, row in part if row[0] != UNLISTED]
        stem = folder / "my_pool" / f"{shard:05d}"
        write_tar(stem.with_suffix(".tar"), [sample(key, *row) for key, row in part if row[3] is not None])
        records = [
            {"key": key, "url": url, "caption": caption, "status": FAILED if kind == FAILED else "success"}
            for key, (kind, url, caption, _) in listed
        ]
        pq.write_table(pa.Table.from_pylist(records), stem.with_suffix(".parquet"))
    write_karpathy(folder / "coco", dict(photos[PHOTOS:]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
