"""The vocabulary of the demo world: kinds of things and places with the words for them, and colours."""

from dataclasses import dataclass
from typing import Literal

Domain = Literal["in", "near", "out"]
Home = Literal["land", "air", "water", "indoor"]


@dataclass(frozen=True)
class Kind:
    """A kind of thing."""

    nouns: tuple[tuple[str, str], ...]  # singular and plural, the most common first
    home: Home = "land"  # its habitat
    colours: tuple[str, ...] = ()  # its usual colours
    actions: tuple[str, ...] = ()
    # Height of the surface that can carry portable things, from -1 (top of its box) to 1 (bottom).
    top: float | None = None
    rim: float | None = None  # height of the opening that can hold portable things, likewise
    portable: bool = False


def _kind(nouns: str, home: Home, colours: str = "", actions: str = "", **traits: float | bool) -> Kind:
    """Parse a row of the tables below. In "dog puppy:puppies" the plural follows a colon; by default it adds -s."""
    pairs = tuple(
        (singular.replace("_", " "), plural.replace("_", " ") or f"{singular}s".replace("_", " "))
        for singular, _, plural in (noun.partition(":") for noun in nouns.split())
    )
    return Kind(pairs, home, tuple(colours.split()), tuple(actions.split()), **traits)  # type: ignore[arg-type]


# In-domain kinds, most frequent first: the sampler weights them by rank (Zipf).
IN_KINDS: dict[str, Kind] = {
    "ball": _kind("ball sphere", "land", "red blue yellow", "rolling bouncing falling", portable=True),
    "dog": _kind(
        "dog puppy:puppies hound",
        "land",
        "brown black white",
        "running jumping sitting sleeping",
        portable=True,
    ),
    "car": _kind("car automobile", "land", "red blue black white", "driving", top=-0.62),
    "tree": _kind("tree", "land", "green", "swaying"),
    "cat": _kind(
        "cat kitten", "land", "black orange grey white", "running jumping sitting sleeping", portable=True
    ),
    "house": _kind("house cottage", "land", "white red yellow brown", "", top=-0.92),
    "boat": _kind("boat sailboat ship", "water", "white red blue", "sailing"),
    "bird": _kind("bird", "land", "blue black red yellow", "flying sitting", portable=True),
    "flower": _kind("flower blossom", "land", "red pink yellow purple", "swaying"),
    "fish": _kind("fish:fish", "water", "orange blue grey yellow", "swimming jumping"),
    "cup": _kind("cup mug", "indoor", "white blue red", "steaming falling", rim=-0.7, portable=True),
    "cube": _kind("cube block", "land", "red green blue", "falling leaning", top=-0.8),
    "kite": _kind("kite", "air", "red yellow purple", "flying falling"),
    "umbrella": _kind("umbrella parasol", "land", "red black yellow", "leaning falling"),
    "star": _kind("star", "air", "yellow white", "shining falling"),
    "lamp": _kind("lamp", "indoor", "yellow white green", "shining"),
    "chair": _kind("chair seat", "indoor", "brown white red", "leaning", top=0.05),
    "balloon": _kind("balloon", "air", "red blue pink", "floating"),
    "mushroom": _kind("mushroom toadstool", "land", "red brown", ""),
    "bus": _kind("bus:buses coach:coaches", "land", "yellow red", "driving"),
    "apple": _kind("apple", "indoor", "red green", "rolling falling", portable=True),
    "plane": _kind("plane airplane jet", "air", "white grey", "flying"),
    "table": _kind("table desk", "indoor", "brown white", "", top=-0.3),
    "hat": _kind("hat", "indoor", "black red brown", "falling spinning", portable=True),
    "butterfly": _kind("butterfly:butterflies", "air", "orange blue purple", "flying"),
    "snowman": _kind("snowman:snowmen", "land", "white", "leaning"),
    "book": _kind("book", "indoor", "red blue brown", "falling leaning", portable=True),
    "rabbit": _kind("rabbit bunny:bunnies", "land", "white grey brown", "jumping running", portable=True),
    "bicycle": _kind("bicycle bike", "land", "red blue black", "rolling leaning"),
    "clock": _kind("clock", "indoor", "white brown", "falling"),
    "basket": _kind("basket", "indoor", "brown yellow", "", rim=0.05),
    "duck": _kind("duck", "water", "yellow white", "swimming flying", portable=True),
    "rocket": _kind("rocket", "air", "white red", "flying falling"),
    "cone": _kind("cone", "land", "orange", "falling leaning"),
    "cactus": _kind("cactus:cacti", "land", "green", ""),
    "bottle": _kind("bottle", "indoor", "green blue", "falling leaning", portable=True),
    "turtle": _kind("turtle tortoise", "water", "green brown", "swimming crawling"),
    "heart": _kind("heart", "air", "red pink", "floating falling"),
    "drum": _kind("drum", "indoor", "red blue", "rolling", top=-0.55),
}
# Near-domain kinds, rare in the pool.
NEAR_KINDS: dict[str, Kind] = {
    "snail": _kind("snail", "land", "brown pink", "crawling", portable=True),
    "guitar": _kind("guitar", "indoor", "brown red", "leaning falling"),
    "crown": _kind("crown", "indoor", "yellow", "shining falling", portable=True),
    "candle": _kind("candle", "indoor", "white red", "burning", portable=True),
    "windmill": _kind("windmill", "land", "white red", "spinning"),
    "crab": _kind("crab", "water", "red orange", "crawling", portable=True),
    "key": _kind("key", "indoor", "yellow grey", "falling"),
}
# Out-of-domain kinds, absent from the pool and from all training data of the scale models.
OUT_KINDS: dict[str, Kind] = {
    "robot": _kind("robot", "land", "grey blue", "running jumping"),
    "whale": _kind("whale", "water", "blue grey", "swimming jumping"),
    "castle": _kind("castle", "land", "grey", ""),
    "helicopter": _kind("helicopter", "air", "red green", "flying"),
    "teapot": _kind("teapot", "indoor", "white blue", "steaming falling", portable=True),
    "octopus": _kind("octopus:octopuses", "water", "purple red", "swimming"),
}
KINDS: dict[str, Kind] = IN_KINDS | NEAR_KINDS | OUT_KINDS

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 40, 40),
    "blue": (38, 90, 214),
    "green": (46, 160, 67),
    "yellow": (245, 208, 32),
    "white": (244, 244, 240),
    "black": (34, 34, 38),
    "orange": (244, 132, 28),
    "purple": (134, 58, 176),
    "pink": (244, 138, 180),
    "brown": (132, 82, 42),
    "grey": (140, 144, 150),
}


