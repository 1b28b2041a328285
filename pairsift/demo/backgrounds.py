"""Background images of the twelve places and of a plain studio, painted once per process."""

from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
VARIANTS = 12  # images per place


def _gradient(size: int, top: Colour, bottom: Colour) -> Image:
    weight = np.linspace(0, 1, size, dtype=np.float32)[:, None, None]
    column = np.asarray(top, np.float32) * (1 - weight) + np.asarray(bottom, np.float32) * weight
    return np.ascontiguousarray(np.broadcast_to(column, (size, size, 3)).astype(np.uint8))


def _ground(image: Image, height: float, top: Colour, bottom: Colour) -> None:
    row = round(height * image.shape[0])
    image[row:] = _gradient(image.shape[0], top, bottom)[: image.shape[0] - row]


def _polygon(image: Image, colour: Colour, *xy: float) -> None:
    points = np.asarray(xy, np.float32).reshape(-1, 2) * image.shape[0] * 16
    cv2.fillPoly(image, [points.astype(np.int32)], colour, cv2.LINE_AA, 4)


def _disc(image: Image, colour: Colour, x: float, y: float, radius: float) -> None:
    size = image.shape[0] * 16
    cv2.circle(image, (round(x * size), round(y * size)), round(radius * size), colour, -1, cv2.LINE_AA, 4)


def _line(image: Image, colour: Colour, x0: float, y0: float, x1: float, y1: float, width: float) -> None:
    size = image.shape[0]
    start, end = (round(x0 * size), round(y0 * size)), (round(x1 * size), round(y1 * size))
    cv2.line(image, start, end, colour, max(1, round(width * size)), cv2.LINE_AA)


def _cloud(image: Image, rng: np.random.Generator) -> None:
    x, y, r = rng.uniform(0.1, 0.9), rng.uniform(0.08, 0.25), rng.uniform(0.03, 0.06)
    for dx, dy in ((-1.4, 0.3), (0, 0), (1.4, 0.3)):
        _disc(image, (250, 252, 255), x + dx * r, y + dy * r, r)


def _street(image: Image, rng: np.random.Generator) -> None:
    _clear_sky(image, rng)
    x = -0.05
    while x < 1:
        width, top = rng.uniform(0.14, 0.22), 0.62 - rng.uniform(0.22, 0.45)
        shade, right = int(rng.integers(120, 175)), x + width
        _polygon(image, (shade, shade - 8, shade - 20), x, top, right, top, right, 0.7, x, 0.7)
        for wx in (0.2, 0.6):
            for wy in (0.05, 0.14, 0.23):
                _polygon(image, (225, 222, 190), *_rect(x + wx * width, top + wy, 0.25 * width, 0.05))
        x += width + 0.02
    _ground(image, 0.66, (104, 104, 110), (84, 84, 90))
    for dash in (0.02, 0.3, 0.58, 0.86):
        _line(image, (235, 225, 170), dash, 0.86, dash + 0.14, 0.86, 0.018)


def _rect(x: float, y: float, width: float, height: float) -> tuple[float, ...]:
    return x, y, x + width, y, x + width, y + height, x, y + height


def _clear_sky(image: Image, rng: np.random.Generator) -> None:
    image[:] = _gradient(image.shape[0], (126, 186, 236), (214, 232, 244))
    for _ in range(int(rng.integers(0, 3))):
        _cloud(image, rng)


def _field(image: Image, rng: np.random.Generator) -> None:
    _clear_sky(image, rng)
    _disc(image, (150, 196, 110), rng.uniform(0.1, 0.9), 0.95, 0.45)
    _ground(image, 0.58, (132, 190, 84), (96, 156, 60))
    for _ in range(26):
        x, y = rng.uniform(0, 1), rng.uniform(0.62, 1)
        _line(image, (70, 130, 46), x, y, x + 0.01, y - 0.03, 0.008)


