"""RapidOCR's models on the demo's lettering and on images that the web has: found, read, never a crash."""

import logging
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from PIL import Image, ImageDraw, ImageFont

from filters.ocr import rapid
from filters.ocr.features import Line
from filters.ocr.rapid import RapidSpotter, model_file
from tests.extras import needs_extra
from tools.demo_world.draws import sample_pair
from tools.demo_world.mix import Mix

pytestmark = needs_extra("ocr")

COUNT = 64
# Half parrots: other texts have altered words, which are read as the usual ones (.72 of 211 exactly).
MIX = Mix({"concrete": 0.4, "product": 0.1, "parrot": 0.5}, {"none": 0.8, "stray": 0.1, "words": 0.1}, 0.5)


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


def lettered() -> Image.Image:
    image = Image.new("RGB", (160, 64), "white")
    ImageDraw.Draw(image).text((16, 12), "OPEN", fill="black", font=ImageFont.load_default(40))
    return image


def test_text_of_the_demo_is_found_and_read_and_little_else(demo, spotted) -> None:
    polygons, lines = spotted
    has_text = np.array([bool(text) for text in demo[1]])
    found = np.array([bool(areas) for areas in polygons])
    sure = np.array([any(line.confidence >= 0.8 and line.text for line in of_image) for of_image in lines])
    assert 16 < has_text.sum() < 48
    assert found[has_text].mean() > 0.95
    assert found[~has_text].mean() < 0.35  # of drawings: a row of stripes passes for letters
    assert sure[has_text].mean() > 0.95
    assert sure[~has_text].mean() < 0.12
    wanted = [(word, text_of(of)) for text, of in zip(demo[1], lines, strict=True) for word in text.split()]
    assert len(wanted) > 40
    assert np.mean([word in " ".join(of).split() for word, of in wanted]) > 0.8
    assert np.mean([word in "".join(of) for word, of in wanted]) > 0.9  # gaps between words aside


def test_batches_and_mixed_sizes_change_nothing(spotter, demo, spotted) -> None:
    images, (polygons, lines) = demo[0][:4], spotted
    for image, areas, of_image in zip(images, polygons, lines, strict=False):
        assert spotter.detect([image]) == [areas]
        (alone,) = spotter.read([image], [areas])
        assert text_of(alone) == text_of(of_image)
        assert [c for _, c in alone] == pytest.approx([c for _, c in of_image], abs=1e-3)
    picture, areas, of_image = next((i, p, line) for i, p, line in zip(demo[0], *spotted, strict=True) if p)
    blank, wide = Image.new("RGB", (70, 40), "white"), Image.new("RGB", (256, 128), "white")
    wide.paste(lettered(), (96, 32))
    found = spotter.detect([blank, picture, wide, blank])
    assert found[0] == found[3] == []
    assert found[1] == areas
    assert [x >= 96 for polygon in found[2] for x in polygon[::2]] == [True] * 4
    read = spotter.read([blank, picture, wide, blank], found)
    assert [text_of(of) for of in read] == [[], text_of(of_image), ["OPEN"], []]


def test_polygons_surround_the_text(spotter) -> None:
    image, font = Image.new("RGB", (400, 200), "white"), ImageFont.load_default(32)
    ImageDraw.Draw(image).text((100, 80), "KEEP CALM", fill="black", font=font)
    ((polygon,),) = spotter.detect([image])
    left, top, right, bottom = ImageDraw.Draw(image).textbbox((100, 80), "KEEP CALM", font)
    assert all(type(v) is int for v in polygon)
    columns, lines = polygon[::2], polygon[1::2]
    assert [min(columns), max(columns)] == pytest.approx([left, right], abs=12)
    assert [min(lines), max(lines)] == pytest.approx([top, bottom], abs=12)
    ((line,),) = spotter.read([image], [[polygon]])
    assert line.text == "KEEP CALM"
    assert 0.8 < line.confidence <= 1


def test_large_images_are_shrunk_for_detection(spotter, monkeypatch) -> None:
    seen = []
    run = rapid._run
    monkeypatch.setattr(rapid, "_run", lambda *given: seen.append(given[1][0].shape) or run(*given))
    image = Image.new("RGB", (3000, 1500), "white")
    ImageDraw.Draw(image).text((600, 600), "KEEP CALM", fill="black", font=ImageFont.load_default(200))
    ((polygon,),) = spotter.detect([image])
    spotter.detect([Image.new("RGB", (128, 96))])
    assert seen == [(640, 1280, 3), (96, 128, 3)]
    assert 580 <= min(polygon[::2]) < max(polygon[::2]) <= 2000
    assert spotter.read([image], [[polygon]])[0][0].text == "KEEP CALM"


