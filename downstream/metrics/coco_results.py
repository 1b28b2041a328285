"""COCO's results format: ``[{"image_id": 42, "caption": "a cat"}, ...]``."""

import json
from pathlib import Path

from benchmark.core.errors import UserError
from downstream.metrics.metric import ImageId


def read_coco_results(path: Path) -> dict[ImageId, str]:
    """Return the caption of each image id; if an image has several rows, the first counts.

    Published result files repeat images, and their published scores are those of the first rows. Raises `UserError`
    for any other file.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as COCO results: {error}") from None
    if not isinstance(rows, list):
        raise UserError(
            f"{path} must be COCO results, a JSON list of rows, but holds a {type(rows).__name__}; give another file"
        )
    captions: dict[ImageId, str] = {}
    for number, row in enumerate(rows):
        match row:
            case {"image_id": int() | str() as image, "caption": str() as caption}:
                captions.setdefault(image, caption)
            case _:
                raise UserError(f'{path}: row {number} is not {{"image_id": ..., "caption": "..."}}')
    return captions