def _beach(image: Image, rng: np.random.Generator) -> None:
    _clear_sky(image, rng)
    _disc(image, (255, 236, 130), rng.uniform(0.15, 0.85), 0.14, 0.08)
    _ground(image, 0.46, (40, 120, 190), (80, 200, 220))
    _ground(image, 0.62, (240, 222, 170), (222, 196, 138))
    _line(image, (250, 252, 252), 0, 0.62, 1, 0.62, 0.02)


def _waves(image: Image, rng: np.random.Generator, colour: Colour, start: float) -> None:
    for _ in range(14):
        x, y = rng.uniform(0, 0.9), rng.uniform(start, 0.98)
        _line(image, colour, x, y, x + 0.1, y, 0.01)


def _lake(image: Image, rng: np.random.Generator) -> None:
    _clear_sky(image, rng)
    _polygon(image, (92, 140, 96), 0, 0.5, 0, 0.42, 0.3, 0.36, 0.6, 0.44, 1, 0.38, 1, 0.5)
    _ground(image, 0.48, (70, 140, 200), (24, 84, 150))
    _waves(image, rng, (150, 200, 235), 0.54)


def _room(image: Image, rng: np.random.Generator) -> None:
    wall = ((226, 206, 178), (206, 214, 200), (222, 200, 204), (204, 208, 226))[int(rng.integers(4))]
    image[:] = wall
    _ground(image, 0.68, (176, 92, 80), (150, 70, 62))
    _polygon(image, (244, 240, 232), *_rect(0, 0.655, 1, 0.03))
    x = rng.uniform(0.08, 0.62)
    _polygon(image, (250, 248, 240), *_rect(x, 0.08, 0.3, 0.3))
    _polygon(image, (170, 214, 240), *_rect(x + 0.025, 0.105, 0.25, 0.25))
    _line(image, (250, 248, 240), x + 0.15, 0.1, x + 0.15, 0.36, 0.02)


def _kitchen(image: Image, rng: np.random.Generator) -> None:
    image[:] = (226, 236, 236)
    for i in range(1, 9):
        _line(image, (196, 212, 214), 0, i * 0.085, 1, i * 0.085, 0.008)
        _line(image, (196, 212, 214), i * 0.125, 0, i * 0.125, 0.7, 0.008)
    x = rng.uniform(0, 0.5)
    _polygon(image, (188, 140, 92), *_rect(x, 0, 0.46, 0.22))
    _line(image, (140, 98, 60), x + 0.23, 0, x + 0.23, 0.22, 0.012)
    _ground(image, 0.7, (240, 236, 224), (222, 216, 200))
    for row in range(3):
        for column in range(10):
            if (row + column) % 2:
                _polygon(image, (120, 130, 140), *_rect(column * 0.1, 0.7 + row * 0.1, 0.1, 0.1))


def _forest(image: Image, rng: np.random.Generator) -> None:
    image[:] = _gradient(image.shape[0], (150, 190, 150), (84, 128, 84))
    for x in np.sort(rng.uniform(0, 1, 9)):
        shade = int(rng.integers(0, 26))
        _polygon(image, (74 + shade, 56 + shade, 38 + shade), *_rect(x - 0.02, 0, 0.045, 0.68))
    for x in rng.uniform(0, 1, 10):
        _disc(image, (36, int(rng.integers(84, 116)), 48), x, 0.03, 0.13)
    _ground(image, 0.66, (84, 108, 56), (60, 78, 40))


def _snow(image: Image, rng: np.random.Generator) -> None:
    image[:] = _gradient(image.shape[0], (170, 190, 214), (214, 226, 238))
    _disc(image, (226, 234, 244), rng.uniform(0.1, 0.9), 1.02, 0.5)
    _ground(image, 0.62, (246, 250, 254), (224, 234, 246))
    for x, y in rng.uniform(0, 1, (34, 2)):
        _disc(image, (252, 254, 255), x, y * 0.75, 0.011)


