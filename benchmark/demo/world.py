"""Scenes of the demo world: things with looks, actions and positions. Images and captions are made from them."""

from dataclasses import dataclass, replace

import numpy as np

from benchmark.demo.sampling import Weighted, pick, zipf
from benchmark.demo.vocabulary import (
    COLOURS,
    IN_KINDS,
    IN_PATTERNS,
    KINDS,
    NEAR_KINDS,
    NEAR_PATTERNS,
    OUT_KINDS,
    OUT_PATTERNS,
    PLACES,
    Domain,
)

RADII = {
    "small": 0.11,
    "medium": 0.16,
    "large": 0.22,
}  # half the height of a thing, as a share of the image height
AIRBORNE = frozenset({"flying", "falling", "floating", "jumping", "bouncing"})
GROUP_SCALES = (1.0, 0.8, 0.72, 0.68)  # factor on the radius of each member of a group of 1, 2, 3, 4
# Positions of the members of a group of 1, 2, 3, 4 around its centre, in radii of one member.
FORMATIONS = (
    ((0.0, 0.0),),
    ((-1.1, 0.0), (1.1, 0.0)),
    ((0.0, -0.9), (-1.1, 0.6), (1.1, 0.6)),
    ((-1.1, -0.9), (1.1, -0.9), (-1.1, 0.9), (1.1, 0.9)),
)


@dataclass(frozen=True)
class Thing:
    """One thing, or a group of `count` equal ones.

    `x` and `y` are the centre and `radius` is half the height of one member, all as shares of the image size.
    """

    kind: str
    colour: str
    size: str
    pattern: str
    count: int
    action: str  # empty if it does nothing
    x: float = 0.5
    y: float = 0.5
    radius: float = 0.16
    facing: int = 1  # 1 faces right, -1 left

    @property
    def airborne(self) -> bool:
        """Whether the thing is in the air, not on the ground."""
        return self.action in AIRBORNE or KINDS[self.kind].home == "air"


@dataclass(frozen=True)
class Scene:
    """Up to three things at a place; `relation` holds between the first two and is empty for a single thing."""

    things: tuple[Thing, ...]
    relation: str
    place: str
    domain: Domain


@dataclass(frozen=True)
class Look:
    """What the main thing of a scene must be, and where; an empty field leaves it to chance."""

    kind: str = ""
    colour: str = ""
    place: str = ""


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
    """Return `number` - 1 things whose kinds differ from the main thing's and from each other."""
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
    return replace(_thing(rng, _KIND(rng)), pattern=pick(rng, patterns))


def _relations(first: Thing, second: Thing) -> list[str]:
    """Return the relations possible between two things; repeated ones are more likely to be picked."""
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


def _sized(thing: Thing, radius: float) -> Thing:
    """Set the radius and the size word that fits it: a thing that had to shrink is no longer called large."""
    return replace(
        thing, radius=radius, size="small" if radius < 0.12 else "medium" if radius < 0.19 else "large"
    )


def _fit(thing: Thing, room: float, scale: float = 1.0) -> Thing:
    """Return `thing` with a radius that follows from size and count, at most `room` (half the available width)."""
    radius = RADII[thing.size] * GROUP_SCALES[thing.count - 1] * scale
    return _sized(thing, min(radius, room / (1.05 if thing.count == 1 else 2.15)))


def _stand(rng: np.random.Generator, thing: Thing, x: float, place: str) -> Thing:
    """Return `thing` placed near `x`: on the ground, in the air if it is airborne, or floating under water."""
    x += 0.05 * (rng.random() - 0.5)
    if thing.airborne:
        flies_high = thing.action == "flying" or KINDS[thing.kind].home == "air"
        y = (0.26 if flies_high else 0.4) + 0.1 * rng.random()
        return replace(thing, x=x, y=max(y, thing.radius + 0.03))
    if place == "underwater" and KINDS[thing.kind].home == "water":
        return replace(thing, x=x, y=0.35 + 0.3 * rng.random())
    foot = max(PLACES[place].ground + 0.1, 0.8) + 0.1 * rng.random()
    return replace(thing, x=x, y=foot - thing.radius)


