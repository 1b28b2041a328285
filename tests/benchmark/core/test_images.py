"""Images from the web: of every mode, too large, too narrow, damaged."""

import io
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.images import FORMATS, MAX_PIXELS, decode_image
from benchmark.pool import tar_reader
from benchmark.pool.tar_index import index_tar
from tests.pools import rows, write_tar


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def lettering(clear: str = "RGBA") -> Image.Image:
    """Black on nothing."""
    image = Image.new("RGBA", (40, 20), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (10, 5, 20, 15))
    return image.convert(clear) if clear != "P" else image.quantize(4)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("RGBA", "PNG"), ("LA", "PNG"), ("P", "PNG"), ("RGBA", "GIF"), ("RGBA", "WEBP"), ("RGBA", "AVIF")],
)
def test_what_is_clear_is_white(mode: str, kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    decoded = np.asarray(decode_image(encoded(lettering(mode), kind, **options)))
    assert decoded[0, 0].min() > 250
    assert decoded[10, 15].max() < 5


def test_half_clear_is_half_white() -> None:
    assert decode_image(encoded(Image.new("RGBA", (3, 3), (0, 0, 0, 128)))).getpixel((0, 0)) == (
        127,
        127,
        127,
    )


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("orientation", "size", "top"),
    [(1, (80, 40), (40, 5)), (3, (80, 40), (40, 35)), (6, (40, 80), (35, 40)), (8, (40, 80), (5, 40))],
)
def test_photos_stand_upright(
    kind: str, orientation: int, size: tuple[int, int], top: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = Image.new("RGB", (80, 40), "red")
    photo.paste((0, 0, 255), (0, 0, 80, 20))  # the upper half as it is stored
    decoded = decode_image(encoded(photo, kind, exif=exif))
    assert decoded.size == size
    assert decoded.getpixel(top)[2] > 150


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_damaged_exif_costs_no_image() -> None:
    data = encoded(Image.new("RGB", (8, 4)), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert decode_image(data).size == (8, 4)


def test_a_jpeg_of_many_scans_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encoded(Image.effect_noise((64, 64), 50).convert("RGB"), "JPEG", progressive=True)
    last = whole.rindex(b"\xff\xda")
    scans = whole[:last] + whole[last:-2] * 100 + whole[-2:]
    assert decode_image(whole + b"\xff\xda" * 200).size == (64, 64)  # a film behind the picture
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("pixels were decoded"))
    with pytest.raises(SampleError, match="image_too_slow"):
        decode_image(scans)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF"])
def test_decoding_ends_when_its_seconds_are_spent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(Image.effect_noise((900, 900), 80), kind)
    clock = itertools.count(step=3.0)  # 3 seconds between two looks at it
    monkeypatch.setattr("time.thread_time", lambda: next(clock))
    with pytest.raises(SampleError, match="image_too_slow"):
        decode_image(data)


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK", "RGBA", "I;16", "LA"])
def test_images_of_every_mode_become_rgb(mode: str) -> None:
    decoded = decode_image(encoded(Image.new(mode, (5, 3)), {"CMYK": "JPEG"}.get(mode, "PNG")))
    assert (decoded.mode, decoded.size) == ("RGB", (5, 3))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("order", ["<u2", ">u2"])
def test_sixteen_bits_are_scaled_to_eight(kind: str, order: str) -> None:
    levels = np.array([[0, 257, 32896, 65535]])
    decoded = decode_image(encoded(Image.fromarray(levels.astype(order)), kind))
    assert np.asarray(decoded)[0, :, 0].tolist() == [0, 1, 128, 255]


@pytest.mark.parametrize("number", [np.int32, np.float32])
def test_numbers_of_32_bits_are_no_picture(number: type) -> None:
    with pytest.raises(SampleError, match="image_unreadable"):
        decode_image(encoded(Image.fromarray(np.ones((4, 4), number)), "TIFF"))


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((MAX_PIXELS // 5000, 5001), "image_too_large"),
        ((20_001, 500), "image_too_large"),
        ((1, 1_000_000), "image_too_large"),
        ((1, 20_000), "image_too_narrow"),
        ((51, 1), "image_too_narrow"),
    ],
)
def test_a_bomb_is_refused_by_its_header(
    size: tuple[int, int], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = encoded(Image.new("1", size))
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("pixels were decoded"))
    with pytest.raises(SampleError, match=reason):
        decode_image(data)


def test_the_longest_allowed_ratio_is_read() -> None:
    assert decode_image(encoded(Image.new("L", (50, 1)))).size == (50, 1)


def test_an_image_of_too_many_bytes_is_not_opened() -> None:
    with pytest.raises(SampleError, match="image_too_large"):
        decode_image(bytes(50_000_001))


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("kind", FORMATS)
def test_damage_is_unreadable_and_no_other_error(kind: str) -> None:
    rng = np.random.default_rng(0)
    whole = encoded(Image.fromarray(rng.integers(0, 256, (24, 24, 3), np.uint8)), kind)
    found: Counter[str] = Counter()
    for _ in range(150):
        data = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        for at in rng.integers(0, len(data), 3):
            data[at] = rng.integers(0, 256)
        try:
            found[decode_image(bytes(data)).mode] += 1
        except SampleError as error:
            found[error.reason] += 1
    assert found["image_unreadable"] > 0
    assert set(found) <= {"RGB", "image_unreadable", "image_too_large", "image_too_narrow", "image_too_slow"}


def test_a_batch_holds_a_bounded_number_of_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tar(tmp_path / "a.tar", rows(10))
    index = index_tar(tmp_path / "a.tar", {})
    (together,) = tar_reader.read_images(tmp_path / "a.tar", index, 99, Counter())
    monkeypatch.setattr(tar_reader, "HELD_PIXELS", 2 * together.images[0].width * together.images[0].height)
    batches = list(tar_reader.read_images(tmp_path / "a.tar", index, 99, Counter()))
    assert [len(batch.images) for batch in batches] == [3, 3, 3, 1]
    assert [text for batch in batches for text in batch.texts] == together.texts
