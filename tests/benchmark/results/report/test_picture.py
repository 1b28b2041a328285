from xml.etree import ElementTree as ET

import pytest

from benchmark.results.report.certainty import RunFolders, compare_entries
from benchmark.results.report.leaderboard import Measure, group
from benchmark.results.report.picture import draw_picture
from tests.benchmark.results.report.made_results import captioned

SVG = "{http://www.w3.org/2000/svg}"
CIDER = Measure("captioner", "coco", "CIDEr", "CIDEr")
LONG = "a <very> long label of a filter with settings"


@pytest.fixture(scope="module")
def picture() -> ET.Element:
    """Four filters, one of them with three seeds."""
    values = [("random", 0.1), (LONG, 0.4), ("clip", 0.19), ("clip", 0.2), ("clip", 0.21)]
    runs = [captioned(name, value, seed=seed) for seed, (name, value) in enumerate(values)]
    compared = compare_entries(CIDER, group(runs), RunFolders({}))
    return ET.fromstring(draw_picture("Size & pool", [compared, compared]))


def test_bars_are_ranked_and_as_long_as_their_values(picture: ET.Element) -> None:
    marks = [group for group in picture.iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
    titles = [mark.findtext(f"{SVG}title") for mark in marks]
    assert titles == [f"{LONG}: 40.0", "clip: 20.0 ± 2.5", "random: 10.0"] * 2
    assert [float(rect.get("y", "")) for rect in picture.iter(f"{SVG}rect")] == [6, 24, 42] * 2
    widths = [float(rect.get("width", "")) for rect in picture.iter(f"{SVG}rect")][:3]
    assert [width / widths[-1] for width in widths] == pytest.approx([4, 2, 1], rel=1e-2)


def test_whiskers_are_as_long_as_the_interval(picture: ET.Element) -> None:
    whisker, _ = (line.get("points", "").split() for line in picture.iter(f"{SVG}polyline"))
    low, high = (float(point.partition(",")[0]) for point in whisker)
    width = next(float(rect.get("width", "")) for rect in picture.iter(f"{SVG}rect"))
    assert (high - low) / width == pytest.approx(2 * 2.484 / 40, rel=1e-2)


def test_texts_are_whole_but_for_long_labels(picture: ET.Element) -> None:
    texts = [text.text or "" for text in picture.iter(f"{SVG}text")]
    assert {"Size & pool", "captioner on coco: CIDEr", "0", "40", "20.0 ± 2.5"} <= set(texts)
    assert LONG not in texts
    assert f"{LONG[:25]}…" in texts
