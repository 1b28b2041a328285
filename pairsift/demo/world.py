"""Scenes of the demo world: things with looks and actions, and their arrangement in an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairsift.demo.vocabulary import KINDS, PLACES

RADII = {"small": 0.11, "medium": 0.16, "large": 0.22}  # half the height of a thing, in image heights
STUDIO = "studio"  # the place of a product photo
AIRBORNE = frozenset({"flying", "falling", "floating", "jumping", "bouncing"})
GROUP_SCALES = (1.0, 0.8, 0.72, 0.68)  # factor on the radius of each member of a group of 1, 2, 3, 4
# Positions of the members of a group of 1, 2, 3, 4 around its centre, in radii of one member.
FORMATIONS = (
    ((0.0, 0.0),),
    ((-1.1, 0.0), (1.1, 0.0)),
    ((0.0, -0.9), (-1.1, 0.6), (1.1, 0.6)),
    ((-1.1, -0.9), (1.1, -0.9), (-1.1, 0.9), (1.1, 0.9)),
)


class Thing(NamedTuple):
    """One thing, or a group of `count` equal things.

    `x` and `y` are the centre and `radius` is half the height of one member, all in image heights.
    """

    kind: str
    colour: str
    size: str
    pattern: str
    count: int  # type: ignore[assignment]  # as a method of tuples is called
    action: str  # empty if it does nothing
    facing: int = 1  # 1 faces right, -1 left
    x: float = 0.5
    y: float = 0.5
    radius: float = 0.16

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


def _sized(thing: Thing, radius: float) -> Thing:
    """Set the radius and the matching size word: a thing that had to shrink is not called large any more."""
    return thing._replace(
        radius=radius, size="small" if radius < 0.12 else "medium" if radius < 0.19 else "large"
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
        return thing._replace(x=x, y=max(y, thing.radius + 0.03))
    if place == "underwater" and KINDS[thing.kind].home == "water":
        return thing._replace(x=x, y=0.35 + 0.3 * rng.random())
    foot = max(PLACES[place].ground + 0.1, 0.8) + 0.1 * rng.random()
    return thing._replace(x=x, y=foot - thing.radius)


def _arrange_pair(
    rng: np.random.Generator, first: Thing, second: Thing, relation: str, x: float, room: float, place: str
) -> list[Thing]:
    """Return the two things placed around `x` so that `relation` holds between them."""
    if relation in ("above", "below"):
        first = _stand(rng, _fit(first, room, 0.85), x, place)
        second = _stand(rng, _fit(second, room, 0.85), x, place)
        if relation == "above":  # a thing that floats under water could be too high
            return [first, second._replace(y=max(second.y, first.y + 0.2))]
        return [first._replace(y=max(first.y, second.y + 0.2)), second]
    if relation in ("on", "in"):
        action = "" if second.action == "leaning" else second.action
        size = "large" if second.size == "small" else second.size
        base = second._replace(size=size, count=1, action=action)
        base = _stand(rng, _fit(base, room), x, place)
        radius = min(base.radius * 0.6, RADII[first.size])
        traits = KINDS[base.kind]
        edge = (traits.top if relation == "on" else traits.rim) or 0.0
        y = base.y + edge * base.radius - (1 if relation == "on" else 0.55) * radius
        return [_sized(first._replace(x=base.x, y=y), radius), base]
    if relation in ("behind", "in front of"):
        rear, fore = (first, second) if relation == "behind" else (second, first)
        rear = _stand(rng, _fit(rear._replace(size="large"), room), x - 0.06 * fore.facing, place)
        fore = _stand(rng, _fit(fore._replace(size="small"), room * 0.8), x, place)
        rear = rear._replace(y=min(rear.y, 0.8 - rear.radius))
        fore = fore._replace(
            x=rear.x + 0.6 * rear.radius * fore.facing, y=rear.y + rear.radius + 0.08 - fore.radius
        )
        return [rear, fore] if relation == "behind" else [fore, rear]
    side = room / 2 if relation == "right of" else -room / 2
    return [
        _stand(rng, _fit(first, room / 2), x + side, place),
        _stand(rng, _fit(second, room / 2), x - side, place),
    ]


def arrange(things: Sequence[Thing], relation: str, place: str, rng: np.random.Generator) -> Scene:
    """Return the scene with up to three things arranged; in the studio only the first, large and centred."""
    first, *others = things
    if place == STUDIO:
        shown = _sized(first._replace(x=0.5, y=0.5), 0.3 if first.count == 1 else 0.17)
        return Scene((shown,), "", STUDIO)
    if not others:
        return Scene((_stand(rng, _fit(first, 0.45, 1.3), 0.5, place),), "", place)
    if len(others) == 1:
        return Scene(tuple(_arrange_pair(rng, first, others[0], relation, 0.5, 0.46, place)), relation, place)
    side = 1 if rng.random() < 0.5 else -1  # the third thing is placed at one side of the pair
    pair = _arrange_pair(rng, first, others[0], relation, 0.5 - 0.17 * side, 0.31, place)
    third = _stand(rng, _fit(others[1], 0.16, 0.9), 0.5 + 0.33 * side, place)
    return Scene((*pair, third), relation, place)
