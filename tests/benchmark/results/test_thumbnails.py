import io

import pytest
from PIL import Image

from benchmark.core.images import THUMBNAIL, decode_image
from benchmark.results.gallery import short_text, thumbnail
from benchmark.results.pictures import CAPTION_CHARACTERS


def encoded(size: tuple[int, int]) -> bytes:
    image = Image.new("RGB", size, "red")
    exif = Image.Exif()
    exif[0x010E] = "a secret"
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif, comment=b"a secret", icc_profile=b"a secret")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("size", "small"), [((400, 200), (96, 48)), ((20, 30), (20, 30)), ((5000, 100), (96, 2))]
)
def test_the_longer_side_is_bounded(size: tuple[int, int], small: tuple[int, int]) -> None:
    image = decode_image(encoded(size))
    jpeg = thumbnail(image)
    with Image.open(io.BytesIO(jpeg)) as read:
        assert (read.format, read.size) == ("JPEG", small)
        assert max(read.size) <= THUMBNAIL
    assert image.size == size


def test_no_metadata_of_the_image_is_kept() -> None:
    data = encoded((200, 200))
    assert b"a secret" in data
    assert b"a secret" not in thumbnail(decode_image(data))


def test_texts_are_short_and_on_one_line() -> None:
    assert short_text("a\tcat\r\n\x1b[31m \u202eon\u2028mars ") == "a cat [31m on mars"
    assert len(short_text("word " * 1000)) <= CAPTION_CHARACTERS
