"""Pairs as the web has them: some captions say what the picture shows, most do something else."""

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
from benchmark.demo.text_rendering import letter, render_text
from benchmark.demo.world import Scene, Weighted, on_display, pick, sample_scene

Image = npt.NDArray[np.uint8]
KINDS = ("concrete", "abstract", "news", "product", "parrot", "mismatched", "near_duplicate")
NEAR_SHARE = 0.03  # of the pool's scenes: the thin tail that NoCaps' "near-domain" tests
# Images whose text the caption does not repeat. With the parrots' 40% (of what is no near-duplicate) they make
# the 54.6% of LAION-2B's images that hold text (Lin et al. 2023, Table 1).
STRAY_SHARES = {"concrete": 0.13, "abstract": 0.13, "mismatched": 0.13, "news": 0.4, "product": 0.6}
GROUPS = (
    2000  # of near-duplicates; the i-th is about 1 / i as frequent, as the web's most copied pictures are
)
_GROUP = Weighted({str(group): 1 / (group + 20) for group in range(GROUPS)})


@dataclass(frozen=True)
class Pair:
    """An image and its caption. `image`: uint8, (size, size, 3), RGB; `kind`: one of `KINDS`.

    `concreteness` (0 to 1) is of the caption alone. `text` is what is written in the image; pairs of one
    `group` are near-duplicates.
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
    """Return a pair whose kind is drawn by `shares`.

    Near-duplicates are copies of a limited number of pairs of the other kinds; `family` (of at most three
    numbers) names that stock.
    """
    kind = Weighted(dict(shares))(rng)
    if kind == "near_duplicate":
        return _near_duplicate(rng, shares, family, size)
    image, caption, scene, text = MAKERS[kind](rng, size)
    if kind != "parrot" and rng.random() < STRAY_SHARES[kind]:
        text = pick(rng, STRAY_TEXT)
        image = letter(image, [text], rng)
    return Pair(image, caption, kind, concreteness(caption), scene, text)


def pool_scene(rng: np.random.Generator) -> Scene:
    """Return a scene as the pool shows them: of the usual kinds, rarely of a rare one."""
    return sample_scene(rng, "near" if rng.random() < NEAR_SHARE else "in")


Made = tuple[Image, str, Scene | None, str]  # image, caption, scene, text in the image


def _captioned(caption: Callable[[Scene, np.random.Generator], str]) -> Callable[..., Made]:
    def make(rng: np.random.Generator, size: int) -> Made:
        scene = pool_scene(rng)
        return render(scene, rng, size), caption(scene, rng), scene, ""

    return make


def _product(rng: np.random.Generator, size: int) -> Made:
    scene = pool_scene(rng)
    if rng.random() < 0.7:
        scene = on_display(scene)
    return render(scene, rng, size), product_caption(scene, rng), scene, ""


def _parrot(rng: np.random.Generator, size: int) -> Made:
    words = slogan(rng)
    style = rng.random()
    shown = [w.upper() if style < 0.55 else w.title() if style < 0.8 else w for w in words]
    text, caption = " ".join(shown), echo(words, shown, rng)
    if rng.random() < 0.5:
        return render_text(shown, rng, size), caption, None, text
    scene = pool_scene(rng)
    if rng.random() < 0.25:  # some captions also say what is behind the text
        caption = f"{caption} - {describe(scene, rng)}"
    return letter(render(scene, rng, size), shown, rng), caption, scene, text


def _mismatched(rng: np.random.Generator, size: int) -> Made:
    scene = pool_scene(rng)
    return render(scene, rng, size), describe(pool_scene(rng), rng), scene, ""


MAKERS: dict[str, Callable[[np.random.Generator, int], Made]] = {
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
    """Return a copy of one of the family's pairs: recropped, relit, its caption retouched."""
    group = int(_GROUP(rng))
    # Four words and the last is 1: no sample's own stream [seed, draw, index] can be the same.
    stock = np.random.default_rng([*family, group, 1])
    others = {kind: share for kind, share in shares.items() if kind != "near_duplicate"}
    original = draw_pair(stock, others, size=size)
    caption = retouch(original.caption, rng)
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


def retouch(caption: str, rng: np.random.Generator) -> str:
    """Return `caption` as copies of a picture carry it: in other case, without its full stop, with an addition."""
    choices = (
        caption, caption, caption.lower(), caption.rstrip("."), f"{caption.rstrip('.')} stock photo",
        f"{caption.rstrip('.')}...", f"{caption.rstrip('.')} #{int(rng.random() * 900) + 100}", caption.title(),
    )  # fmt: skip
    return pick(rng, choices)
