"""Writes the demo's evaluation sets in the file formats of COCO (Karpathy splits), NoCaps and Flickr30k."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import cv2
import numpy as np

from benchmark.demo.draws import generator
from benchmark.demo.reference_captions import REFERENCES, reference_captions
from benchmark.demo.render import render
from benchmark.demo.settings import DemoConfig
from benchmark.demo.shards import encode_jpeg
from benchmark.demo.vocabulary import Domain
from benchmark.demo.world import Scene, sample_scene

SETS = ("coco", "nocaps", "flickr30k")
# First index of each set, and of each NoCaps domain, in the `evaluation` draw.
FIRST_INDEX = {"coco": 0, "flickr30k": 1_000_000, "in": 2_000_000, "near": 3_000_000, "out": 4_000_000}


def write_evaluation_set(folder: Path, config: DemoConfig, name: str) -> None:
    """Write the images and the annotation file of the evaluation set `name`, one of `SETS`, to `folder`."""
    cv2.setNumThreads(1)
    writers: dict[str, Callable[[Path, DemoConfig], None]] = {
        "coco": _write_coco,
        "nocaps": _write_nocaps,
        "flickr30k": _write_flickr30k,
    }
    folder.mkdir(parents=True, exist_ok=True)
    writers[name](folder, config)


def _write_image(
    path: Path, index: int, config: DemoConfig, sample: Callable[[np.random.Generator], Scene]
) -> list[str]:
    """Write the image at `index` of the `evaluation` draw to `path` and return its reference captions."""
    rng = generator("evaluation", index, config.seed)
    scene = sample(rng)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode_jpeg(render(scene, rng, config.image_size), config.jpeg_quality))
    return reference_captions(scene, rng)


def _active_scene(rng: np.random.Generator) -> Scene:
    """Return a scene whose first thing performs an action, as Flickr30k's images mostly show actions."""
    scene = sample_scene(rng)
    while not scene.things[0].action:
        scene = sample_scene(rng)
    return scene


def karpathy_entry(filename: str, number: int, captions: list[str]) -> dict[str, Any]:
    """Return the entry of one image in a Karpathy split file; `number` is its imgid."""
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


def _write_coco(folder: Path, config: DemoConfig) -> None:
    images = []
    for number in range(config.evaluation["coco"]):
        cocoid = 100_000 + 7 * number
        filename = f"COCO_val2014_{cocoid:012d}.jpg"
        captions = _write_image(
            folder / "val2014" / filename, FIRST_INDEX["coco"] + number, config, sample_scene
        )
        entry = karpathy_entry(filename, number, captions)
        images.append({**entry, "filepath": "val2014", "cocoid": cocoid})
    _write_json(folder / "dataset_coco.json", {"images": images, "dataset": "coco"})


def _write_flickr30k(folder: Path, config: DemoConfig) -> None:
    images = []
    for number in range(config.evaluation["flickr30k"]):
        filename = f"{1_000_000_000 + 13 * number}.jpg"
        path = folder / "flickr30k-images" / filename
        captions = _write_image(path, FIRST_INDEX["flickr30k"] + number, config, _active_scene)
        images.append(karpathy_entry(filename, number, captions))
    _write_json(folder / "dataset_flickr30k.json", {"images": images, "dataset": "flickr30k"})


def _write_nocaps(folder: Path, config: DemoConfig) -> None:
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for domain in get_args(Domain):
        sample = partial(sample_scene, domain=domain)
        for number in range(config.evaluation["nocaps"]):
            name = f"{FIRST_INDEX[domain] + number:016x}"
            path = folder / "images" / f"{name}.jpg"
            captions = _write_image(path, FIRST_INDEX[domain] + number, config, sample)
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
