"""RapidOCR on ten street photos of ICDAR 2015, against their ground truth.

ICDAR marks words and the engine finds lines, so there are two measures of detection. Strict: one detection, one word,
IoU >= 0.5. Aware of lines: a word is found if one detection covers half of its area or more, a detection is right if
words, legible or not, cover half of it or more. Detections that lie more than half in an illegible word ('###') are
left out of the strict measure.
"""

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from filters.ocr.rapid import RapidSpotter
from tests.extras import needs_extra

pytestmark = needs_extra("ocr")

Marked = list[tuple[list[int], str]]  # quadrilaterals and what they say


def ground_truth(path: Path) -> Marked:
    rows = [line.split(",", 8) for line in path.read_text("utf-8-sig").splitlines()]
    return [([int(v) for v in row[:8]], row[8]) for row in rows]


def outline(polygon: list[int]) -> np.ndarray:
    return cv2.convexHull(np.array(polygon, np.float32).reshape(-1, 1, 2))


def area(polygon: list[int]) -> float:
    return float(cv2.contourArea(outline(polygon)))


def overlap(one: list[int], other: list[int]) -> float:
    return float(cv2.intersectConvexConvex(outline(one), outline(other))[0])


def iou(one: list[int], other: list[int]) -> float:
    shared = overlap(one, other)
    return shared / (area(one) + area(other) - shared)


def letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def counts(marked: Marked, found: list[list[int]], read: list[str]) -> dict[str, int]:
    """What one photo adds to each numerator and denominator."""
    words = [(quad, text) for quad, text in marked if text != "###"]
    illegible = [quad for quad, text in marked if text == "###"]
    counted = [f for f in found if all(overlap(f, quad) <= 0.5 * area(f) for quad in illegible)]
    free, matched = list(counted), 0
    covered, exact, alike = 0, 0, 0
    for quad, text in words:
        hit = next((f for f in free if iou(f, quad) >= 0.5), None)
        if hit is not None:
            free.remove(hit)
            matched += 1
        lines = [line for f, line in zip(found, read, strict=True) if overlap(f, quad) >= 0.5 * area(quad)]
        covered += bool(lines)
        exact += any(text in line for line in lines)
        alike += any(letters(text) in letters(line) for line in lines)
    on_text = sum(sum(overlap(f, quad) for quad, _ in marked) >= 0.5 * area(f) for f in found)
    return {
        "words": len(words), "counted": len(counted), "found": len(found), "matched": matched,
        "covered": covered, "on_text": on_text, "exact": exact, "alike": alike,
    }  # fmt: skip


@pytest.fixture(scope="module")
def totals(shared_data) -> dict[str, int]:
    folder = shared_data / "ocr_icdar15_scenes"
    if not folder.is_dir():
        pytest.skip(f"no ICDAR 2015 scenes in {folder}")
    paths = sorted(folder.glob("img_*.jpg"))
    images = [Image.open(path).convert("RGB") for path in paths]
    spotter = RapidSpotter()
    spotter.setup(torch.device("cpu"))
    polygons = spotter.detect(images)
    lines = spotter.read(images, polygons)
    each = [
        counts(ground_truth(path.with_name(f"gt_{path.stem}.txt")), areas, [line.text for line in of_image])
        for path, areas, of_image in zip(paths, polygons, lines, strict=True)
    ]
    return {name: sum(one[name] for one in each) for name in each[0]}


@pytest.mark.slow
def test_words_of_street_photos_are_found(totals) -> None:
    assert totals["words"] == 21
    assert totals["matched"] / totals["words"] > 0.52
    assert totals["matched"] / totals["counted"] > 0.65
    assert totals["covered"] / totals["words"] > 0.7
    assert totals["on_text"] / totals["found"] > 0.7


@pytest.mark.slow
def test_words_of_street_photos_are_read(totals) -> None:
    assert totals["exact"] / totals["words"] > 0.37
    assert totals["alike"] / totals["words"] > 0.42


def test_measures_of_detection_by_hand() -> None:
    word, line = [0, 0, 10, 0, 10, 10, 0, 10], [0, 0, 40, 0, 40, 10, 0, 10]
    marked = [
        (word, "Stop"),
        ([20, 0, 30, 0, 30, 10, 20, 10], "it!"),
        ([60, 0, 70, 0, 70, 10, 60, 10], "###"),
    ]
    assert iou(word, line) == pytest.approx(0.25)
    assert counts(marked, [line, [60, 0, 70, 0, 70, 10, 60, 10]], ["stop it", "x"]) == {
        "words": 2, "counted": 1, "found": 2, "matched": 0, "covered": 2, "on_text": 2, "exact": 0, "alike": 2,
    }  # fmt: skip
    assert counts(marked, [word], ["Stop"])["matched"] == 1