@pytest.mark.parametrize("size", [(1, 1), (1, 2000), (2000, 1), (31, 33), (20_000, 40)])
def test_odd_sizes(spotter, size) -> None:
    image = Image.effect_noise(size, 200).convert("RGB")
    areas = spotter.detect([image])
    assert len(spotter.read([image], areas)[0]) == len(areas[0])


def test_polygons_with_nothing_in_them_are_read_as_nothing(spotter) -> None:
    empty = [
        [], [5, 5], [5, 5, 60, 5], [5, 5, 5, 5, 5, 5, 5, 5], [0, 9, 90, 9, 90, 9, 0, 9],
        [900, 900, 990, 900, 990, 950, 900, 950], [-50, -50, -10, -50, -10, -20, -50, -20],
        [0, 0, 10, 0, 20, 0, 30, 0, 40, 0], [0, 0, 30, 0, 60, 0, 90, 0],
    ]  # fmt: skip
    around = [-9, -9, 200, -9, 200, 90, -9, 90]  # cut at the image
    octagon = [20, 12, 80, 8, 140, 12, 146, 32, 140, 56, 80, 60, 20, 56, 12, 32]
    (lines,) = spotter.read([lettered()], [[*empty, around, octagon]])
    assert text_of(lines) == [""] * len(empty) + ["OPEN"] * 2
    assert {line.confidence for line in lines[: len(empty)]} == {0}


def test_a_line_of_a_very_wide_image_is_read(spotter) -> None:
    image = Image.new("RGB", (36_000, 300), "white")
    image.paste(lettered().resize((1600, 250)), (30_000, 25))
    line = [30_000, 25, 31_600, 25, 31_600, 275, 30_000, 275]
    assert text_of(spotter.read([image], [[line]])[0]) == ["OPEN"]


def test_the_engine_is_quiet_and_leaves_no_trace_in_the_process(monkeypatch, capfd) -> None:
    import requests

    monkeypatch.setattr(requests.Session, "request", lambda *a, **k: pytest.fail("a download was tried"))
    level, handlers = logging.getLogger().level, list(logging.getLogger().handlers)
    fresh = RapidSpotter()
    fresh.setup(torch.device("cpu"))
    fresh.read([lettered()], fresh.detect([lettered()]))
    assert capfd.readouterr() == ("", "")
    assert (logging.getLogger().level, logging.getLogger().handlers) == (level, handlers)
    assert (torch.tensor(1e-30) * 1e-12).item() > 0  # denormal numbers are again what they were


def test_an_onnxruntime_without_cuda_is_named_where_a_gpu_is_wanted(caplog) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has CUDA")
    spotter = RapidSpotter()
    spotter.setup(torch.device("cpu"))
    assert not caplog.messages
    spotter.setup(torch.device("cuda"))
    (message,) = caplog.messages
    assert "install onnxruntime-gpu in place of onnxruntime" in message
    assert len(spotter.detect([lettered()])[0]) == 1


def test_more_pixels_a_pass_change_nothing_that_is_read(spotter, demo, spotted, monkeypatch) -> None:
    images, polygons, lines = demo[0][:16], spotted[0][:16], spotted[1][:16]
    monkeypatch.setattr(spotter, "_batch_pixels", rapid.BATCH_PIXELS["CUDAExecutionProvider"])
    assert spotter.detect(images) == polygons
    assert [text_of(of) for of in spotter.read(images, polygons)] == [text_of(of) for of in lines]


def test_the_identity_has_settings_and_weights() -> None:
    default = RapidSpotter()
    identity = default.identity()
    assert len(identity["det"]) >= 12
    assert identity["det"] != identity["rec"]
    settings = OmegaConf.load("conf/ocr/rapidocr.yaml")
    assert settings.pop("_target_") == "filters.ocr.rapid.RapidSpotter"
    assert RapidSpotter(**settings).key() == default.key() != RapidSpotter(box_threshold=0.5).key()
    assert model_file("rec").stat().st_size > 5_000_000
