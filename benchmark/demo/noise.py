"""Image-caption pairs with the noise of web data: only some captions describe the image."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from benchmark.demo.concreteness import concreteness
from benchmark.demo.descriptions import describe
from benchmark.demo.noisy_captions import (
    STRAY_TEXT,
    abstract_caption,
    echo,
    news_caption,
    product_caption,
    slogan,
)
from benchmark.demo.render import render
from benchmark.demo.sampling import Weighted, pick
from benchmark.demo.text_rendering import overlay_text, render_text
from benchmark.demo.world import Scene, on_display, sample_scene

Image = npt.NDArray[np.uint8]
KINDS = ("concrete", "abstract", "news", "product", "parrot", "mismatched", "near_duplicate")
NEAR_SHARE = 0.03  # share of the pool's scenes that are near-domain, which NoCaps' "near-domain" then tests
# Shares of images with text that the caption does not repeat. Together with parrot captions, 40% of all pairs that
# are not near-duplicates, they give the 54.6% of LAION-2B's images that hold text (Lin et al. 2023, Table 1).
STRAY_SHARES = {"concrete": 0.13, "abstract": 0.13, "mismatched": 0.13, "news": 0.4, "product": 0.6}
GROUPS = 2000  # groups of near-duplicates, with Zipf-like frequencies as the web's most copied images have
_GROUP = Weighted({str(group): 1 / (group + 20) for group in range(GROUPS)})


@dataclass(frozen=True)
class Pair:
    """An image and its caption.

    Args:
        image: RGB, uint8, shape (size, size, 3).
        caption: the caption.
        kind: kind of noise, one of `KINDS`.
        concreteness: planted concreteness of the caption, 0 to 1.
        scene: what the image shows; None if it shows only text.
        text: the text written in the image, empty if there is none.
        group: name of the near-duplicate group, empty for all other kinds.
    """

    image: Image
    caption: str
    kind: str
    concreteness: float
    scene: Scene | None
    text: str = ""
    group: str = ""


def draw_pair(
    rng: np.random.Generator, shares: Mapping[str, float], *, family: Sequence[int] = (0, 0), size: int = 128
) -> Pair:
    """Return a random pair.

    Args:
        rng: random generator of this pair.
        shares: probability of each kind of noise.
        family: at most three numbers that seed the originals of near-duplicates; pairs of one family copy the
            same `GROUPS` originals.
        size: height and width of the image, in pixels.
    """
    kind = Weighted(dict(shares))(rng)
    if kind == "near_duplicate":
        return _near_duplicate(rng, shares, family, size)
    image, caption, scene, text = MAKERS[kind](rng, size)
    if kind != "parrot" and rng.random() < STRAY_SHARES[kind]:
        text = pick(rng, STRAY_TEXT)
        image = overlay_text(image, [text], rng)
    return Pair(image, caption, kind, concreteness(caption), scene, text)


def pool_scene(rng: np.random.Generator) -> Scene:
    """Return a random scene with the pool's shares of in-domain and near-domain scenes."""
    return sample_scene(rng, "near" if rng.random() < NEAR_SHARE else "in")


RawPair = tuple[Image, str, Scene | None, str]  # image, caption, scene, text in the image


def _captioned(caption: Callable[[Scene, np.random.Generator], str]) -> Callable[..., RawPair]:
    def make(rng: np.random.Generator, size: int) -> RawPair:
        scene = pool_scene(rng)
        return render(scene, rng, size), caption(scene, rng), scene, ""

    return make


def _product(rng: np.random.Generator, size: int) -> RawPair:
    scene = pool_scene(rng)
    if rng.random() < 0.7:
        scene = on_display(scene)
    return render(scene, rng, size), product_caption(scene, rng), scene, ""


def _parrot(rng: np.random.Generator, size: int) -> RawPair:
    words = slogan(rng)
    style = rng.random()
    shown = [w.upper() if style < 0.55 else w.title() if style < 0.8 else w for w in words]
    text, caption = " ".join(shown), echo(words, shown, rng)
    if rng.random() < 0.5:
        return render_text(shown, rng, size), caption, None, text
    scene = pool_scene(rng)
    if rng.random() < 0.25:  # some captions also describe the scene behind the text
        caption = f"{caption} - {describe(scene, rng)}"
    return overlay_text(render(scene, rng, size), shown, rng), caption, scene, text


def _mismatched(rng: np.random.Generator, size: int) -> RawPair:
    scene = pool_scene(rng)
    return render(scene, rng, size), describe(pool_scene(rng), rng), scene, ""


MAKERS: dict[str, Callable[[np.random.Generator, int], RawPair]] = {
    "concrete": _captioned(describe),
    "abstract": _captioned(abstract_caption),
    "news": _captioned(news_caption),
    "product": _product,
    "parrot": _parrot,
    "mismatched": _mismatched,
}


def _near_duplicate(
    rng: np.random.Generator, shares: Mapping[str, float], family: Sequence[int], size: int
) -> Pair:
    """Return a copy of one of the family's originals, with changed crop, brightness and caption."""
    group = int(_GROUP(rng))
    # A seed of four numbers that ends in 1 differs from the seed [seed, draw, index] of every sample.
    original_rng = np.random.default_rng([*family, group, 1])
    others = {kind: share for kind, share in shares.items() if kind != "near_duplicate"}
    original = draw_pair(original_rng, others, size=size)
    caption = vary_caption(original.caption, rng)
    return replace(
        original,
        image=_recrop(original.image, rng),
        caption=caption,
        kind="near_duplicate",
        concreteness=concreteness(caption),
        group="-".join(str(number) for number in (*family, group)),
    )


def _recrop(image: Image, rng: np.random.Generator) -> Image:
    size = image.shape[0]
    scale = 1 + 0.08 * rng.random()
    left, top = (1 - scale) * size * rng.random(2)
    moved = cv2.warpAffine(image, np.array([[scale, 0, left], [0, scale, top]]), (size, size))
    return np.asarray(
        cv2.convertScaleAbs(moved, alpha=0.9 + 0.2 * rng.random(), beta=10 * (rng.random() - 0.5)), np.uint8
    )


def vary_caption(caption: str, rng: np.random.Generator) -> str:
    """Return `caption` as it might stand beside a copy of the image: another case, no full stop, or an addition."""
    choices = (
        caption, caption, caption.lower(), caption.rstrip("."), f"{caption.rstrip('.')} stock photo",
        f"{caption.rstrip('.')}...", f"{caption.rstrip('.')} #{int(rng.random() * 900) + 100}", caption.title(),
    )  # fmt: skip
    return pick(rng, choices)
