"""Captions that describe little or nothing: abstract ones, news, product titles, and captions that repeat slogans."""

import re
from collections.abc import Sequence

import numpy as np

from benchmark.demo.descriptions import article
from benchmark.demo.sampling import pick
from benchmark.demo.vocabulary import IN_KINDS, KINDS, PATTERN_WORDS, PLACES
from benchmark.demo.world import Scene, Thing

THEMES: dict[str, tuple[str, ...]] = {
    "dog": ("loyalty", "friendship"), "cat": ("independence", "curiosity"), "car": ("freedom", "ambition"),
    "house": ("belonging", "family life"), "boat": ("adventure", "new beginnings"), "bird": ("freedom", "hope"),
    "flower": ("beauty", "gratitude"), "star": ("hope", "wonder"), "book": ("knowledge", "imagination"),
    "clock": ("patience", "good timing"), "balloon": ("celebration", "innocence"), "heart": ("love", "devotion"),
    "tree": ("growth", "wisdom"), "plane": ("ambition", "escape"), "rocket": ("progress", "ambition"),
}  # fmt: skip
ANY_THEME = (
    "happiness", "joy", "simplicity", "life", "patience", "comfort", "change", "courage", "peace", "memory",
    "nostalgia", "inspiration", "success", "kindness", "balance", "trust", "creativity", "wellbeing",
)  # fmt: skip
MOODS: dict[str, tuple[str, ...]] = {
    "beach": ("the summer", "the holidays"), "snow": ("the winter", "the festive season"),
    "night": ("the late hours", "a quiet evening"), "kitchen": ("family time", "the weekend"),
    "room": ("a lazy Sunday", "the weekend"), "field": ("the spring", "an afternoon off"),
    "street": ("a busy week", "the working day"), "lake": ("the summer", "a day off"),
    "forest": ("a moment of calm", "the autumn"), "desert": ("a long journey", "the unknown"),
    "mountains": ("a long journey", "the holidays"), "underwater": ("another world", "the unknown"),
}  # fmt: skip
ABSTRACT = (
    "a lovely way to spend {mood}", "the true meaning of {theme}", "{theme} is all you need",
    "why {theme} matters more than ever", "this is what {theme} feels like", "I could stay like this forever",
    "a gentle reminder of {theme} and {other}", "my favourite memory of {mood}", "learning to live with {theme}",
    "it does not get any better than this", "{theme}, {other} and everything that makes life worth living",
    "some thoughts on {theme}", "the secret to {theme}", "nothing beats {mood}", "my idea of {theme}",
    "you never forget your first {noun}", "not the kind of {noun} I would have chosen",
    "such a wonderful {noun} and so much {theme}", "everything you ever wanted from {a_noun}",
    "how {a_noun} taught me about {theme}", "the best {noun} of the year in my opinion",
    "always the right choice for {mood}", "a perfect example of {theme} in everyday life",
    "{theme} begins where fear ends", "ten ways to find {theme} this year", "what a great idea for {mood}",
    "we all need a little more {theme}", "an unforgettable experience for the whole family",
    "the history of {theme} and why it still matters", "a beautiful dream of {theme}",
    "I wonder what {mood} will bring", "one of those days that change everything", "in search of {theme}",
)  # fmt: skip
ASIDES = (
    "whatever happens next", "says the expert", "in my humble opinion", "no matter how hard it gets", "once again",
    "as my mother used to say", "and that is enough", "for better or worse", "you deserve it",
    "who would have thought", "if you ask me", "against all odds", "so they say", "now more than ever",
    "and I mean it", "believe it or not",
)  # fmt: skip
ACTORS = (
    "The council", "The city council", "The ministry", "The company", "A spokesman", "Local officials", "Police",
    "Researchers", "The government", "The organisers", "Union leaders", "The board", "Campaigners", "The mayor",
    "Analysts", "The school board", "Residents", "The charity", "Investors", "The club",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Sunday")
SAID = ("announced", "confirmed", "said", "warned", "revealed", "insisted", "admitted", "explained")
HAPPENS = (
    "that {prices} will rise again next year", "that talks about {topic} had broken down",
    "that {number} million would be invested in {topic}", "that the {noun} project would be delayed until {month}",
    "that the budget for {topic} would be cut", "that demand for {nouns} had fallen by {number} per cent",
    "that the annual {noun} festival would move to {month}", "that new rules on {topic} would take effect in {month}",
    "that the vote on {topic} had been postponed", "that an inquiry into {topic} was under way",
)  # fmt: skip
ENDINGS = (
    "after weeks of debate", "despite growing criticism", "following a report published last month",
    "as the deadline approaches", "in a statement released to reporters", "while opponents vowed to fight on",
    "", "", "after losing the election", "as negotiations continued", "beside {a_noun} {place}",
    "as {a_noun} was moved {place}", "in front of {a_noun}",
)  # fmt: skip
NEWS = (
    "{number} years on, campaigners celebrate the return of the {noun} as {topic} gets new funding",
    "Visitors rushed to the annual {noun} exhibition before organisers closed the doors in {month}",
    "{noun} makers reject claims about {topic} and pledge to win back customers",
    "Fans celebrate as the team beats its rivals to reach the final for the {ordinal} time",
    "How rising {prices} pushed one family to give up the {noun} business",
)
TOPICS = (
    "public transport", "housing", "education", "tourism", "the local economy", "safety standards", "climate policy",
    "health care", "trade", "working hours", "digital services", "water supply", "taxation", "community funding",
)  # fmt: skip
MONTHS = ("January", "March", "April", "June", "September", "October", "December")
PRICES = ("energy prices", "rents", "fuel costs", "interest rates", "ticket prices")
ORDINALS = ("second", "third", "fourth", "first")
BRANDS = tuple(a + b for a in ("Vel", "Nor", "Zan", "Lum", "Kor", "Bri", "Tal", "Mir", "Ex", "Sol")
               for b in ("ora", "tek", "ivo", "ano", "exa", "ium"))  # fmt: skip
OFFERS = (
    "Buy Online", "Free Shipping", "Best Price", "Sale 20% Off", "Wholesale", "Fast Delivery", "In Stock",
    "New Arrival", "Official Store", "Cheap", "Lowest Price Guaranteed", "Gift Idea", "Clearance",
)  # fmt: skip
PRODUCTS = (
    "{brand} {look} {noun} {length}cm - {offer} | {offer2} SKU {code}", "{offer}: {look} {noun} ({brand}) {code}",
    "{look} {noun} {brand} - {offer} {offer2}", "{noun}-{look}-{code}.jpg", "{brand} {noun} Set of {few} {offer}",
    "Best {nouns} 2019 - Top 10 {nouns} Reviews | {brand}", "{look} {noun} {length}x{length2}cm {code} {offer}",
    "{nouns} for sale, {look} {noun}, {brand} {noun} shop, {offer}", "Shop {brand} {nouns} | {offer}",
    "{brand} {code} {noun} Replacement Part - {offer}",
)  # fmt: skip
SLOGANS = (
    "keep calm and {verb} on", "happy {feast}", "{season} sale", "best {who} ever", "live love {verb}",
    "never stop {verbing}", "{theme} is power", "{adjective} {theme}", "welcome to {season}", "born to {verb}",
    "the {adjective} {hero}", "{hero} of {theme}", "{feast} party tonight", "thank you {who}", "{theme} and {theme2}",
    "{brand}", "{brand} {season} {code}", "{adjective} {hero} returns", "how to {verb}", "you are {adjective}",
    "{season} festival {code}", "grand opening {season}", "do more {verbing}", "the art of {verbing}",
    "{brand} cafe", "dream big", "home sweet home", "no parking", "open daily", "made with {theme}",
)  # fmt: skip
SLOTS: dict[str, tuple[str, ...]] = {
    "verb": ("travel", "dance", "dream", "bake", "laugh", "read", "explore", "play", "sing", "code"),
    "verbing": ("dreaming", "learning", "dancing", "exploring", "laughing", "reading", "growing", "cooking"),
    "feast": ("birthday", "easter", "new year", "christmas", "halloween", "anniversary", "holidays"),
    "season": ("summer", "winter", "spring", "autumn", "weekend", "black friday"),
    "who": ("dad", "mom", "teacher", "grandma", "friend", "team", "boss", "sister"),
    "adjective": ("last", "hidden", "silent", "golden", "wild", "brave", "lost", "secret", "awesome", "eternal"),
    "hero": ("kingdom", "detective", "empire", "guardian", "stranger", "legend", "promise", "warrior", "garden"),
    "theme": ANY_THEME, "theme2": ANY_THEME, "brand": BRANDS, "month": MONTHS, "prices": PRICES, "topic": TOPICS,
    "ordinal": ORDINALS, "offer": OFFERS, "offer2": OFFERS,
}  # fmt: skip
ECHOES = (
    "{text}", "{text}", "{text}", "{text} poster", "{text} | {brand}", "{text} greeting card", "{text} - art print",
    "{text} quote", "{text} t-shirt", "{text} by {brand}", "{text} book cover", "{text} - vector logo design",
    "{text} stock photo", "free download {text}", "{text} wall art for your home",
)  # fmt: skip
STRAY_TEXT = (
    "SALE",
    "NEW",
    "-50%",
    "STOCK",
    "LIVE",
    "NEWS",
    "SAMPLE",
    "PREVIEW",
    "BREAKING",
    "PROMO",
    "TV 24",
    "DEMO",
)
_SLOT = re.compile(r"{(\w+)}")


def _fill(template: str, rng: np.random.Generator, known: dict[str, str]) -> str:
    """Fill the slots of a template from `known`, from `SLOTS`, or with a random number."""

    def word(match: re.Match[str]) -> str:
        name = match[1]
        if name in known:
            return known[name]
        if name in SLOTS:
            return pick(rng, SLOTS[name])
        low, high = {"code": (100, 9999), "few": (2, 13)}.get(name, (3, 90))
        return str(low + int(rng.random() * (high - low)))

    return _SLOT.sub(word, template)


def _thing_words(thing: Thing) -> dict[str, str]:
    singular, plural = KINDS[thing.kind].nouns[0]
    return {"noun": singular, "nouns": plural, "a_noun": article(singular)}


def abstract_caption(scene: Scene, rng: np.random.Generator) -> str:
    """Return a caption about ideas and feelings associated with the scene; it does not describe the image."""
    thing = scene.things[0]
    themes = THEMES.get(thing.kind, ANY_THEME) if rng.random() < 0.6 else ANY_THEME
    moods = MOODS.get(scene.place, ("the weekend",))
    known = {"theme": pick(rng, themes), "other": pick(rng, ANY_THEME), "mood": pick(rng, moods)}
    text = _fill(pick(rng, ABSTRACT), rng, known | _thing_words(thing))
    if rng.random() < 0.35:
        text = f"{text}, {pick(rng, ASIDES)}"
    return text[0].upper() + text[1:] if rng.random() < 0.6 else text


def news_caption(scene: Scene, rng: np.random.Generator) -> str:
    """Return a long news sentence with actions that the image does not show."""
    words = _thing_words(scene.things[0]) | {"place": pick(rng, PLACES["street"].phrases)}
    if scene.place in PLACES:
        words["place"] = pick(rng, PLACES[scene.place].phrases)
    if rng.random() < 0.25:
        text = _fill(pick(rng, NEWS), rng, words)
        return text[0].upper() + text[1:]
    what = _fill(pick(rng, HAPPENS), rng, words)
    when = f" on {pick(rng, DAYS)}" if rng.random() < 0.7 else ""
    said, ending = pick(rng, SAID), _fill(pick(rng, ENDINGS), rng, words)
    return " ".join(filter(None, (f"{pick(rng, ACTORS)} {said}{when}", what, ending)))


def product_caption(scene: Scene, rng: np.random.Generator) -> str:
    """Return a product title as in web shops or SEO text; with probability 0.2 its colour is random."""
    thing = scene.things[0]
    colour = thing.colour if rng.random() < 0.8 else pick(rng, ("red", "blue", "black", "white", "pink"))
    look = " ".join(filter(None, (colour, pick(rng, PATTERN_WORDS[thing.pattern]))))
    words = _thing_words(thing) | {"look": look}
    text = _fill(pick(rng, PRODUCTS), rng, words)
    if text.endswith(".jpg"):
        return text.replace(" ", "-")
    style = rng.random()
    return text.upper() if style < 0.15 else text.title() if style < 0.7 else text


def slogan(rng: np.random.Generator) -> list[str]:
    """Return the words of a slogan, title or name, as printed in images."""
    if rng.random() < 0.12:
        noun = pick(rng, list(IN_KINDS))
        return [pick(rng, SLOTS["adjective"]), noun]
    return _fill(pick(rng, SLOGANS), rng, {}).split()


def echo(words: Sequence[str], shown: Sequence[str], rng: np.random.Generator) -> str:
    """Return a parrot caption, which repeats some or all of the words in the image.

    Args:
        words: the words as generated.
        shown: the same words in the case in which the image shows them.
        rng: random generator.
    """
    if len(words) > 2 and rng.random() < 0.25:
        start = int(rng.random() * (len(words) - 1))
        words, shown = words[start:], shown[start:]
    style = rng.random()
    text = " ".join(shown if style < 0.55 else words)
    if style >= 0.75:
        text = text.title()
    return _fill(pick(rng, ECHOES), rng, {"text": text})