def _night(image: Image, rng: np.random.Generator) -> None:
    image[:] = _gradient(image.shape[0], (10, 14, 48), (48, 44, 96))
    for x, y in rng.uniform(0, 1, (34, 2)):
        _disc(image, (240, 240, 220), x, y * 0.7, 0.007)
    x = rng.uniform(0.12, 0.88)
    _disc(image, (244, 240, 206), x, 0.15, 0.08)
    _disc(image, (14, 18, 54), x + 0.035, 0.13, 0.065)
    _ground(image, 0.76, (34, 48, 52), (20, 30, 34))


def _desert(image: Image, rng: np.random.Generator) -> None:
    image[:] = _gradient(image.shape[0], (246, 190, 120), (252, 226, 170))
    _disc(image, (255, 244, 190), rng.uniform(0.15, 0.85), 0.16, 0.09)
    _disc(image, (226, 164, 92), rng.uniform(0, 1), 1.1, 0.58)
    _ground(image, 0.62, (224, 160, 84), (198, 130, 62))
    for y in (0.72, 0.84, 0.95):
        _line(image, (204, 138, 70), rng.uniform(0, 0.3), y, rng.uniform(0.6, 1), y + 0.02, 0.01)


def _mountains(image: Image, rng: np.random.Generator) -> None:
    _clear_sky(image, rng)
    for x, peak in zip((0.1, 0.85, 0.48), rng.uniform(0.12, 0.3, 3), strict=True):
        x += rng.uniform(-0.08, 0.08)
        _polygon(image, (112, 116, 136), x - 0.42, 0.7, x, peak, x + 0.42, 0.7)
        _polygon(image, (244, 248, 252), x - 0.1, peak + 0.12, x, peak, x + 0.1, peak + 0.12, x, peak + 0.09)
    _ground(image, 0.66, (128, 150, 104), (100, 122, 82))


def _underwater(image: Image, rng: np.random.Generator) -> None:
    image[:] = _gradient(image.shape[0], (64, 178, 206), (10, 74, 120))
    for x in rng.uniform(0, 1, 3):
        _polygon(image, (84, 190, 214), x, 0, x + 0.08, 0, x - 0.02, 0.5, x - 0.08, 0.5)
    _ground(image, 0.86, (196, 184, 130), (170, 156, 104))
    for x in rng.uniform(0, 1, 4):
        for k in range(4):
            start, end = x + 0.015 * (k % 2), x + 0.015 * ((k + 1) % 2)
            _line(image, (34, 128, 84), start, 0.9 - 0.06 * k, end, 0.84 - 0.06 * k, 0.018)
    for x, y in rng.uniform(0, 1, (10, 2)):
        _disc(image, (150, 218, 232), x, y * 0.8, 0.012)


def _studio(image: Image, rng: np.random.Generator) -> None:
    shade = ((252, 252, 252), (240, 240, 240), (236, 232, 224), (226, 234, 242))[int(rng.integers(4))]
    image[:] = shade
    _ground(image, 0.82, (shade[0] - 10, shade[1] - 10, shade[2] - 10), shade)


PAINTERS: dict[str, Callable[[Image, np.random.Generator], None]] = {
    "street": _street, "field": _field, "beach": _beach, "lake": _lake, "room": _room, "kitchen": _kitchen,
    "forest": _forest, "snow": _snow, "night": _night, "desert": _desert, "mountains": _mountains,
    "underwater": _underwater,
    "studio": _studio,
}  # fmt: skip


@lru_cache(maxsize=4)
def backgrounds(size: int) -> dict[str, list[Image]]:
    """Return `VARIANTS` images per place: RGB, uint8, shape (size, size, 3). They are cached: do not modify them."""
    images: dict[str, list[Image]] = {}
    for number, place in enumerate(PAINTERS):
        images[place] = []
        for variant in range(VARIANTS):
            image = np.zeros((size, size, 3), np.uint8)
            # Seeded without the pool's seed: backgrounds, like sprites, are the same in every pool.
            PAINTERS[place](image, np.random.default_rng([number, variant]))
            images[place].append(image)
    return images
