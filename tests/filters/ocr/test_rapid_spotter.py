"""RapidOCR's models on the demo's lettering and on images that the web has: found, read, never a crash."""

import io
import logging
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from PIL import Image, ImageDraw, ImageFont

from benchmark.core.images import decode_image
from filters.ocr import rapid
from filters.ocr.features import Line
from filters.ocr.rapid import RapidSpotter, model_file
from tests.extras import needs_extra
from tools.demo_world.draws import sample_pair
from tools.demo_world.mix import Mix

pytestmark = needs_extra("ocr")

COUNT = 64
MIX = Mix({"concrete": 0.7, "product": 0.3}, {"none": 0.4, "stray": 0.2, "words": 0.2, "whole": 0.2}, 0.5)


@pytest.fixture(scope="module")
def spotter() -> RapidSpotter:
    made = RapidSpotter()
    made.setup(torch.device("cpu"))
    return made


@pytest.fixture(scope="module")
def demo() -> tuple[list[Image.Image], list[str]]:
    pairs = [sample_pair("evaluation", index, 0, MIX) for index in range(COUNT)]
    return [Image.fromarray(p.image) for p in pairs], [p.text for p in pairs]


@pytest.fixture(scope="module")
def spotted(spotter, demo) -> tuple[list[list[list[int]]], list[list[Line]]]:
    polygons = spotter.detect(demo[0])
    return polygons, spotter.read(demo[0], polygons)


def text_of(lines: Sequence[Line]) -> list[str]:
    return [line.text for line in lines]


def test_text_of_the_demo_is_found_and_little_else(demo, spotted) -> None:
    polygons, lines = spotted
    has_text = np.array([bool(text) for text in demo[1]])
    found = np.array([bool(areas) for areas in polygons])
    sure = np.array([any(line.confidence >= 0.8 and line.text for line in of_image) for of_image in lines])
    assert 16 < has_text.sum() < 48
    assert found[has_text].mean() > 0.95
    assert found[~has_text].mean() < 0.35  # of drawings: a row of stripes passes for letters
    assert sure[has_text].mean() > 0.95
    assert sure[~has_text].mean() < 0.12


def test_words_of_the_demo_are_read_exactly(demo, spotted) -> None:
    read = map(text_of, spotted[1])
    wanted = [(word, lines) for text, lines in zip(demo[1], read, strict=True) for word in text.split()]
    assert len(wanted) > 40
    assert np.mean([word in " ".join(lines).split() for word, lines in wanted]) > 0.8
    assert np.mean([word in "".join(lines) for word, lines in wanted]) > 0.9  # word gaps aside: 356 of 387


def test_batches_change_nothing(spotter, demo, spotted) -> None:
    images, (polygons, lines) = demo[0][:40], spotted
    for image, areas, of_image in zip(images, polygons, lines, strict=False):
        assert spotter.detect([image]) == [areas]
        (alone,) = spotter.read([image], [areas])
        assert text_of(alone) == text_of(of_image)
        assert [c for _, c in alone] == pytest.approx([c for _, c in of_image], abs=1e-3)


def test_sizes_may_be_mixed_and_the_order_stays(spotter, demo, spotted) -> None:
    picture, areas, lines = next((i, p, line) for i, p, line in zip(demo[0], *spotted, strict=True) if p)
    blank = Image.new("RGB", (70, 40), "white")
    wide = Image.new("RGB", (256, 128), "white")
    wide.paste(lettered("RGB"), (96, 32))
    found = spotter.detect([blank, picture, wide, blank])
    assert found[0] == found[3] == []
    assert found[1] == areas
    assert [x >= 96 for polygon in found[2] for x in polygon[::2]] == [True] * 4
    read = spotter.read([blank, picture, wide, blank], found)
    assert read[0] == read[3] == []
    assert text_of(read[1]) == text_of(lines)


def test_polygons_are_where_the_text_is(spotter) -> None:
    image = Image.new("RGB", (400, 200), "white")
    ImageDraw.Draw(image).text((100, 80), "KEEP CALM", fill="black", font=ImageFont.load_default(32))
    ((polygon,),) = spotter.detect([image])
    left, top, right, bottom = ImageDraw.Draw(image).textbbox(
        (100, 80), "KEEP CALM", ImageFont.load_default(32)
    )
    assert all(type(v) is int for v in polygon)
    assert min(polygon[::2]) == pytest.approx(left, abs=12)
    assert max(polygon[::2]) == pytest.approx(right, abs=12)
    assert min(polygon[1::2]) == pytest.approx(top, abs=12)
    assert max(polygon[1::2]) == pytest.approx(bottom, abs=12)
    ((line,),) = spotter.read([image], [[polygon]])
    assert line.text == "KEEP CALM"
    assert 0.8 < line.confidence <= 1


