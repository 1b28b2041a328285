"""OCR as features: what the cache keeps and what it is asked for."""

import json

import numpy as np
from PIL import Image

from benchmark.core.batch import Batch
from filters.ocr.features import MAX_CHARACTERS, Line, TextDetection, TextRecognition, TextSpotter
from tests.pools import numbered_uids


class Scripted(TextSpotter):
    """Finds one polygon in every image wider than 10, and reads its width; counts what it is asked."""

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self._detected = 0

    def setup(self, device) -> None: ...

    def detect(self, images):
        self._detected += len(images)
        return [[[0, 0, 9, 0, 9, 9, 0, 9]] if image.width > 10 else [] for image in images]

    def read(self, images, polygons):
        return [
            [Line(f"{image.width} " * 200, 0.123456) for _ in p]
            for image, p in zip(images, polygons, strict=True)
        ]


def batch(*widths: int, **features) -> Batch:
    images = [Image.new("RGB", (width, 8)) for width in widths]
    return Batch(numbered_uids(len(images)), [], images, features=features)


def ragged(values) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def test_detection_gives_lists_that_json_can_hold() -> None:
    found = TextDetection(Scripted()).extract(batch(20, 5))
    assert json.loads(json.dumps(found)) == {"polygons": [[[0, 0, 9, 0, 9, 9, 0, 9]], []]}


def test_recognition_reads_given_polygons_and_detects_nothing() -> None:
    spotter = Scripted()
    features = TextRecognition(spotter)
    read = features.extract(batch(20, 5, 30, polygons=ragged([[[0] * 8, [1] * 8], [], [[2] * 8]])))
    assert [len(words) for words in read["words"]] == [2, 0, 1]
    assert read["words"][2][0].startswith("30 30")
    assert len(read["words"][2][0]) == MAX_CHARACTERS
    assert read["confidences"] == [[0.1235, 0.1235], [], [0.1235]]
    assert spotter._detected == 0
    json.dumps(read)


def test_the_same_settings_share_a_cache_and_others_do_not() -> None:
    assert (
        TextDetection(Scripted()).key() == TextDetection(Scripted()).key() != TextDetection(Scripted(2)).key()
    )
    recognition = TextRecognition(Scripted())
    assert recognition.features[0].key() == TextDetection(Scripted()).key()
    assert recognition.key() != TextRecognition(Scripted(2)).key()
    assert TextDetection.needs == TextRecognition.needs == {"image"}
