"""Small pools for tests: real tars and parquet, also faulty ones."""

import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from benchmark.core.uids import UidArray, encode_uids, make_uid


def numbered_uids(count: int, start: int = 0) -> UidArray:
    """The uids 0…00, 0…01, …"""
    return encode_uids([f"{number:032x}" for number in range(start, start + count)])


def hashed_uids(count: int) -> UidArray:
    """Uids in no order, always the same."""
    return encode_uids([make_uid("", str(row)) for row in range(count)])


@cache
def jpeg(seed: int, size: int = 32) -> bytes:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (size // 8, size // 8, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((size, size)).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


@dataclass
class Row:
    """One sample to be written; `files` replaces the usual members."""

    key: str
    url: str
    text: str
    image: bytes
    extra: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] | None = None

    @property
    def uid(self) -> str:
        return make_uid(self.url, self.text)

    def members(self) -> dict[str, bytes]:
        if self.files is not None:
            return self.files
        record = {"uid": self.uid, "url": self.url, "caption": self.text, "key": self.key} | self.extra
        return {"jpg": self.image, "txt": self.text.encode(), "json": json.dumps(record).encode()}


def rows(count: int, start: int = 0) -> list[Row]:
    return [
        Row(f"{i:05d}", f"http://example.org/{i}.jpg", f"a photo of thing number {i}", jpeg(i))
        for i in range(start, start + count)
    ]


def write_tar(path: Path, samples: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for sample in samples:
            for extension, data in sample.members().items():
                member = tarfile.TarInfo(f"{sample.key}.{extension}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def write_metadata(path: Path, samples: Sequence[Row], **columns: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {name: [getattr(sample, name) for sample in samples] for name in ("uid", "url", "text")}
    pq.write_table(pa.table(table | columns), path)


def write_pool(root: Path, shards: Sequence[Sequence[Row]]) -> Path:
    for number, shard in enumerate(shards):
        write_tar(root / "shards" / f"{number:08d}.tar", shard)
        write_metadata(root / "metadata" / f"{number:08d}.parquet", shard)
    return root