def test_large_images_are_shrunk_for_detection(spotter, monkeypatch) -> None:
    seen = []
    run = rapid._run
    monkeypatch.setattr(
        rapid, "_run", lambda session, batch: seen.append(batch[0].shape) or run(session, batch)
    )
    image = Image.new("RGB", (3000, 1500), "white")
    ImageDraw.Draw(image).text((600, 600), "KEEP CALM", fill="black", font=ImageFont.load_default(200))
    ((polygon,),) = spotter.detect([image])
    spotter.detect([Image.new("RGB", (128, 96))])
    assert seen == [(640, 1280, 3), (96, 128, 3)]
    assert 580 <= min(polygon[::2]) < max(polygon[::2]) <= 2000
    assert spotter.read([image], [[polygon]])[0][0].text == "KEEP CALM"


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def lettered(mode: str) -> Image.Image:
    image = Image.new("L", (160, 64), 255)
    ImageDraw.Draw(image).text((16, 12), "OPEN", fill=0, font=ImageFont.load_default(40))
    if mode == "I;16":
        return Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
    return image.convert(mode)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("L", "PNG"), ("1", "PNG"), ("P", "GIF"), ("CMYK", "JPEG"), ("RGBA", "PNG"), ("I;16", "PNG")],
)
def test_other_modes_once_decoded(spotter, mode, kind) -> None:
    image = decode_image(encoded(lettered(mode), kind))
    (areas,) = spotter.detect([image])
    (lines,) = spotter.read([image], [areas])
    if mode != "I;16":  # Pillow clips 16 bits: white and grey are the same then, so only no crash is promised
        assert text_of(lines) == ["OPEN"]


def test_an_animation_is_read_by_its_first_frame(spotter) -> None:
    frames = [lettered("RGB"), Image.new("RGB", (160, 64))]
    image = decode_image(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    areas = spotter.detect([image])
    assert text_of(spotter.read([image], areas)[0]) == ["OPEN"]


@pytest.mark.parametrize("size", [(1, 1), (1, 2000), (2000, 1), (3, 40), (31, 33), (5000, 40), (40_000, 900)])
def test_odd_sizes(spotter, size) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), np.uint8)
    image = Image.fromarray(noise)
    areas = spotter.detect([image])
    assert len(spotter.read([image], areas)[0]) == len(areas[0])


@pytest.mark.parametrize(
    "polygon",
    [
        [], [5, 5], [5, 5, 60, 5], [5, 5, 5, 5, 5, 5, 5, 5], [0, 9, 90, 9, 90, 9, 0, 9],
        [900, 900, 990, 900, 990, 950, 900, 950], [-50, -50, -10, -50, -10, -20, -50, -20],
        [0, 0, 10, 0, 20, 0, 30, 0, 40, 0], [0, 0, 30, 0, 60, 0, 90, 0],
    ],
)  # fmt: skip
def test_polygons_with_nothing_in_them_are_read_as_nothing(spotter, polygon) -> None:
    good = spotter.detect([lettered("RGB")])[0]
    lines = spotter.read([lettered("RGB")], [[polygon, *good]])
    assert text_of(lines[0]) == ["", "OPEN"]
    assert lines[0][0].confidence == 0


def test_polygons_are_cut_at_the_image_and_may_have_many_corners(spotter) -> None:
    around = [-9, -9, 200, -9, 200, 90, -9, 90]
    octagon = [20, 12, 80, 8, 140, 12, 146, 32, 140, 56, 80, 60, 20, 56, 12, 32]
    assert text_of(spotter.read([lettered("RGB")], [[around, octagon]])[0]) == ["OPEN", "OPEN"]


def test_a_line_of_a_very_wide_image_is_read(spotter) -> None:
    image = Image.new("RGB", (36_000, 600), "white")
    image.paste(lettered("RGB").resize((1600, 500)), (30_000, 50))
    line = [30_000, 50, 31_600, 50, 31_600, 550, 30_000, 550]
    assert text_of(spotter.read([image], [[line]])[0]) == ["OPEN"]


def test_the_engine_is_quiet_and_leaves_no_trace_in_the_process(spotter, demo, monkeypatch, capfd) -> None:
    import requests

    monkeypatch.setattr(requests.Session, "request", lambda *a, **k: pytest.fail("a download was tried"))
    level, handlers = logging.getLogger().level, list(logging.getLogger().handlers)
    fresh = RapidSpotter()
    fresh.setup(torch.device("cpu"))
    fresh.read(demo[0][:4], fresh.detect(demo[0][:4]))
    assert capfd.readouterr() == ("", "")
    assert (logging.getLogger().level, logging.getLogger().handlers) == (level, handlers)
    assert (torch.tensor(1e-30) * 1e-12).item() > 0  # denormal numbers are again what they were


def test_the_identity_has_settings_and_weights() -> None:
    identity = RapidSpotter().identity()
    assert len(identity["det"]) >= 12
    assert identity["det"] != identity["rec"]
    assert RapidSpotter(box_threshold=0.5).key() != RapidSpotter().key() == RapidSpotter().key()
    assert model_file("rec").stat().st_size > 5_000_000


def test_the_config_is_the_default() -> None:
    settings = OmegaConf.load("conf/ocr/rapidocr.yaml")
    assert settings.pop("_target_") == "filters.ocr.rapid.RapidSpotter"
    assert RapidSpotter(**settings).key() == RapidSpotter().key()
