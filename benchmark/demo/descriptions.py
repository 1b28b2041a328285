"""Captions that describe a scene truthfully but not completely, from many templates and synonyms."""

import numpy as np

from benchmark.demo.sampling import pick
from benchmark.demo.vocabulary import COLOUR_WORDS, KINDS, PATTERN_WORDS, PLACES, SIZE_WORDS
from benchmark.demo.world import Scene, Thing

NUMBERS = {2: ("two", "two", "a pair of"), 3: ("three",), 4: ("four", "four", "a group of")}
# For each action, alternative verbs: third person singular, plural, and participle.
VERBS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "rolling": (("rolls", "roll", "rolling"), ("rolls along", "roll along", "rolling along")),
    "bouncing": (("bounces", "bounce", "bouncing"), ("bounces up", "bounce up", "bouncing up and down")),
    "falling": (("falls", "fall", "falling"), ("falls down", "fall down", "falling through the air")),
    "running": (("runs", "run", "running"), ("runs fast", "run fast", "running fast")),
    "jumping": (("jumps", "jump", "jumping"), ("leaps", "leap", "leaping into the air")),
    "sitting": (("sits", "sit", "sitting"), ("is seated", "are seated", "sitting down")),
    "sleeping": (("sleeps", "sleep", "sleeping"), ("lies asleep", "lie asleep", "lying asleep")),
    "driving": (("drives", "drive", "driving"), ("drives along", "drive along", "driving along")),
    "swaying": (
        ("sways", "sway", "swaying"),
        ("bends in the wind", "bend in the wind", "swaying in the wind"),
    ),
    "sailing": (("sails", "sail", "sailing"), ("sails by", "sail by", "sailing along")),
    "flying": (("flies", "fly", "flying"), ("flies by", "fly by", "flying through the air")),
    "swimming": (("swims", "swim", "swimming"), ("swims along", "swim along", "swimming along")),
    "steaming": (("steams", "steam", "steaming"), ("steams", "steam", "steaming hot")),
    "leaning": (("leans", "lean", "leaning"), ("tips over", "tip over", "tipping to one side")),
    "shining": (("shines", "shine", "shining"), ("glows", "glow", "glowing brightly")),
    "floating": (("floats", "float", "floating"), ("floats up", "float up", "floating in the air")),
    "spinning": (("spins", "spin", "spinning"), ("turns around", "turn around", "spinning around")),
    "crawling": (("crawls", "crawl", "crawling"), ("crawls along", "crawl along", "crawling slowly")),
    "burning": (("burns", "burn", "burning"), ("is lit", "are lit", "burning brightly")),
}
RELATIONS: dict[str, tuple[str, ...]] = {
    "left of": ("to the left of", "on the left of", "next to", "beside"),
    "right of": ("to the right of", "on the right of", "next to", "beside"),
    "above": ("above", "above", "over", "high above"),
    "below": ("below", "under", "beneath"),
    "behind": ("behind",),
    "in front of": ("in front of",),
    "on": ("on", "on top of"),
    "in": ("in", "inside"),
}
INVERSE = {
    "left of": "right of", "right of": "left of", "above": "below", "below": "above",
    "behind": "in front of", "in front of": "behind",
}  # fmt: skip
OPENERS = ("a photo of", "a picture of", "an image of", "a view of")
NO_COLOUR = frozenset({"wooden", "rainbow"})  # patterns that hide the thing's own colour


