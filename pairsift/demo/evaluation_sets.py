"""Writes the demo's evaluation sets in the file formats of COCO (Karpathy splits), NoCaps and Flickr30k.

A fourth set, "tuning", has COCO's format. Settings such as learning rates are chosen on it, so no table shows it.
"""

import json
import re
from pathlib import Path
from typing import Any, get_args

import cv2
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.core.errors import UserError
from pairsift.demo.draws import DRAWS
from pairsift.demo.pictures import draw_picture, read_pictures
from pairsift.demo.settings import DemoConfig
from pairsift.demo.shards import encode_jpeg
from pairsift.demo.vocabulary import Domain
from pairsift.demo.worlds import WORLDS

SETS = ("coco", "nocaps", "flickr30k", "tuning")
REFERENCES = 5  # captions per image, as in the originals


def write_evaluation_set(folder: Path, config: DemoConfig, name: str) -> None:
    """Write the images and the annotation file of the evaluation set `name`, one of `SETS`, to `folder`."""
    cv2.setNumThreads(1)
    folder.mkdir(parents=True, exist_ok=True)
    if name == "nocaps":
        _write_nocaps(folder, config)
    else:
        _write_karpathy(folder, config, name)


def _read_images(part: str, name: str, config: DemoConfig) -> list[tuple[int, bytes, list[str]]]:
    """Return index, JPEG bytes and reference captions of the images of a set, or of a domain of NoCaps."""
    if name not in config.evaluation:
        raise UserError(f"pool.demo.evaluation lacks {name}; give its number of images")
    table, count = pq.read_table(WORLDS / "evaluation.parquet"), config.evaluation[name]
    table = table.filter(pc.equal(table["set"], pa.scalar(part)))
    if count > table.num_rows:
        raise UserError(
            f"pool.demo.evaluation.{name}={count} must be at most {table.num_rows}, which are shipped"
        )
    rows = table.slice(0, count)
    images = []
    for index, captions, picture in zip(
        rows["index"].to_pylist(), rows["captions"].to_pylist(), read_pictures(rows), strict=True
    ):
        image = draw_picture(picture, "", (config.seed, DRAWS["evaluation"], index), config.image_size)
        images.append((index, encode_jpeg(image, config.jpeg_quality), captions))
    return images


def karpathy_entry(filename: str, number: int, captions: list[str]) -> dict[str, Any]:
    """Return the entry of an image in a Karpathy split file; `number` is its imgid."""
    sentids = [REFERENCES * number + i for i in range(len(captions))]
    sentences = [
        {"raw": raw, "tokens": re.findall(r"[a-z0-9]+", raw.lower()), "imgid": number, "sentid": sentid}
        for raw, sentid in zip(captions, sentids, strict=True)
    ]
    return {
        "filename": filename,
        "imgid": number,
        "split": "test",
        "sentids": sentids,
        "sentences": sentences,
    }


def _write_karpathy(folder: Path, config: DemoConfig, name: str) -> None:
    is_flickr, images = name == "flickr30k", []
    place = folder / ("flickr30k-images" if is_flickr else "val2014")
    place.mkdir()
    for number, (_, jpeg, captions) in enumerate(_read_images(name, name, config)):
        cocoid = 100_000 + 7 * number
        filename = f"{1_000_000_000 + 13 * number}.jpg" if is_flickr else f"COCO_val2014_{cocoid:012d}.jpg"
        (place / filename).write_bytes(jpeg)
        of_coco = {} if is_flickr else {"filepath": place.name, "cocoid": cocoid}
        images.append(karpathy_entry(filename, number, captions) | of_coco)
    _write_json(folder / f"dataset_{name}.json", {"images": images, "dataset": name})


def _write_nocaps(folder: Path, config: DemoConfig) -> None:
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    (folder / "images").mkdir()
    for domain in get_args(Domain):
        for index, jpeg, captions in _read_images(domain, "nocaps", config):
            name = f"{index:016x}"
            path = folder / "images" / f"{name}.jpg"
            path.write_bytes(jpeg)
            image = len(images)
            images.append(
                {
                    "id": image,
                    "file_name": path.name,
                    "open_images_id": name,
                    "domain": f"{domain}-domain",
                    "width": config.image_size,
                    "height": config.image_size,
                    "coco_url": f"demo://nocaps/{path.name}",
                    "date_captured": "2018-11-06 11:04:33",
                }
            )
            annotations += [
                {"id": len(annotations) + i, "image_id": image, "caption": caption}
                for i, caption in enumerate(captions)
            ]
    info = {"description": "demo world, in the format of nocaps val", "version": "0.1", "year": 2018}
    _write_json(
        folder / "nocaps_val_4500_captions.json",
        {"info": info, "licenses": [], "images": images, "annotations": annotations},
    )


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content))