def _arrange_pair(
    rng: np.random.Generator, first: Thing, second: Thing, relation: str, x: float, room: float, place: str
) -> list[Thing]:
    """Return the two things placed around `x` so that `relation` holds between them."""
    if relation in ("above", "below"):
        first = _stand(rng, _fit(first, room, 0.85), x, place)
        second = _stand(rng, _fit(second, room, 0.85), x, place)
        if relation == "above":  # a thing that floats under water could be too high
            return [first, replace(second, y=max(second.y, first.y + 0.2))]
        return [replace(first, y=max(first.y, second.y + 0.2)), second]
    if relation in ("on", "in"):
        action = "" if second.action == "leaning" else second.action
        size = "large" if second.size == "small" else second.size
        base = replace(second, size=size, count=1, action=action)
        base = _stand(rng, _fit(base, room), x, place)
        radius = min(base.radius * 0.6, RADII[first.size])
        traits = KINDS[base.kind]
        edge = (traits.top if relation == "on" else traits.rim) or 0.0
        y = base.y + edge * base.radius - (1 if relation == "on" else 0.55) * radius
        return [_sized(replace(first, x=base.x, y=y), radius), base]
    if relation in ("behind", "in front of"):
        rear, fore = (first, second) if relation == "behind" else (second, first)
        rear = _stand(rng, _fit(replace(rear, size="large"), room), x - 0.06 * fore.facing, place)
        fore = _stand(rng, _fit(replace(fore, size="small"), room * 0.8), x, place)
        rear = replace(rear, y=min(rear.y, 0.8 - rear.radius))
        fore = replace(
            fore, x=rear.x + 0.6 * rear.radius * fore.facing, y=rear.y + rear.radius + 0.08 - fore.radius
        )
        return [rear, fore] if relation == "behind" else [fore, rear]
    side = room / 2 if relation == "right of" else -room / 2
    return [
        _stand(rng, _fit(first, room / 2), x + side, place),
        _stand(rng, _fit(second, room / 2), x - side, place),
    ]


def sample_scene(rng: np.random.Generator, domain: Domain = "in", look: Look = ANY_LOOK) -> Scene:
    """Return a random scene whose first thing is of `domain` by its kind or its pattern; the others are in-domain.

    `look` overrides the kind and colour of the first thing and the place.
    """
    main = _thing(rng, look.kind) if look.kind else _main_thing(rng, domain)
    main = replace(main, colour=look.colour or main.colour)
    number = int(_NUMBER_OF_THINGS(rng))
    place = look.place or _place(rng, main.kind)
    if number == 1:
        return Scene((_stand(rng, _fit(main, 0.45, 1.3), 0.5, place),), "", place, domain)
    others = _other_things(rng, number, main)
    relation = pick(rng, _relations(main, others[0]))
    if number == 2:
        pair = _arrange_pair(rng, main, others[0], relation, 0.5, 0.46, place)
        return Scene(tuple(pair), relation, place, domain)
    side = 1 if rng.random() < 0.5 else -1  # the third thing stands at one side of the pair
    pair = _arrange_pair(rng, main, others[0], relation, 0.5 - 0.17 * side, 0.31, place)
    third = _stand(rng, _fit(others[1], 0.16, 0.9), 0.5 + 0.33 * side, place)
    return Scene((*pair, third), relation, place, domain)


def single_thing(rng: np.random.Generator, kind: str) -> Scene:
    """Return a random scene with a single thing of `kind`, large enough to recognise."""
    thing = replace(_thing(rng, kind), count=1)
    place = _place(rng, kind)
    return Scene((_stand(rng, _fit(thing, 0.45, 1.3), 0.5, place),), "", place, "in")


def on_display(scene: Scene) -> Scene:
    """Return the first thing of `scene` as in a product photo: alone, large, centred, on a plain background."""
    thing = replace(scene.things[0], x=0.5, y=0.5)
    thing = _sized(thing, 0.3 if thing.count == 1 else 0.17)
    return Scene((thing,), "", "studio", scene.domain)
