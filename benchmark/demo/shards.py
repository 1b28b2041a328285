"""Writes one shard of the demo pool: a tar of images, captions and JSON files, and its parquet of metadata."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.uids import make_uid
from benchmark.demo.draws import sample_pair
from benchmark.demo.noise import Pair
from benchmark.demo.settings import DemoConfig

BLOCK = 512  # bytes of a tar block
SCHEMA = pa.schema(
    [
        ("uid", pa.string()),
        ("key", pa.string()),
        ("status", pa.string()),
        ("url", pa.string()),
        ("text", pa.string()),
        ("original_width", pa.int32()),
        ("original_height", pa.int32()),
        ("sha256", pa.string()),
        # Hidden from every filter but the oracle, so never written to the tar.
        ("noise", pa.string()),
        ("grade", pa.int8()),
        ("concreteness", pa.float32()),
        ("near_duplicate_group", pa.string()),
    ]
)


def encode_jpeg(image: npt.NDArray[np.uint8], quality: int) -> bytes:
    """Return the JPEG bytes of an RGB image of shape (height, width, 3)."""
    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return data.tobytes()


def tar_member(name: str, data: bytes) -> bytes:
    """Return a tar member: ustar header, data, padding. Time and owner are zero, so equal data gives equal bytes."""
    header = bytearray(BLOCK)
    header[: len(name)] = name.encode()
    # Mode, owner and group take 8 bytes each, size and time 12 each.
    header[100:148] = b"0000644\x00%b\x00%b\x00%011o\x00%b\x00" % (b"0" * 7, b"0" * 7, len(data), b"0" * 11)
    header[148:156] = b"        "  # the checksum is computed with its own field filled with spaces
    header[156:157] = b"0"
    header[257:265] = b"ustar\x0000"
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(-len(data) % BLOCK)


def _metadata(pair: Pair, jpeg: bytes, index: int, key: str, config: DemoConfig) -> dict[str, Any]:
    url = f"demo://{config.seed}/{index:08d}.jpg"
    return {
        "uid": make_uid(url, pair.caption),
        "key": key,
        "status": "success",
        "url": url,
        "text": pair.caption,
        "original_width": config.image_size,
        "original_height": config.image_size,
        "sha256": hashlib.sha256(jpeg).hexdigest(),
        "noise": pair.kind,
        "grade": pair.grade,
        "concreteness": pair.concreteness,
        "near_duplicate_group": "-".join(str(number) for number in pair.group) or None,
    }


def _sidecar(row: dict[str, Any]) -> bytes:
    """Return the JSON file that img2dataset writes for each image, without the hidden columns."""
    names = ("uid", "url", "key", "status", "sha256", "original_width", "original_height")
    fields = {name: row[name] for name in names}
    size = {"width": row["original_width"], "height": row["original_height"]}
    return json.dumps({**fields, **size, "caption": row["text"]}).encode()


def write_shard(root: Path, config: DemoConfig, shard: int, indices: Sequence[int]) -> None:
    """Generate the shard with index `shard` and write it to ``root/shards`` and ``root/metadata``.

    `indices` are those of its pairs in the `pool` draw.
    """
    cv2.setNumThreads(1)  # threads do not speed up images this small, and the workers share the cores
    for folder in ("shards", "metadata"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    digits = max(4, len(str(config.shard_size - 1)))
    mix = config.drawn
    rows = []
    with (root / "shards" / f"{shard:08d}.tar").open("wb", buffering=1 << 20) as tar:
        for i, index in enumerate(indices):
            pair = sample_pair("pool", index, config.seed, mix, config.image_size)
            jpeg = encode_jpeg(pair.image, config.jpeg_quality)
            key = f"{shard:05d}{i:0{digits}d}"
            row = _metadata(pair, jpeg, index, key, config)
            tar.write(tar_member(f"{key}.jpg", jpeg))
            tar.write(tar_member(f"{key}.txt", pair.caption.encode()))
            tar.write(tar_member(f"{key}.json", _sidecar(row)))
            rows.append(row)
        tar.write(bytes(2 * BLOCK))
    pq.write_table(
        pa.Table.from_pylist(rows, SCHEMA), root / "metadata" / f"{shard:08d}.parquet", compression="zstd"
    )
    (root / "shards" / f"{shard:08d}_stats.json").write_text(json.dumps(_stats(len(indices)), indent=4))


def _stats(count: int) -> dict[str, Any]:
    """Return img2dataset's statistics of a shard, without the times, which would differ between builds."""
    return {
        "count": count,
        "successes": count,
        "failed_to_download": 0,
        "failed_to_resize": 0,
        "status_dict": {"success": count},
    }
