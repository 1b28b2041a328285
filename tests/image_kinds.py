"""Image files of every kind, written without Pillow from known samples, with the pixels that they show on white."""

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL.TiffImagePlugin import OPEN_INFO

Array = npt.NDArray[Any]
HEIGHT, WIDTH = 6, 16
# The channels and depths of each colour type.
_PNGS = {0: (1, (1, 2, 4, 8, 16)), 2: (3, (8, 16)), 3: (1, (1, 2, 4, 8)), 4: (2, (8, 16)), 6: (4, (8, 16))}


@dataclass(frozen=True)
class Kind:
    """A file, and the pixels it shows: shape (height, width, 3), 0 to 255."""

    name: str
    data: bytes
    shown: Array


def on_white(rgb: Array, alpha: Array) -> Array:
    """Blend colours of 0 to 1, shape (h, w, 3), on white by their alpha of 0 to 1, shape (h, w)."""
    return 255 * (rgb * alpha[..., None] + 1 - alpha[..., None])


def pack(samples: Array, depth: int) -> Array:
    """Return rows of samples, shape (h, w, channels), as rows of bytes, the first sample in the highest bits."""
    bits = (samples.reshape(len(samples), -1, 1) >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.reshape(len(samples), -1).astype(np.uint8), axis=1)


def _noise(rng: np.random.Generator, channels: int, depth: int) -> Array:
    return rng.integers(0, 1 << depth, (HEIGHT, WIDTH, channels))


def png(header: tuple[int, int], samples: Array, *before: tuple[bytes, bytes]) -> bytes:
    """Write a PNG of a (depth, colour type) with chunks before its pixels."""
    rows = b"".join(b"\0" + row.tobytes() for row in pack(samples, header[0]))
    size = struct.pack(">II", samples.shape[1], samples.shape[0])
    head, pixels = (b"IHDR", size + bytes([*header, 0, 0, 0])), (b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in (head, *before, pixels, (b"IEND", b""))
    )


def pngs() -> Iterator[Kind]:
    """Yield a PNG of every colour type, depth and form of transparency."""
    rng = np.random.default_rng(0)
    for colour, depth in [(colour, depth) for colour, (_, depths) in _PNGS.items() for depth in depths]:
        samples, top = _noise(rng, _PNGS[colour][0], depth), (1 << depth) - 1
        name, header = f"PNG colour type {colour} depth {depth}", (depth, colour)
        if colour == 3:
            yield from _palette_pngs(rng, name, header, samples)
            continue
        rgb = np.broadcast_to(samples[..., : 3 if colour & 2 else 1] / top, (HEIGHT, WIDTH, 3))
        alpha = samples[..., -1] / top if colour & 4 else np.ones((HEIGHT, WIDTH))
        yield Kind(name, png(header, samples), on_white(rgb, alpha))
        for row in range(0 if colour & 4 else 4):
            key = samples[row, row]
            data = png(header, samples, (b"tRNS", key.astype(">u2").tobytes()))
            yield Kind(
                f"{name}, {key.tolist()} is clear", data, on_white(rgb, 1.0 - (samples == key).all(-1))
            )


