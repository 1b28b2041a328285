"""Captions of people: their roles, organisations and occasions; they rarely describe the image."""

from collections.abc import Callable

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.titles.names import Name, name_phrase
from tools.demo_world.language.titles.segments import (
    after,
    article,
    chosen,
    date,
    drawn_name,
    indefinite,
    joined,
    noun_word,
    phrase,
    prep_part,
    quoted,
    recased,
    shuffled,
    whole,
    word,
    year,
)
from tools.demo_world.language.trees import Node
from tools.demo_world.sampling import Weighted

Core = Callable[[Scene, Name, np.random.Generator], Node]


def person_caption(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a caption about the person `name`."""
    kind = _CORE(rng)
    core = _CORES[kind](scene, name, rng)
    rest = {"clause": 0.4, "company": 0.5}.get(kind, 1.0)
    parts = chosen(
        rng,
        (
            (0.2 * rest, lambda: _office(rng)),
            (0.27 * rest, lambda: drawn_name("place", rng)),
            (0.16 * (kind != "clause"), lambda: date(rng)),
            (0.1 * rest, lambda: _organisation(rng)),
            (0.1 * rest, lambda: phrase(word(rng, "pose"), word(rng, "medium"))),
            (0.07, lambda: phrase(word(rng, "field"), word(rng, "thing"))),
            (0.11, lambda: prep_part("by", drawn_name("person", rng))),
            (0.07 * rest, lambda: phrase(word(rng, "thing"), whole(rng, 2, 400))),
            (0.04, lambda: phrase(word(rng, "stock"))),
            (0.05 * rest, lambda: phrase(*_age(rng))),
            (0.12 * rest, lambda: drawn_name("event", rng)),
        ),
    )
    ordered = shuffled(rng, [core, *shuffled(rng, parts)], 0.85)
    return recased(joined(rng, ordered), rng, "" if rng.random() < 0.5 else "as is")


def _age(rng: np.random.Generator) -> tuple[str, str]:
    if rng.random() < 0.5:
        return pick(rng, ("age", "aged")), whole(rng, 18, 99)
    return pick(rng, ("born", "class of", "since", "circa")), year(rng)


def _organisation(rng: np.random.Generator) -> Node:
    """Return an organisation, for example "Velt & Co" or "the Karsk Institute of Physics"."""
    style = rng.random()
    if style < 0.4:
        return drawn_name("brand", rng)
    place = drawn_name("place", rng)
    if style < 0.5:
        return after(
            phrase(pick(rng, ("University", "College", "Institute", "Museum", "Bank", "School"))), "of", place
        )
    organisation = phrase(word(rng, "organisation"))
    if style < 0.75:
        organisation.lead("compound", Node(word(rng, "field").split()[0]))
    place.label, place.speech = "compound", "PROPN"
    organisation.before.insert(0, place)
    return organisation


def _office(rng: np.random.Generator) -> Node:
    """Return an office, for example "deputy head of marketing at Velt"."""
    office = phrase(word(rng, "role"))
    if rng.random() < 0.3:
        office.before.insert(0, Node(word(rng, "rank"), "amod"))
    if rng.random() < 0.35:
        after(office, pick(rng, ("of", "of", "for", "in")), phrase(word(rng, "field")))
    elif rng.random() < 0.25:
        office.lead("compound", Node(word(rng, "field").split()[0]))
    if rng.random() < 0.4:
        after(office, pick(rng, ("at", "at", "of", "from", "for")), _organisation(rng))
    return office


def _titled(person: Node, rng: np.random.Generator, share: float = 0.5) -> Node:
    """Put a role or a title before a person's name, with probability `share`."""
    if rng.random() < share:
        style = rng.random()
        title = (
            word(rng, "role").split()
            if style < 0.65
            else [pick(rng, ("Dr.", "Mr", "Mrs", "Prof.", "Sir", "Ms", "Rev."))]
        )
        if rng.random() < 0.25 and style < 0.65:
            title.insert(0, word(rng, pick(rng, ("field", "sport", "rank"))).split()[0])
        person.before[:0] = [Node(text, "compound") for text in title]
    return person


def _plain(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    person, style = _titled(name_phrase(name), rng, 0.35), rng.random()
    if style < 0.45:
        return person
    if style < 0.6:
        return after(
            phrase(word(rng, pick(rng, ("pose", "medium", "thing")))), pick(rng, ("of", "with", "by")), person
        )
    if style < 0.8:
        after(person, pick(rng, ("in", "at", "during", "on", "for")), _occasion(rng))
        return person
    person.add("acl" if rng.random() < 0.7 else "dep", Node(word(rng, "pose"), speech="VERB"))
    return person


def _occasion(rng: np.random.Generator) -> Node:
    style = rng.random()
    if style < 0.35:
        return drawn_name("event", rng)
    what = word(rng, "thing")
    occasion = phrase(pick(rng, ("the", "the", article(what), "his", "her")), what)
    if style < 0.45:
        occasion.add("appos", quoted(phrase(word(rng, "theme"), adjectives=[word(rng, "mood")])))
    elif style < 0.6:
        after(occasion, pick(rng, ("of", "for", "in", "at")), _organisation(rng))
    elif style < 0.8:
        occasion.before.append(Node(word(rng, "theme"), "compound"))
    return occasion


def _office_holder(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    person = name_phrase(name)
    mark = pick(rng, (",", ",", ",", "-", "|", ":", "–"))
    person.add("punct", Node(mark))
    person.add("appos", _office(rng))
    return person


def _clause(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a clause, for example "Actor Bren Tolva attends the premiere of Silence in Karsk"."""
    verb, *rest = word(rng, "deed").split()
    root = Node(verb, speech="VERB")
    person = _titled(name_phrase(name), rng, 0.6)
    if rng.random() < 0.12:
        person.add("punct", Node(","))
        person.add("appos", Node(whole(rng, 17, 90), speech="NUM"))
        person.add("punct", Node(","))
    root.lead("nsubj", person)
    if rest and rest[-1] in ("at", "in", "on", "during"):
        for particle in rest[:-1]:
            root.add("prt", Node(particle, speech="ADP"))
        after(root, rest[-1], _occasion(rng))
    elif rng.random() < 0.06:
        root.add("dobj", indefinite(noun_word(scene.things[0], rng)))
    else:
        root.add("dobj", _occasion(rng))
    if rng.random() < 0.3:
        after(root, "with", _company_of(rng))
    if rng.random() < 0.35:
        after(root, "in", drawn_name("place", rng))
    if rng.random() < 0.3:
        after(root, "on", date(rng, day=True))
    return root


def _company_of(rng: np.random.Generator) -> Node:
    if rng.random() < 0.5:
        return _titled(drawn_name("person", rng), rng, 0.4)
    relative = phrase(pick(rng, ("his", "her", "their")), word(rng, "relation"))
    if rng.random() < 0.5:
        relative.add("appos", drawn_name("person", rng))
    return relative


def _company(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return several people, for example "Ilva Dorn, Bren Tolva and fans at the Velt Expo"."""
    person = _titled(name_phrase(name), rng, 0.3)
    if rng.random() < 0.4:
        if rng.random() < 0.3:
            person.add("acl", Node(word(rng, "pose"), speech="VERB"))
        after(person, "with", _company_of(rng))
    else:
        if rng.random() < 0.6:
            person.add("punct", Node(","))
            person.add("conj", drawn_name("person", rng))
        person.add("cc", Node(pick(rng, ("and", "and", "&", "with")), speech="CCONJ"))
        person.add("conj", _titled(drawn_name("person", rng), rng, 0.3))
    if rng.random() < 0.6:
        after(person, pick(rng, ("at", "during", "in", "after")), _occasion(rng))
    return person


def _profile(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a heading, for example "Interview: Ilva Dorn (2014)" or "Meet our new nurse Ilva Dorn"."""
    person, style = name_phrase(name), rng.random()
    if style < 0.35:
        person.add("case", Node("'s"))
        owner = phrase(
            word(rng, pick(rng, ("mood", "theme"))),
            word(rng, pick(rng, ("thing", "item", "theme", "medium"))),
        )
        person.label, person.speech = "poss", "PROPN"
        owner.before.insert(0, person)
        return owner
    if style < 0.6:
        root = Node(word(rng, "greeting"), speech="VERB")
        root.add("dobj", _titled(person, rng, 0.5))
        return root
    if style < 0.8:
        return after(
            person,
            "as",
            after(
                phrase("the", word(rng, "role")), "in", phrase("The", word(rng, "mood"), word(rng, "theme"))
            ),
        )
    heading = phrase(
        pick(rng, ("Interview", "Profile", "Obituary", "Author", "Staff", "Cast", "Speaker", "Team", "Q&A"))
    )
    heading.add("punct", Node(":"))
    heading.add("dep", _titled(person, rng, 0.3))
    if rng.random() < 0.3:
        heading.add("nummod", Node(year(rng)))
    return heading


_CORES: dict[str, Core] = {
    "plain": _plain, "office": _office_holder, "clause": _clause, "company": _company, "profile": _profile,
}  # fmt: skip
_CORE = Weighted({"plain": 38, "office": 22, "clause": 14, "company": 14, "profile": 12})
