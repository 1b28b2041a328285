"""Strings of the web's machinery: file names, addresses, search words, hashtags, paths of pages, placeholders."""

from collections.abc import Callable

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.titles.names import Name
from tools.demo_world.language.titles.segments import (
    colour_word,
    drawn_name,
    noun_word,
    phrase,
    recased,
    site,
    size,
    whole,
    word,
    year,
)
from tools.demo_world.language.trees import Node, in_order, phrase_list
from tools.demo_world.sampling import Weighted

Form = Callable[[Scene, Name, np.random.Generator], Node]


def web_string_caption(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a string that was not written for readers; `name` is a brand or a place."""
    return _FORMS[_FORM(rng)](scene, name, rng)


def _slug(scene: Scene, name: Name, rng: np.random.Generator) -> list[str]:
    """Return the words of a file name, in lower case."""
    thing = scene.things[0]
    words = [colour_word(thing.colour, rng)] if rng.random() < 0.4 else []
    words += noun_word(thing, rng).split() if rng.random() < 0.75 else word(rng, "item").split()
    words += word(rng, pick(rng, ("mood", "theme", "category", "search", "food", "medium"))).split()
    if rng.random() < 0.5:
        words[int(rng.random() * 3) :] += "".join(
            c if c.isalnum() else " " for c in name.text.lower()
        ).split()
    return words


def _file(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    end = pick(rng, (".jpg", ".jpg", ".JPG", ".png", ".jpeg", ".gif", ""))
    if rng.random() < 0.3:
        day = f"{year(rng)}{whole(rng, 101, 1231)}"
        start = pick(
            rng,
            (
                "IMG_",
                "DSC_",
                "DSCN",
                "P10",
                "image-",
                "IMG-",
                f"{day}_",
                "photo",
                "Screenshot_",
                "scan",
                "WP_",
            ),
        )
        return Node(f"{start}{whole(rng, 10, 999_999)}{end}", speech="X")
    mark = pick(rng, ("-", "-", "_", "_", "%20", "+", ""))
    number = whole(rng, 1, 2_000) if rng.random() < 0.6 else ""
    stem = mark.join(filter(None, [*_slug(scene, name, rng), number]))
    return Node(stem + (end or ".jpg"), speech="X")


def _address(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    parts = [word(rng, "site"), "-".join(_slug(scene, name, rng))]
    if rng.random() < 0.4:
        parts.insert(1, year(rng))
    start = pick(rng, ("https://www.", "http://", "www.", "", "https://"))
    host = start + site(name, rng)
    if rng.random() < 0.35:
        return Node(host, speech="X")
    return Node(
        f"{host}/{'/'.join(parts)}{pick(rng, ('', '.html', '.jpg', '/', f'?id={whole(rng, 3, 90_000)}'))}",
        speech="X",
    )


def _search(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return search words, for example "red boat for sale cheap, boats 2019, best boat"."""
    parts = []
    for _ in range(1 + int(rng.random() * 4)):
        words = _slug(scene, name, rng) if rng.random() < 0.6 else [noun_word(scene.things[0], rng)]
        words += [word(rng, "search")] if rng.random() < 0.7 else [word(rng, "language")]
        parts.append(phrase(*words, *([year(rng)] if rng.random() < 0.2 else [])))
    return phrase_list(parts, [pick(rng, (",", ",", "", "|")) for _ in parts[1:]])


def _tags(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    lists = ("theme", "mood", "occasion", "sport", "plant", "creature", "genre", "food", "craft")
    tags = ["".join(word(rng, pick(rng, lists)).split()) for _ in range(2 + int(rng.random() * 3))]
    tags.insert(int(rng.random() * 3), "".join(c for c in name.text.lower() if c.isalnum()))
    return phrase_list([Node(f"#{tag}", speech="X") for tag in tags], [""] * (len(tags) - 1))


def _path(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    parts = [phrase("Home")] if rng.random() < 0.5 else []
    parts += [
        phrase(word(rng, "category")),
        phrase(word(rng, pick(rng, ("item", "material", "audience", "sport")))),
    ]
    if rng.random() < 0.6:
        parts.append(phrase(noun_word(scene.things[0], rng)))
    parts.insert(len(parts), phrase(*name.words))
    mark = pick(rng, (">", ">", "/", "»", "›", "|"))
    return recased(phrase_list(parts, [mark] * (len(parts) - 1)), rng, "title")


def _placeholder(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    number, total = whole(rng, 1, 40), whole(rng, 40, 400)
    what = word(rng, pick(rng, ("medium", "item", "site", "stock")))
    category = word(rng, "category")
    options = (
        f"image {number} of {total}", f"{what} {number}", f"photo {number} / {total}",
        f"{what} thumbnail number {number}",
        f"Click to enlarge {what}", f"Load {what} into gallery viewer", f"View {what} {size(rng)}", f"Slide {number}",
        f"{what} not available", f"Picture {number} for {category} {what}", f"attachment {total}{number}",
    )  # fmt: skip
    root = phrase(pick(rng, options))
    if rng.random() < 0.6:
        root = phrase_list([root, drawn_name("brand", rng)], [pick(rng, ("-", ",", "|", ":"))])
    return root


def _cut(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a string that ends in the middle, with "..."."""
    words = [
        *_slug(scene, name, rng),
        pick(rng, ("with", "for", "and", "in", "the", "of")),
        word(rng, "feature"),
        word(rng, "item"),
    ]
    root = recased(phrase(*words), rng)
    last = in_order(root)[-1][0]
    last.word = last.word[: 1 + int(rng.random() * 4)]
    root.add("punct", Node("..."))
    return root


_FORMS: dict[str, Form] = {
    "file": _file, "address": _address, "search": _search, "tags": _tags,
    "path": _path, "placeholder": _placeholder, "cut": _cut,
}  # fmt: skip
_FORM = Weighted({"file": 36, "address": 16, "search": 16, "tags": 6, "path": 8, "placeholder": 8, "cut": 8})