def _palette_pngs(
    rng: np.random.Generator, name: str, header: tuple[int, int], samples: Array
) -> Iterator[Kind]:
    colours, index = 1 << header[0], samples[..., 0]
    palette = rng.integers(0, 256, (colours, 3), np.uint8)
    half = [int(level) for level in rng.integers(1, 255, colours)]
    tables = {
        "no table": [], "first clear": [0], "last clear": [255] * (colours - 1) + [0], "half clear": half,
        "all clear": [0] * colours, "a short table": half[: colours // 2],
    }  # fmt: skip
    for form, table in tables.items():
        alphas = np.array(table + [255] * (colours - len(table))) / 255
        before = [(b"PLTE", palette.tobytes())] + ([(b"tRNS", bytes(table))] if table else [])
        shown = on_white(palette[index] / 255, alphas[index])
        yield Kind(f"{name}, {form}", png(header, samples, *before), shown)


def tiff(
    key: tuple[Any, ...], samples: Array, colours: Sequence[int] = (), *, deflate: bool = False
) -> bytes:
    """Write a TIFF of one strip, of a key of Pillow's table of layouts."""
    prefix, photometric, formats, fill, bits, extra = key
    order = "<" if prefix == b"II" else ">"
    if bits[0] in (16, 32):
        kind = {1: "u", 2: "i", 3: "f"}[formats[0]]
        rows = samples.astype(f"{order}{kind}{bits[0] // 8}").view(np.uint8)
    else:
        rows = pack(samples, bits[0])
    pixels = zlib.compress(rows.tobytes()) if deflate else rows.tobytes()
    if fill == 2:  # the first sample in the lowest bits
        pixels = np.packbits(np.unpackbits(np.frombuffer(pixels, np.uint8), bitorder="little")).tobytes()
    height, width, channels = samples.shape
    return tiff_file(order, {
        256: [width], 257: [height], 258: bits, 259: [8 if deflate else 1], 262: [photometric], 266: [fill], 273: [8],
        277: [channels], 278: [height], 279: [len(pixels)], 320: colours, 338: extra, 339: formats * channels,
        530: [1, 1] if photometric == 6 else [],
    }, pixels)  # fmt: skip


def tiff_file(order: str, tags: Mapping[int, Sequence[int]], pixels: bytes) -> bytes:
    """Write a TIFF of tags of one or more integers, with its pixels at byte 8."""
    pixels += bytes(len(pixels) % 2)
    tags = {tag: values for tag, values in tags.items() if len(values)}
    start = 8 + len(pixels)
    after = start + 2 + 12 * len(tags) + 4
    directory, more = struct.pack(order + "H", len(tags)), b""
    for tag, values in sorted(tags.items()):
        long = max(values) > 0xFFFF
        value = struct.pack(f"{order}{len(values)}{'I' if long else 'H'}", *values)
        directory += struct.pack(order + "HHI", tag, 4 if long else 3, len(values))
        directory += value.ljust(4, b"\0") if len(value) <= 4 else struct.pack(order + "I", after + len(more))
        more += value if len(value) > 4 else b""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(order + "I", start) + pixels + directory + bytes(4) + more


def tiffs() -> Iterator[Kind]:
    """Yield a TIFF of every layout that Pillow opens, plain and compressed, unless its white is undefined."""
    rng = np.random.default_rng(1)
    for key in OPEN_INFO:
        _, photometric, formats, _, bits, extra = key
        if bits[0] == 32 or formats[0] != 1:
            continue
        depth, top = bits[0], (1 << bits[0]) - 1
        samples = _noise(rng, len(bits), depth)
        if photometric == 8:  # of colours that sRGB has
            samples = np.concatenate([90 + samples[..., :1] // 4, (samples[..., 1:] // 8 - 16) % 256], -1)
        colours = rng.integers(0, 256, (3, 1 << depth)) * 257 if photometric == 3 else np.zeros(0, int)
        inks = len(bits) - len(extra)
        if 1 in extra:  # colours are multiplied by their alpha
            samples[..., :inks] = samples[..., :inks] * samples[..., inks : inks + 1] // top
        alpha = np.ones((HEIGHT, WIDTH))
        if {1, 2, 999} & {*extra} or (photometric == 2 and inks == 4):
            inks = min(inks, {2: 3}.get(photometric, inks))
            alpha = samples[..., inks] / top
        rgb = _TIFF_COLOURS[photometric](samples[..., :inks] / top, colours, samples)
        if 1 in extra:
            rgb = np.divide(rgb, alpha[..., None], out=np.zeros_like(rgb), where=alpha[..., None] > 0)
        shown = on_white(rgb, alpha)
        for deflate in (False, True):
            data = tiff(key, samples, colours.reshape(-1).tolist(), deflate=deflate)
            yield Kind(f"TIFF {key}{' deflate' * deflate}", data, shown)


def _ycbcr(part: Array, colours: Array, samples: Array) -> Array:
    if part.shape[-1] == 1:
        return np.repeat(part, 3, -1)
    y, cb, cr = part[..., 0], part[..., 1] - 128 / 255, part[..., 2] - 128 / 255
    return np.clip(np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1), 0, 1)


def _lab(part: Array, colours: Array, samples: Array) -> Array:
    """CIE L*a*b* of D50, as TIFF has it, to sRGB through its matrix for D50."""
    signed = samples[..., 1:3].astype(np.uint8).astype(np.int8).astype(float)
    fy = (part[..., 0] * 100 + 16) / 116
    f = np.stack([fy + signed[..., 0] / 500, fy, fy - signed[..., 1] / 200], -1)
    xyz = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * [0.9642, 1, 0.8249]
    matrix = [[3.1339, -0.9788, 0.0719], [-1.6169, 1.9161, -0.2290], [-0.4906, 0.0335, 1.4052]]
    linear = np.clip(xyz @ np.array(matrix), 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


_TIFF_COLOURS: dict[int, Callable[[Array, Array, Array], Array]] = {
    0: lambda part, colours, samples: np.repeat(1 - part, 3, -1),
    1: lambda part, colours, samples: np.repeat(part, 3, -1),
    2: lambda part, colours, samples: part,
    3: lambda part, colours, samples: np.moveaxis(colours / 65535, 0, -1)[samples[..., 0]],
    5: lambda part, colours, samples: (1 - part[..., :3]) * (1 - part[..., 3:4]),
    6: _ycbcr,
    8: _lab,
}
