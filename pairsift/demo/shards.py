"""Writes one shard of the demo pool: a tar of images, captions and JSON files, and its parquet of metadata."""

import hashlib
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.tar_members import BLOCK, tar_blocks
from benchmark.core.uids import make_uid
from pairsift.demo.draws import DRAWS, generator_at
from pairsift.demo.pictures import Picture, draw_picture, read_pictures, vary_image
from pairsift.demo.settings import DemoConfig

# Columns besides the picture.
DRAWN = ["index", "words", "noise", "grade", "concreteness", "group", "varied_at"]
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


def _draw(pair: dict[str, Any], text: str, picture: Picture, config: DemoConfig) -> npt.NDArray[np.uint8]:
    """Return the image of a pair with `text` written in it."""
    seed = (config.seed, DRAWS["pool"], pair["index"])
    if pair["group"] is None:
        return draw_picture(picture, text, seed, config.image_size)
    original = draw_picture(picture, text, _original(pair, config), config.image_size)
    return vary_image(original, generator_at(seed, pair["varied_at"]))


def _original(pair: dict[str, Any], config: DemoConfig) -> tuple[int, ...]:
    """Return the seed of a near-duplicate's original: four numbers, so it differs from the seed of every sample."""
    return config.seed, DRAWS["pool"], pair["group"], 1


def _metadata(
    pair: dict[str, Any], caption: str, jpeg: bytes, key: str, config: DemoConfig
) -> dict[str, Any]:
    url = f"demo://{config.seed}/{pair['index']:08d}.jpg"
    group = None if pair["group"] is None else "-".join(map(str, _original(pair, config)))
    return {
        "uid": make_uid(url, caption),
        "key": key,
        "status": "success",
        "url": url,
        "text": caption,
        "original_width": config.image_size,
        "original_height": config.image_size,
        "sha256": hashlib.sha256(jpeg).hexdigest(),
        "noise": pair["noise"],
        "grade": pair["grade"],
        "concreteness": pair["concreteness"],
        "near_duplicate_group": group,
    }


def _sidecar(row: dict[str, Any]) -> bytes:
    """Return the JSON file that img2dataset writes for each image, without the hidden columns."""
    names = ("uid", "url", "key", "status", "sha256", "original_width", "original_height")
    fields = {name: row[name] for name in names}
    size = {"width": row["original_width"], "height": row["original_height"]}
    return json.dumps({**fields, **size, "caption": row["text"]}).encode()


def write_shard(root: Path, config: DemoConfig, shard: int, pairs: pa.Table) -> None:
    """Draw the shard with index `shard` and write it to ``root/shards`` and ``root/metadata``.

    `pairs` are rows of a shipped world; `words` has a caption and, in a second line, the text in its image.
    """
    cv2.setNumThreads(1)  # threads do not speed up images this small, and the workers share the cores
    for folder in ("shards", "metadata"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    digits = max(4, len(str(config.shard_size - 1)))
    rows = []
    with (root / "shards" / f"{shard:08d}.tar").open("wb", buffering=1 << 20) as tar:
        for i, (pair, picture) in enumerate(
            zip(pairs.select(DRAWN).to_pylist(), read_pictures(pairs), strict=True)
        ):
            caption, _, text = pair["words"].partition("\n")
            jpeg = encode_jpeg(_draw(pair, text, picture, config), config.jpeg_quality)
            key = f"{shard:05d}{i:0{digits}d}"
            row = _metadata(pair, caption, jpeg, key, config)
            tar.writelines(tar_blocks(key, {"jpg": jpeg, "txt": caption.encode(), "json": _sidecar(row)}))
            rows.append(row)
        tar.write(bytes(2 * BLOCK))
    pq.write_table(
        pa.Table.from_pylist(rows, SCHEMA), root / "metadata" / f"{shard:08d}.parquet", compression="zstd"
    )
    (root / "shards" / f"{shard:08d}_stats.json").write_text(json.dumps(_stats(pairs.num_rows), indent=4))


def _stats(count: int) -> dict[str, Any]:
    """Return img2dataset's statistics of a shard, without the times, which would differ between builds."""
    return {
        "count": count,
        "successes": count,
        "failed_to_download": 0,
        "failed_to_resize": 0,
        "status_dict": {"success": count},
    }
