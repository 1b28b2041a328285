"""Images from the web: of every kind, too large, too narrow, too slow, damaged."""

import io
import itertools
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.TiffImagePlugin import OPEN_INFO

from benchmark.core.batch import SampleError
from benchmark.core.images import FORMATS, MAX_PIXELS, decode_image
from benchmark.pool import tar_reader
from benchmark.pool.tar_index import index_tar
from tests.image_kinds import Kind, pngs, tiff, tiff_file, tiffs
from tests.pools import rows, write_tar

# Layouts that Pillow lists and cannot unpack, or libtiff: those of samples in the lowest bits, and grey as YCbCr.
UNREADABLE = re.compile(
    r"TIFF \(b'..', (0, \(1,\), 2, \(8,\), \(\)\)|3, \(1,\), 2, \([124],\), \(\)\)|6, .* \(8,\).* deflate)"
)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("kinds", [pngs, tiffs])
def test_every_kind_shows_what_was_written(kinds: Callable[[], Iterable[Kind]]) -> None:
    wrong, unreadable = {}, set()
    for kind in kinds():
        try:
            difference = np.abs(np.asarray(decode_image(kind.data)) - kind.shown).max()
        except SampleError:
            unreadable.add(kind.name)
            continue
        if difference > 3:  # levels: CIE L*a*b*, and 16 bits cut to eight
            wrong[kind.name] = difference
    assert not wrong
    assert all(UNREADABLE.fullmatch(name) for name in unreadable)


@pytest.mark.parametrize("key", [key for key, (mode, _) in OPEN_INFO.items() if mode in ("I", "F")])
def test_numbers_without_a_white_are_no_picture(key: Any) -> None:
    with pytest.raises(SampleError, match="image_unreadable"):
        decode_image(tiff(key, np.ones((4, 4, 1), int)))


def test_images_are_decoded_in_one_place() -> None:
    """The trackers open thumbnails that galleries have made."""
    words = r"Image\.open\(|cv2\.im(read|decode)|imageio|decode_jpeg|read_image\(.*png"
    search = ["git", "grep", "-lE", words, "--", "benchmark", "filters", "downstream", "pairsift"]
    found = subprocess.run(search, capture_output=True, text=True)
    assert set(found.stdout.split()) == {"benchmark/core/images.py", "benchmark/results/trackers.py"}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_photos_stand_upright(kind: str) -> None:
    photo = Image.new("RGB", (80, 40), "red")
    photo.paste((0, 0, 255), (0, 0, 80, 20))  # the upper half as it is stored
    for orientation, size, top in [(1, (80, 40), (40, 5)), (3, (80, 40), (40, 35)), (6, (40, 80), (35, 40))]:
        exif = Image.Exif()
        exif[0x0112] = orientation
        decoded = decode_image(encoded(photo, kind, exif=exif))
        assert decoded.size == size
        assert decoded.getpixel(top)[2] > 150


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_damaged_exif_costs_no_image() -> None:
    data = encoded(Image.new("RGB", (8, 4)), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert decode_image(data).size == (8, 4)


NOISE = encoded(Image.effect_noise((64, 64), 50).convert("RGB"), "JPEG", progressive=True)
LAST_SCAN = NOISE[NOISE.rindex(b"\xff\xda") : -2]


def multi_picture(jpeg: bytes) -> bytes:
    """The JPEG as the first of two pictures."""
    data = encoded(Image.new("RGB", (8, 8)), "MPO", save_all=True, append_images=[Image.new("RGB", (8, 8))])
    start = data.index(b"\xff\xe2")
    return jpeg[:2] + data[start : start + 2 + int.from_bytes(data[start + 2 : start + 4], "big")] + jpeg[2:]


# Markers without a length, which a decoder passes, padding, and one of length 0.
BETWEEN = [b"", b"\xff\x01\xff\xff", b"\xff\x02\xff\xff", b"\xff\xd0\xff\xff", b"\xff" * 3, b"\xff\xfe\0\0"]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("container", [bytes, multi_picture])
def test_a_jpeg_of_many_scans_is_not_decoded(
    container: Callable[[bytes], bytes], between: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = container(NOISE[:-2] + between + LAST_SCAN * 100 + NOISE[-2:])
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == ("MPO" if container is multi_picture else "JPEG")
    film = container(NOISE) + b"\xff\xda" * 200  # behind the picture
    assert decode_image(film).size == (64, 64)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("pixels were decoded"))
    with pytest.raises(SampleError, match="image_too_slow"):
        decode_image(data)


def test_a_tile_larger_than_its_image_is_a_bomb() -> None:
    """libtiff decodes it whole."""
    pixels = zlib.compress(bytes(100))
    tags = {256: [8], 257: [8], 258: [8], 259: [8], 262: [1], 277: [1], 322: [8000], 323: [8000], 324: [8]}
    with pytest.raises(SampleError, match="image_too_large"):
        decode_image(tiff_file("<", tags | {325: [len(pixels)]}, pixels))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF"])
def test_decoding_ends_when_its_seconds_are_spent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(Image.effect_noise((900, 900), 80), kind)
    clock = itertools.count(step=3.0)  # 3 seconds between two looks at it
    monkeypatch.setattr("time.thread_time", lambda: next(clock))
    with pytest.raises(SampleError, match="image_too_slow"):
        decode_image(data)


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((MAX_PIXELS // 5000, 5001), "image_too_large"),
        ((20_001, 500), "image_too_large"),
        ((1, 1_000_000), "image_too_large"),
        ((1, 20_000), "image_too_narrow"),
        ((51, 1), "image_too_narrow"),
        ((0, 0), "image_too_large"),  # by its bytes
    ],
)
def test_a_bomb_is_refused_by_its_header(
    size: tuple[int, int], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decode_image(encoded(Image.new("L", (50, 1)))).size == (50, 1)  # the longest that is read
    data = bytes(50_000_001) if size == (0, 0) else encoded(Image.new("1", size))
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("pixels were decoded"))
    with pytest.raises(SampleError, match=reason):
        decode_image(data)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("kind", FORMATS)
def test_damage_is_unreadable_and_no_other_error(kind: str) -> None:
    rng = np.random.default_rng(0)
    whole = encoded(Image.fromarray(rng.integers(0, 256, (24, 24, 3), np.uint8)), kind)
    found: Counter[str] = Counter()
    for _ in range(30):
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
