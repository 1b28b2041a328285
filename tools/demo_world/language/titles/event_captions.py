"""Captions of events, with dates and venues: festivals, matches, weddings; they rarely describe the image."""

from collections.abc import Callable

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.titles.names import Name, name_phrase, sample_name
from tools.demo_world.language.titles.segments import (
    after,
    chosen,
    date,
    drawn_name,
    joined,
    noun_word,
    ordinal,
    phrase,
    prep_part,
    recased,
    shuffled,
    tagged,
    whole,
    word,
    year,
)
from tools.demo_world.language.trees import Node
from tools.demo_world.sampling import Weighted

Core = Callable[[Scene, Name, np.random.Generator], Node]


def event_caption(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a caption about the event `name`."""
    kind = _CORE(rng)
    core = _CORES[kind](scene, name, rng)
    rest = 0.55 if kind in ("match", "sentence") else 1.0
    parts = chosen(
        rng,
        (
            (0.46 * (kind != "sentence") * rest, lambda: date(rng)),
            (0.26 * rest, lambda: _where(rng)),
            (0.08 * rest, lambda: phrase(word(rng, "mood"), word(rng, "event"))),
            (0.1 * rest, lambda: phrase(word(rng, "sport"), word(rng, "stage"))),
            (0.1, lambda: _credit(rng)),
            (0.08, lambda: phrase(word(rng, "counted"), whole(rng, 2, 300))),
            (0.05, lambda: phrase(word(rng, "medium"))),
            (
                0.14 * rest,
                lambda: prep_part(pick(rng, ("with", "by", "for", "feat.")), drawn_name("person", rng)),
            ),
            (0.06, lambda: phrase(noun_word(scene.things[0], rng), word(rng, "event"))),
            (0.04 * rest, lambda: phrase(word(rng, "theme"), word(rng, "medium"))),
        ),
    )
    ordered = shuffled(rng, [core, *shuffled(rng, parts)], 0.75)
    return recased(joined(rng, ordered), rng, "" if rng.random() < 0.75 else "as is")


def _where(rng: np.random.Generator) -> Node:
    """Return a venue, a town, or both."""
    style = rng.random()
    if style < 0.3:
        town = drawn_name("place", rng)
        return prep_part("in", town) if rng.random() < 0.6 else town
    venue = drawn_name("place", rng)
    words = word(rng, "venue").split()
    venue.label = "compound"
    place = phrase(*words)
    if style < 0.8:
        place.before.insert(0, venue)
        venue.speech = "PROPN"
    else:
        place.before.insert(0, Node("the", "det"))
        after(place, "in", venue)
    return prep_part("at", place) if rng.random() < 0.6 else place


def _credit(rng: np.random.Generator) -> Node:
    artist = drawn_name("person", rng)
    style = rng.random()
    if style < 0.4:
        return prep_part("by", artist)
    artist = tagged(pick(rng, ("Photo :", "©", "Credit :", "Picture :", "Photography :", "pic :")), artist)
    if style > 0.7:
        artist.add("punct", Node("/"))
        artist.add("dep", drawn_name("brand", rng))
    return artist


def _event(rng: np.random.Generator, name: Name) -> Node:
    """Return the event, perhaps with its year or number, for example "Merano Kite Festival 2014"."""
    event, style = name_phrase(name), rng.random()
    if style < 0.3:
        event.add("nummod", Node(year(rng)))
    elif style < 0.4:
        event.before.insert(0, Node(year(rng), "nummod"))
    elif style < 0.48:
        event.before.insert(0, Node(ordinal(int(whole(rng, 2, 90))), "amod"))
    elif style < 0.6:
        event.before.insert(0, Node("the", "det"))
    return event


def _plain(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    event, style = _event(rng, name), rng.random()
    if style < 0.45:
        return event
    what = phrase(word(rng, pick(rng, ("event", "stage", "theme", "role"))))
    if rng.random() < 0.3:
        what = phrase(word(rng, "mood"), word(rng, "event"))
    if style < 0.8:
        return after(what, pick(rng, ("at", "from", "of", "during", "before", "after")), event)
    event.add("dep", what)
    return event


def _match(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a result, for example "Karsk beats Merano 3-1 in the Velt Cup final"."""
    category = "person" if rng.random() < 0.45 else "place"
    first, second = drawn_name(category, rng), drawn_name(category, rng)
    if rng.random() < 0.35:
        first.add("cc", Node(pick(rng, ("vs", "v", "vs.", "-", "versus")), speech="ADP"))
        first.add("conj", second)
        if rng.random() < 0.5:
            first.add("nummod", Node(_score(rng)))
        first.after.append(prep_part(pick(rng, ("at", "in")), _event(rng, name)))
        return first
    verb, *rest = word(rng, "result").split()
    root = Node(verb, speech="VERB")
    root.lead("nsubj", first)
    if rest:
        root.add("prt", Node(rest[0]))
    root.add("dobj", second)
    if rng.random() < 0.6:
        root.add("npadvmod", Node(_score(rng), speech="NUM"))
    stage = (
        phrase(word(rng, "sport"), word(rng, "stage")) if rng.random() < 0.5 else phrase(word(rng, "stage"))
    )
    if rng.random() < 0.6:
        stage.before.insert(0, Node("the", "det"))
        stage = after(stage, pick(rng, ("of", "at")), _event(rng, name)) if rng.random() < 0.6 else stage
        return after(root, "in", stage)
    return after(root, "at", _event(rng, name))


def _score(rng: np.random.Generator) -> str:
    style = rng.random()
    if style < 0.5:
        return f"{int(rng.random() * 6)}-{int(rng.random() * 5)}"
    if style < 0.7:
        return f"{whole(rng, 40, 120)}-{whole(rng, 40, 120)}"
    return (
        f"6-{int(rng.random() * 5)} 7-{5 + int(rng.random() * 2)}".split(" ")[0]
        if style < 0.85
        else whole(rng, 2, 30)
    )


def _wedding(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a private occasion, for example "Ilva & Bren wedding at Karsk Abbey"."""
    first = Node(sample_name("person", rng).words[0], speech="PROPN")
    first.add("cc", Node(pick(rng, ("&", "and", "+")), speech="CCONJ"))
    first.add("conj", Node(sample_name("person", rng).words[0], speech="PROPN"))
    if rng.random() < 0.5:
        first.add("case", Node("'s"))
    first.add(
        "dep",
        phrase(word(rng, "mood"), word(rng, "celebration"))
        if rng.random() < 0.4
        else phrase(word(rng, "celebration")),
    )
    if rng.random() < 0.5:
        first.add("dep", _where(rng))
    return first


def _sentence(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a clause, for example "Visitors gather at the Velt Expo in Karsk on 12 May 2014"."""
    verb, *rest = word(rng, "gathering").split()
    root = Node(verb, speech="VERB")
    if rng.random() < 0.7:
        subject = phrase(*([word(rng, "sport")] if rng.random() < 0.2 else []), word(rng, "crowd"))
    else:
        subject = phrase(f"{word(rng, 'role')}s")
    if rng.random() < 0.25:
        subject.before.insert(0, Node(whole(rng, 12, 90_000), "nummod"))
    root.lead("nsubj", after(subject, "from", drawn_name("place", rng)) if rng.random() < 0.3 else subject)
    if rest:
        root.add("prt", Node(rest[0], speech="ADP"))
    after(root, pick(rng, ("at", "during", "for", "before", "after")), _event(rng, name))
    if rng.random() < 0.45:
        after(root, "in", drawn_name("place", rng))
    if rng.random() < 0.4:
        after(root, "on", date(rng, day=True))
    return root


_CORES: dict[str, Core] = {"plain": _plain, "match": _match, "wedding": _wedding, "sentence": _sentence}
_CORE = Weighted({"plain": 64, "match": 15, "wedding": 10, "sentence": 11})