@dataclass(frozen=True)
class Place:
    """A place: the phrases for it, the homes that it offers, and the height of its ground, 0 (top) to 1 (bottom)."""

    phrases: tuple[str, ...]
    homes: frozenset[Home]
    ground: float


def _place(phrases: str, homes: str, ground: float = 0.62) -> Place:
    return Place(tuple(phrases.split("|")), frozenset(homes.split()), ground)  # type: ignore[arg-type]


PLACES: dict[str, Place] = {
    "street": _place("on the street|on a city street|on the road|in the street", "land air", 0.66),
    "field": _place("in a field|in a green field|on the grass|in a grassy field", "land air", 0.58),
    "beach": _place("on the beach|on a sandy beach|at the beach|by the sea", "land air water", 0.6),
    "lake": _place("on the water|on a lake|on the lake|out on the water", "water air", 0.5),
    "room": _place("in a room|in the living room|inside a room|on the carpet", "indoor land", 0.68),
    "kitchen": _place("in the kitchen|in a kitchen|on the kitchen floor", "indoor", 0.7),
    "forest": _place("in the forest|in the woods|in a forest", "land air", 0.66),
    "snow": _place("in the snow|on the snow|on a snowy hill", "land air", 0.6),
    "night": _place("at night|under the night sky|under a starry sky", "land air", 0.76),
    "desert": _place("in the desert|on a sand dune|in a sandy desert", "land air", 0.6),
    "mountains": _place("in the mountains|in front of mountains|with mountains behind", "land air", 0.66),
    "underwater": _place("under water|under the sea|at the bottom of the sea", "water", 0.84),
}