def article(phrase: str) -> str:
    """Put "a" or "an" before `phrase`."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def noun_phrase(thing: Thing, rng: np.random.Generator, *, detail: float = 1.0) -> str:
    """Return for example "two small striped red balls"; `detail` scales the probability of each adjective."""
    words = []
    if rng.random() < 0.5 * detail and thing.size != "medium":
        words.append(pick(rng, SIZE_WORDS[thing.size]))
    look = []
    if rng.random() < 0.9 * detail and thing.pattern not in NO_COLOUR:
        look.append(pick(rng, COLOUR_WORDS.get(thing.colour, (thing.colour,))))
    if rng.random() < 0.8 * detail and thing.pattern != "plain":
        look.append(pick(rng, PATTERN_WORDS[thing.pattern]))
    if rng.random() < 0.3:
        look.reverse()
    nouns = KINDS[thing.kind].nouns
    singular, plural = nouns[0] if rng.random() < 0.7 else pick(rng, nouns)
    words += [*look, singular if thing.count == 1 else plural]
    phrase = " ".join(words)
    return article(phrase) if thing.count == 1 else f"{pick(rng, NUMBERS[thing.count])} {phrase}"


def _participle(thing: Thing, rng: np.random.Generator) -> str:
    return pick(rng, VERBS[thing.action])[2] if thing.action and rng.random() < 0.85 else ""


def _finite_verb(thing: Thing, rng: np.random.Generator) -> str:
    singular, plural, _ = pick(rng, VERBS[thing.action])
    return singular if thing.count == 1 else plural


def _be(thing: Thing) -> str:
    return "is" if thing.count == 1 else "are"


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)


def _describe_two(scene: Scene, rng: np.random.Generator, tail: str) -> str:
    """Return a phrase about the first two things and the relation between them."""
    first, second, relation = scene.things[0], scene.things[1], scene.relation
    if relation in INVERSE and rng.random() < 0.3:
        first, second, relation = second, first, INVERSE[relation]
    a, b = noun_phrase(first, rng), noun_phrase(second, rng, detail=0.85)
    where = pick(rng, RELATIONS[relation])
    doing = _participle(first, rng)
    options = [
        _join(a, doing, where, b, tail),
        _join(a, doing, where, b, tail),
        _join("there", _be(first), a, doing, where, b, tail),
        _join(a, _be(first), doing, where, b, tail),
    ]
    if first.action:
        options += [_join(a, _finite_verb(first, rng), where, b, tail)] * 2
    if relation in ("on", "in"):
        options += [_join(b, f"with {a}", "on top" if relation == "on" else "inside", tail)]
    elif relation not in ("behind", "in front of"):
        options += [_join(a, doing, "and", b, _participle(second, rng), tail)] * 2
    return pick(rng, options)


def _describe_one(thing: Thing, rng: np.random.Generator, tail: str) -> str:
    """Return a phrase about one thing and its action."""
    a = noun_phrase(thing, rng)
    doing = _participle(thing, rng)
    options = [
        _join(a, doing, tail),
        _join(a, doing, tail),
        _join(pick(rng, OPENERS), a, doing, tail),
        _join("there", _be(thing), a, doing, tail),
        _join("a close up of", a) if not tail or tail.startswith("and") else _join(a, doing, "seen", tail),
    ]
    if thing.action:
        options += [
            _join(a, _finite_verb(thing, rng), tail),
            _join(a, _be(thing), doing or thing.action, tail),
        ]
    return pick(rng, options)


def _vary_style(text: str, rng: np.random.Generator) -> str:
    """Vary case and punctuation: usually a capital first letter, often a full stop."""
    style = rng.random()
    if style < 0.25:
        return text
    return f"{text[0].upper()}{text[1:]}{'.' if style < 0.65 else ''}"


def describe(scene: Scene, rng: np.random.Generator) -> str:
    """Return a caption of `scene` that is true, but often leaves out the place or the second and third thing."""
    place = pick(rng, PLACES[scene.place].phrases) if scene.place in PLACES and rng.random() < 0.65 else ""
    front = bool(place) and rng.random() < 0.08
    tail = "" if front else place
    if len(scene.things) == 3 and rng.random() < 0.6:
        third = noun_phrase(scene.things[2], rng, detail=0.7)
        tail = _join(pick(rng, ("and", "and", "with")), third, tail)
    if len(scene.things) > 1 and rng.random() < 0.85:
        text = _describe_two(scene, rng, tail)
    else:
        text = _describe_one(scene.things[0], rng, tail)
    return _vary_style(f"{place} {text}" if front else text, rng)


def distinct_descriptions(scene: Scene, rng: np.random.Generator, number: int) -> list[str]:
    """Return `number` different captions of `scene`."""
    captions: dict[str, None] = {}
    while len(captions) < number:
        captions[describe(scene, rng)] = None
    return list(captions)
