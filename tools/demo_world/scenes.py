"""Random scenes of the demo world."""

from dataclasses import dataclass, field, replace

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.vocabulary import COLOURS, IN_KINDS, KINDS, NEAR_KINDS, OUT_KINDS, PLACES, Domain
from pairsift.demo.world import STUDIO, Scene, Thing, arrange
from tools.demo_world.sampling import Weighted, zipf
from tools.demo_world.words import IN_PATTERNS, NEAR_PATTERNS, OUT_PATTERNS


@dataclass(frozen=True)
class Look:
    """The required kind and colour of a scene's main thing, and its place; an empty field is left to chance."""

    kind: str = ""
    colour: str = ""
    place: str = ""


@dataclass(frozen=True)
class DrawnScene(Scene):
    """A random scene, and how to arrange it again.

    Args:
        sketch: its things before they were arranged.
        arranged_from: state of the random generator when it began to arrange them.
    """

    sketch: tuple[Thing, ...] = field(repr=False)
    arranged_from: int = field(repr=False)


ANY_LOOK = Look()
_KIND = Weighted(zipf(list(IN_KINDS)))
_BASE = Weighted({kind: 1.0 for kind, t in IN_KINDS.items() if t.top is not None or t.rim is not None})
_COLOUR = Weighted(zipf(list(COLOURS)))
_SIZE = Weighted({"small": 1, "medium": 2, "large": 1})
_PATTERN = Weighted(dict(zip(IN_PATTERNS, (9.0, 2, 2, 1, 1), strict=True)))
_COUNT = Weighted({"1": 15, "2": 3, "3": 2, "4": 1})
_NUMBER_OF_THINGS = Weighted({"1": 5, "2": 9, "3": 3})
_PLACE = Weighted(zipf(list(PLACES)))
_PLACES_BY_HOME = {
    home: Weighted({p: 1 / (rank + 4) for rank, p in enumerate(PLACES) if home in PLACES[p].homes})
    for home in ("land", "air", "water", "indoor")
}


def _place(rng: np.random.Generator, kind: str) -> str:
    """Return a random place, in 85% of cases one where `kind` is at home."""
    return _PLACES_BY_HOME[KINDS[kind].home](rng) if rng.random() < 0.85 else _PLACE(rng)


def _thing(rng: np.random.Generator, kind: str) -> Thing:
    traits = KINDS[kind]
    colour = pick(rng, traits.colours) if rng.random() < 0.5 else _COLOUR(rng)
    action = pick(rng, traits.actions) if traits.actions and rng.random() < 0.55 else ""
    count = int(_COUNT(rng))
    size = _SIZE(rng)
    if action == "leaning":  # a tilt is visible only on a single thing that is not small
        count, size = 1, "medium" if size == "small" else size
    return Thing(kind, colour, size, _PATTERN(rng), count, action, facing=1 if rng.random() < 0.5 else -1)


def _other_things(rng: np.random.Generator, number: int, main: Thing) -> list[Thing]:
    """Return `number` - 1 things of kinds that differ from the main thing's and from each other."""
    kinds = [main.kind]
    if KINDS[main.kind].portable and rng.random() < 0.4:
        kinds.append(_BASE(rng) if main.kind not in _BASE.names else "basket")
    while len(kinds) < number:
        kind = _KIND(rng)
        if kind not in kinds:
            kinds.append(kind)
    return [_thing(rng, kind) for kind in kinds[1:]]


def _main_thing(rng: np.random.Generator, domain: Domain) -> Thing:
    if domain == "in":
        return _thing(rng, _KIND(rng))
    kinds, patterns = (NEAR_KINDS, NEAR_PATTERNS) if domain == "near" else (OUT_KINDS, OUT_PATTERNS)
    if rng.random() < 0.65:
        return _thing(rng, pick(rng, list(kinds)))
    return _thing(rng, _KIND(rng))._replace(pattern=pick(rng, patterns))


def _relations(first: Thing, second: Thing) -> list[str]:
    """Return the possible relations between two things; repetitions make a relation more likely to be picked."""
    options = ["left of", "right of", "left of", "right of"]
    if first.airborne and not second.airborne:
        options += ["above"] * 3
    if second.airborne and not first.airborne:
        options += ["below"] * 2
    if not (first.airborne or second.airborne):
        options += ["behind", "in front of"]
        still = first.action in ("", "sitting", "sleeping", "steaming", "shining", "burning")
        if first.count == 1 and KINDS[first.kind].portable and still:
            options += ["on"] * 9 if KINDS[second.kind].top is not None else []
            lies_low = first.action == "sleeping"  # a sleeping animal would be hidden behind the rim
            options += ["in"] * 9 if KINDS[second.kind].rim is not None and not lies_low else []
    return options


def state_of(rng: np.random.Generator) -> int:
    """Return the state of a PCG64 generator."""
    return int(rng.bit_generator.state["state"]["state"])


def _arranged(rng: np.random.Generator, things: tuple[Thing, ...], relation: str, place: str) -> DrawnScene:
    state = state_of(rng)
    scene = arrange(things, relation, place, rng)
    return DrawnScene(scene.things, relation, place, things, state)


def sample_scene(rng: np.random.Generator, domain: Domain = "in", look: Look = ANY_LOOK) -> DrawnScene:
    """Return a random scene. Its first thing has a kind or pattern of `domain`; the others are in-domain.

    `look` overrides the kind and colour of the first thing and the place.
    """
    main = _thing(rng, look.kind) if look.kind else _main_thing(rng, domain)
    main = main._replace(colour=look.colour or main.colour)
    number = int(_NUMBER_OF_THINGS(rng))
    place = look.place or _place(rng, main.kind)
    others = _other_things(rng, number, main) if number > 1 else []
    relation = pick(rng, _relations(main, others[0])) if others else ""
    return _arranged(rng, (main, *others), relation, place)


def single_thing(rng: np.random.Generator, kind: str) -> DrawnScene:
    """Return a random scene with a single thing of `kind`, large enough to recognise."""
    thing = _thing(rng, kind)._replace(count=1)
    return _arranged(rng, (thing,), "", _place(rng, kind))


def on_display(scene: DrawnScene) -> DrawnScene:
    """Return the first thing of `scene` as in a product photo: isolated, large, centred, on a plain background."""
    things = scene.sketch[:1]
    return replace(
        scene,
        things=arrange(things, "", STUDIO, np.random.default_rng(0)).things,
        relation="",
        place=STUDIO,
        sketch=things,
    )
