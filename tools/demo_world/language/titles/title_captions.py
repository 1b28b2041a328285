"""Titles that name something visible: of pictures, prints, books, recipes, craft and blog pages."""

from collections.abc import Callable

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.titles.names import Name, name_phrase, sample_name
from tools.demo_world.language.titles.segments import (
    after,
    chosen,
    colour_word,
    date,
    drawn_name,
    indefinite,
    joined,
    noun_word,
    pattern_word,
    phrase,
    place_part,
    prep_part,
    quoted,
    recased,
    shuffled,
    site,
    size,
    tagged,
    whole,
    word,
    year,
)
from tools.demo_world.language.trees import Node, in_order
from tools.demo_world.sampling import Weighted

Core = Callable[[Scene, Name, np.random.Generator], Node]


def title_caption(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a title; `name` is a person, usually the artist, or a place."""
    person = not name.look.place
    core = _CORES[_CORE(rng)](scene, name, rng)
    unused = None if any(node.word == name.words[-1] for node, _ in in_order(core)) else name
    if rng.random() < 0.05:
        core = quoted(core)
    parts = chosen(
        rng,
        (
            (0.42, lambda: _credit(unused, rng) if person else _location(unused, rng)),
            (0.08, lambda: _location(None, rng) if person else _credit(None, rng)),
            (0.38, lambda: phrase(word(rng, "stock"))),
            (0.14, lambda: _print(rng)),
            (0.07, lambda: date(rng) if rng.random() < 0.4 else phrase(year(rng))),
            (0.06, lambda: phrase(word(rng, "theme"), word(rng, "genre"))),
            (0.03, lambda: phrase(word(rng, "mood"), word(rng, "theme"))),
            (0.05, lambda: _number(rng)),
            (0.05, lambda: phrase(word(rng, "category"))),
            (0.03, lambda: phrase(word(rng, "language"))),
            (0.02, lambda: Node(site(sample_name("brand", rng), rng), speech="X")),
        ),
    )
    ordered = [core, *shuffled(rng, parts)]
    if parts and rng.random() < 0.12:
        ordered = [*ordered[1:], ordered[0]]
    return recased(joined(rng, ordered), rng)


def _credit(name: Name | None, rng: np.random.Generator) -> Node:
    """Return the picture's author, for example "by Ilva Dorn"."""
    artist = name_phrase(name) if name else drawn_name("person", rng)
    style = rng.random()
    if style < 0.6:
        return prep_part("by", artist)
    if style < 0.85:
        return artist
    return tagged(
        pick(rng, ("©", "@", "Artist :", "Photo :", "Photographer :", "Author :", "Credit :")), artist
    )


def _location(name: Name | None, rng: np.random.Generator) -> Node:
    place = name_phrase(name) if name else drawn_name("place", rng)
    if rng.random() < 0.45:
        return prep_part(pick(rng, ("in", "at", "near", "from", "of", "over", "around")), place)
    if rng.random() < 0.2:
        place.add("punct", Node(","))
        place.add("appos", drawn_name("place", rng))
    return place


def _print(rng: np.random.Generator) -> Node:
    """Return the form of a picture for sale, for example "Framed canvas print 30x40"."""
    form = phrase(word(rng, "medium"), adjectives=[word(rng, "feature")] if rng.random() < 0.3 else [])
    if rng.random() < 0.25:
        form.add("dep", phrase(size(rng)))
    return form


def _number(rng: np.random.Generator) -> Node:
    series = pick(
        rng, ("No.", "Vol.", "#", "Part", "Plate", "Chapter", "Series", "Image", "Issue", "Lesson", "Page")
    )
    return phrase(f"#{whole(rng, 2, 9000)}" if series == "#" else f"{series} {whole(rng, 1, 60)}")


def _thing(scene: Scene, rng: np.random.Generator, *, look: float = 0.62) -> tuple[list[str], str]:
    """Return adjectives and a noun for the main thing; with probability `look` its colour is among the adjectives."""
    thing, adjectives = scene.things[0], []
    if rng.random() < 0.22:
        adjectives.append(word(rng, "mood"))
    if rng.random() < look:
        adjectives.append(colour_word(thing.colour, rng))
    elif thing.action and rng.random() < 0.25:
        adjectives.append(thing.action)
    if thing.pattern != "plain" and rng.random() < 0.2:
        adjectives.append(pattern_word(thing, rng))
    return adjectives, noun_word(thing, rng)


def _picture(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return, for example, "Lonely red boat watercolour" or "Canvas print of a boat on the lake"."""
    adjectives, thing = _thing(scene, rng)
    style = rng.random()
    if style < 0.35:
        return phrase(thing, word(rng, "medium"), adjectives=adjectives)
    if style < 0.5:
        return phrase(word(rng, "theme"), thing, adjectives=adjectives)
    shown = phrase(thing, adjectives=adjectives)
    if style > 0.9:
        shown = indefinite(thing, adjectives)
    if rng.random() < 0.2:
        shown.after.append(place_part(scene, rng))
    if len(scene.things) > 1 and rng.random() < 0.3:
        shown.add("cc", Node(pick(rng, ("and", "and", "with", "&"))))
        shown.add("conj", phrase(noun_word(scene.things[1], rng)))
    if style < 0.68:
        return shown
    if style < 0.78:
        return after(phrase(word(rng, "medium")), pick(rng, ("of", "of", "with", "featuring")), shown)
    return after(shown, pick(rng, ("with", "in", "at", "and", "for", "from", "under")), _idea(rng))


def _idea(rng: np.random.Generator) -> Node:
    style = rng.random()
    if style < 0.4:
        return phrase(word(rng, "theme"))
    if style < 0.7:
        return phrase(
            word(rng, pick(rng, ("theme", "creature", "plant", "food", "material"))), word(rng, "theme")
        )
    return phrase(word(rng, pick(rng, ("creature", "plant", "item"))), adjectives=[word(rng, "mood")])


def _story(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a title as of a book, a film or an album, for example "The Last Boat of Merano"."""
    adjectives, thing = _thing(scene, rng, look=0.5)
    style = rng.random()
    if style < 0.3:
        start = phrase(pick(rng, ("the", "a", "my", "our")), thing, adjectives=adjectives)
        whose = name_phrase(name) if rng.random() < 0.4 else _idea(rng)
        return after(start, pick(rng, ("of", "of", "and", "without", "from", "in", "beyond", "for")), whose)
    if style < 0.5:
        hero = phrase(
            "the", word(rng, pick(rng, ("creature", "role", "theme"))), adjectives=[word(rng, "mood")]
        )
        return after(
            hero,
            pick(rng, ("and", "with", "in", "behind", "under")),
            phrase("the", thing, adjectives=adjectives),
        )
    if style < 0.65:
        return after(
            _idea(rng),
            pick(rng, ("of", "and", "on", "under", "beneath")),
            phrase("the", thing, adjectives=adjectives),
        )
    owner = name_phrase(name)
    owner.add("case", Node("'s"))
    head = phrase(thing, adjectives=adjectives)
    if style < 0.8:
        head.before.insert(0, owner)
        owner.label = "poss"
        owner.speech = "PROPN"
        return head
    kind = phrase(
        pick(
            rng,
            ("book", "novel", "album", "film", "song", "DVD", "paperback", "audiobook", "EP", "soundtrack"),
        )
    )
    return joined(rng, [after(phrase("the", thing, adjectives=adjectives), "of", _idea(rng)), kind])


def _tutorial(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a title of a recipe, of craft, or of a how-to, for example "How to crochet a red boat"."""
    adjectives, thing = _thing(scene, rng)
    style = rng.random()
    if style < 0.25:
        root = Node(word(rng, "making"), speech="VERB")
        root.lead("advmod", Node("how"))
        root.lead("aux", Node("to"))
        root.add("dobj", indefinite(thing, adjectives))
        if rng.random() < 0.4:
            root.after.append(
                prep_part(pick(rng, ("with", "from", "in", "on")), phrase(word(rng, "material")))
            )
        return root
    if style < 0.5:
        return phrase(thing, word(rng, "food"), word(rng, "cooking"), adjectives=adjectives)
    if style < 0.8:
        return phrase(word(rng, "material"), thing, word(rng, "craft"), adjectives=adjectives)
    return after(
        phrase(thing, word(rng, "craft"), adjectives=adjectives), "for", phrase(word(rng, "audience"))
    )


def _list(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a title of a blog page, for example "12 best red boat ideas for beginners"."""
    adjectives, thing = _thing(scene, rng)
    head = phrase(thing, word(rng, "blog"), adjectives=adjectives)
    if rng.random() < 0.45:
        head.before.insert(0, Node(whole(rng, 3, 101), "nummod"))
    if rng.random() < 0.4:
        head.after.append(prep_part(pick(rng, ("for", "in", "about", "from")), phrase(word(rng, "audience"))))
    elif rng.random() < 0.3:
        head.after.append(prep_part("from", name_phrase(name)))
    return head


def _other(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a title without anything visible."""
    return phrase(word(rng, "theme"), word(rng, "medium"), adjectives=[word(rng, "mood")])


_CORES: dict[str, Core] = {
    "picture": _picture, "story": _story, "tutorial": _tutorial, "list": _list, "other": _other,
}  # fmt: skip
_CORE = Weighted({"picture": 60, "story": 17, "tutorial": 11, "list": 9, "other": 3})
