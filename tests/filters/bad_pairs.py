"""Pairs as the web has them: captions that say nothing, images that are hardly any, some that cannot be used."""

import io

from PIL import Image, ImageDraw

from tests.pools import Row, jpeg, rows

BAD_CAPTIONS = [
    "",
    " ",
    "🙂🙂🙂",
    "?!...",
    "word " * 2000,
    "x" * 10_000,
    "a\u2028b\r\n\x00c",
    "{x} [*] %s",
    "a",
    "ذلك الكتاب لا ريب فيه",
]
UNREADABLE = 2  # the last of `bad_images`


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def bad_images() -> list[bytes]:
    photo = Image.open(io.BytesIO(jpeg(0, 64)))
    tiny_text = Image.new("RGB", (64, 64), "white")
    ImageDraw.Draw(tiny_text).text((2, 2), "tiny", "black", font_size=4)
    return [
        encoded(Image.new("RGB", (1, 1))),
        encoded(photo.convert("L"), "JPEG"),
        encoded(photo.convert("RGBA")),
        encoded(Image.new("RGBA", (16, 16), (255, 0, 0, 0))),
        encoded(photo.convert("P"), "GIF"),
        encoded(photo.convert("CMYK"), "JPEG"),
        encoded(Image.new("I;16", (16, 16), 40_000)),
        encoded(Image.new("1", (16, 16), 1)),
        encoded(photo.resize((400, 8))),
        encoded(photo.resize((8, 400))),
        encoded(Image.new("RGB", (64, 64), "black"), "JPEG"),
        encoded(tiny_text),
        encoded(photo)[:-40],  # UNREADABLE counts this and what follows
        b"<html>404</html>",
    ]


def bad_rows() -> list[Row]:
    """Two ordinary pairs, bad captions of ordinary images, ordinary captions of bad images."""
    captions = [(caption, jpeg(number)) for number, caption in enumerate(BAD_CAPTIONS)]
    images = [(f"a photo of thing number {number}", image) for number, image in enumerate(bad_images())]
    pairs = enumerate([*captions, *images], 2)
    return rows(2) + [Row(f"{n:05d}", f"http://example.org/{n}.jpg", *pair) for n, pair in pairs]
