"""Image-caption pairs with the noise of web data: only some captions describe the image."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.pictures import Image, vary_image
from pairsift.demo.render import render
from pairsift.demo.text_rendering import overlay_text, render_text
from pairsift.demo.world import Scene
from tools.demo_world.concreteness import concreteness
from tools.demo_world.embedded_text import ALL, embedded_words
from tools.demo_world.language.descriptions.alt_texts import alt_text
from tools.demo_world.language.descriptions.descriptions import describe
from tools.demo_world.language.foreign import foreign_caption
from tools.demo_world.language.sentences.abstract import abstract_caption
from tools.demo_world.language.sentences.news import news_caption
from tools.demo_world.language.titles.event_captions import event_caption
from tools.demo_world.language.titles.names import NAME_CATEGORIES, Name, sample_name
from tools.demo_world.language.titles.parrot_captions import parrot_caption
from tools.demo_world.language.titles.person_captions import person_caption
from tools.demo_world.language.titles.product_captions import product_caption
from tools.demo_world.language.titles.title_captions import title_caption
from tools.demo_world.language.titles.web_string_captions import web_string_caption
from tools.demo_world.language.trees import Node, text_of
from tools.demo_world.mix import MISMATCHED, NEAR_DUPLICATE, NO_TEXT, PARROT, Mix
from tools.demo_world.near_duplicates import draw_group, vary_caption
from tools.demo_world.scenes import ANY_LOOK, DrawnScene, Look, on_display, sample_scene

# The grade of each kind of pair, on the scale of ICC's annotators: 3 describes the image, 2 names something visible,
# 1 names products, events or people, 0 is abstract. A mismatched caption describes another image; a parrot's image
# shows nothing but its words.
GRADES = {
    "concrete": 3, "title": 2, "product": 1, "event": 1, "person": 1, "web_string": 1, "abstract": 0, "news": 0,
    MISMATCHED: 0, PARROT: 0,
}  # fmt: skip
KINDS = (*GRADES, NEAR_DUPLICATE)
NEAR_SHARE = 0.03  # fraction of near-domain scenes in the pool, for NoCaps' "near-domain"
ALT_TEXT_SHARE = 0.95  # fraction of alt texts among captions that describe; the others are an annotator's
FOREIGN_SHARE = 0.35  # fraction of web strings in other languages, as a language filter misses some
ON_DISPLAY_SHARE = 0.7  # fraction of the products shown in isolation on a plain background


@dataclass(frozen=True)
class Draft:
    """A pair before its image is rendered.

    Args:
        caption: the caption.
        kind: kind of noise, one of `KINDS`.
        grade: planted grade of the pair, 0 to 3; a near-duplicate has its original's grade.
        concreteness: planted concreteness of the caption, 0 to 1.
        scene: the scene in the image; None if the image shows only text.
        described: the other scene that a mismatched caption describes; None for all other pairs.
        embedded: kind of text in the image (`embedded_text.KINDS`).
        text: the text written in the image, empty if there is none.
        group: seed of the near-duplicate's original, empty for all other kinds.
    """

    caption: str
    kind: str
    grade: int
    concreteness: float
    scene: DrawnScene | None
    embedded: str = NO_TEXT
    text: str = ""
    group: tuple[int, ...] = ()
    described: DrawnScene | None = None


@dataclass(frozen=True)
class Pair(Draft):
    """An image and its caption; `image` is RGB, uint8, shape (size, size, 3)."""

    image: Image = field(kw_only=True)


def pool_scene(rng: np.random.Generator, look: Look = ANY_LOOK) -> DrawnScene:
    """Return a random scene with the pool's shares of in-domain and near-domain scenes."""
    return sample_scene(rng, "near" if rng.random() < NEAR_SHARE else "in", look)


def draw_caption(kind: str, rng: np.random.Generator, mix: Mix) -> tuple[DrawnScene, Node, DrawnScene | None]:
    """Return a scene, a caption of the kind `kind` for it, as a tree, and the scene that it describes instead.

    The last is None unless `kind` is "mismatched". No kind is a near-duplicate. `mix` has the settings of names.
    """
    if kind in WRITERS:
        scene = pool_scene(rng)
        return scene, WRITERS[kind](scene, rng), None
    if kind == MISMATCHED:
        scene, described = pool_scene(rng), pool_scene(rng)
        return scene, _concrete(described, rng), described
    name = sample_name(pick(rng, NAME_CATEGORIES[kind]), rng, mix.name_shift)
    scene = pool_scene(rng, name.look if rng.random() < mix.consistency else ANY_LOOK)
    if kind == "product" and rng.random() < ON_DISPLAY_SHARE:
        scene = on_display(scene)
    return scene, NAMED_WRITERS[kind](scene, name, rng), None


def _concrete(scene: Scene, rng: np.random.Generator) -> Node:
    return alt_text(scene, rng) if rng.random() < ALT_TEXT_SHARE else describe(scene, rng)


def _web_string(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    foreign = rng.random() < FOREIGN_SHARE
    return foreign_caption(scene, rng) if foreign else web_string_caption(scene, name, rng)


WRITERS: dict[str, Callable[[Scene, np.random.Generator], Node]] = {
    "concrete": _concrete,
    "abstract": abstract_caption,
    "news": news_caption,
}
# Writers of captions about a name (`NAME_CATEGORIES`).
NAMED_WRITERS: dict[str, Callable[[Scene, Name, np.random.Generator], Node]] = {
    "title": title_caption,
    "product": product_caption,
    "event": event_caption,
    "person": person_caption,
    "web_string": _web_string,
    PARROT: lambda _, name, rng: parrot_caption(name, rng),
}


def draft_pair(rng: np.random.Generator, mix: Mix, family: Sequence[int] = (0, 0)) -> Draft:
    """Return a random pair without its image.

    Args:
        rng: random generator of this pair.
        mix: probabilities of the kinds of captions and of text in images.
        family: at most three numbers that seed the originals of near-duplicates; pairs of one family copy the
            same originals.
    """
    kind = mix.draw_kind(rng)
    if kind == NEAR_DUPLICATE:
        # A seed of four numbers that ends in 1 differs from the seed [seed, draw, index] of every sample.
        group = (*family, draw_group(rng), 1)
        original = draft_pair(np.random.default_rng(group), mix.without(NEAR_DUPLICATE))
        caption = vary_caption(original.caption, rng)
        return replace(original, caption=caption, kind=kind, concreteness=concreteness(caption), group=group)
    scene, tree, described = draw_caption(kind, rng, mix)
    caption = text_of(tree)
    embedded = ALL if kind == PARROT else mix.draw_text(rng)
    text = " ".join(embedded_words(caption, embedded, rng))
    shown = None if embedded == ALL else scene
    return Draft(
        caption, kind, GRADES[kind], concreteness(caption), shown, embedded, text, described=described
    )


def draw_pair(rng: np.random.Generator, mix: Mix, *, family: Sequence[int] = (0, 0), size: int = 128) -> Pair:
    """Return a random pair with an image of `size` pixels; for the other arguments see `draft_pair`."""
    draft = draft_pair(rng, mix, family)
    if draft.group:
        original = draw_pair(np.random.default_rng(draft.group), mix.without(NEAR_DUPLICATE), size=size)
        return Pair(**vars(draft), image=vary_image(original.image, rng))
    words = draft.text.split()
    if draft.scene is None:
        return Pair(**vars(draft), image=render_text(words, rng, size))
    image = render(draft.scene, rng, size)
    return Pair(**vars(draft), image=overlay_text(image, words, rng) if words else image)
