"""Parts of web captions: phrases from word lists, numbers and dates, and ways to put parts side by side."""

from collections.abc import Callable, Sequence

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.vocabulary import KINDS, PLACES
from pairsift.demo.world import Scene, Thing
from tools.demo_world.language.titles.names import Name, name_phrase, sample_name, zipf_index
from tools.demo_world.language.titles.word_lists import read_word_lists
from tools.demo_world.language.trees import GLUED, POSSESSIVES, Node, in_order, phrase_list, prep
from tools.demo_world.sampling import Weighted
from tools.demo_world.words import COLOUR_WORDS, PATTERN_WORDS

LISTS = read_word_lists("web_words.txt")
DETERMINERS = frozenset({"the", "a", "an", "my", "our", "your", "his", "her", "this", "every", "no"})
# A mark "(" puts the part after it in brackets; an empty mark leaves a space.
_MARK = Weighted(
    {",": 24, "-": 24, "": 22, "|": 9, ":": 5, "–": 5, "(": 5, "/": 3, "—": 1, "...": 1, ".": 2, "~": 1}
)
_CASE = Weighted({"title": 46, "as is": 28, "lower": 12, "sentence": 7, "upper": 5, "": 2})
_PLURALS = frozenset(plural for kind in KINDS.values() for _, plural in kind.nouns)
_PLACE_PHRASES = {
    place: [
        words
        for words in (phrase.split() for phrase in traits.phrases)
        if len(words) < 5 and words[0] in ("in", "on", "at", "by", "under") and "of" not in words
    ]
    for place, traits in PLACES.items()
}


def word(rng: np.random.Generator, name: str) -> str:
    """Return an entry of a list of `web_words.txt`, with Zipf-like frequencies; it may be of several words."""
    entries = LISTS[name]
    return entries[zipf_index(rng, len(entries), 15)]


def phrase(*parts: str, adjectives: Sequence[str] = ()) -> Node:
    """Return a noun phrase of all words in `parts`; the last word is its head."""
    words = " ".join(parts).split()
    described = [Node(word, "amod") for word in " ".join(adjectives).split()]
    head = Node(words[-1], speech="NUM" if any(map(str.isdigit, words[-1])) else "NOUN")
    if words[0] in DETERMINERS and len(words) > 1:
        head.lead("poss" if words[0] in POSSESSIVES else "det", Node(words.pop(0)))
    head.before += described
    for part in words[:-1]:
        if not any(map(str.isalnum, part)):
            head.lead("punct", Node(part))
        else:
            head.lead("nummod" if any(map(str.isdigit, part)) else "compound", Node(part))
    return head


def tagged(tag: str, part: Node) -> Node:
    """Put a tag before `part` and return `part`, for example "Photo: Ilva Dorn"."""
    labels = ((word, "compound" if word.isalpha() else "punct") for word in tag.split())
    part.before[:0] = [Node(word, label) for word, label in labels]
    return part


def drawn_name(category: str, rng: np.random.Generator) -> Node:
    """Return a random name of `category` as a noun phrase."""
    return name_phrase(sample_name(category, rng))


def site(name: Name, rng: np.random.Generator) -> str:
    """Return the address of a site of `name`, for example "velthome.com"."""
    return f"{''.join(filter(str.isalnum, name.text.lower()))}.{word(rng, 'domain')}"


def after(head: Node, preposition: str, part: Node) -> Node:
    """Add a prepositional phrase to `head` and return `head`."""
    head.add("prep", prep(preposition, part))
    return head


def prep_part(preposition: str, part: Node) -> Node:
    """Return an independent prepositional phrase, for example "by Ilva Dorn"."""
    node = prep(preposition, part)
    node.speech = "ADP"
    return node


def article(text: str) -> str:
    """Return "a" or "an", as `text` needs it."""
    return "an" if text[0].lower() in "aeiou" else "a"


def indefinite(name: str, adjectives: Sequence[str] = ()) -> Node:
    """Return a noun phrase with "a" or "an", without it if `name` is the plural of a kind's noun."""
    if name in _PLURALS:
        return phrase(name, adjectives=adjectives)
    return phrase(article([*adjectives, name][0]), name, adjectives=adjectives)


def bracketed(part: Node) -> Node:
    """Return `part` in brackets."""
    in_order(part)[0][0].glued = True
    part.before.insert(0, Node("(", "punct"))
    part.add("punct", Node(")"))
    return part


def quoted(part: Node) -> Node:
    """Return `part` in quotation marks."""
    mark = '"'
    in_order(part)[0][0].glued = True
    part.before.insert(0, Node(mark, "punct"))
    part.after.append(Node(mark, "punct", glued=True))
    return part


def joined(rng: np.random.Generator, parts: Sequence[Node]) -> Node:
    """Return the parts side by side, between them one mark that most repeat, or brackets around a part."""
    usual, marks, placed = _MARK(rng), [], [parts[0]]
    parts[0].label = "ROOT"
    for part in parts[1:]:
        mark = usual if rng.random() < 0.65 else _MARK(rng)
        marks.append("" if mark == "(" else mark)
        placed.append(bracketed(part) if mark == "(" else part)
    return phrase_list(placed, marks)


def shuffled(rng: np.random.Generator, parts: Sequence[Node], fixed: float = 0.5) -> list[Node]:
    """Return the parts in random order, or unchanged with probability `fixed`."""
    if rng.random() < fixed:
        return list(parts)
    return [parts[index] for index in rng.permutation(len(parts))]


def chosen(rng: np.random.Generator, options: Sequence[tuple[float, Callable[[], Node]]]) -> list[Node]:
    """Return the parts of a random choice of options; the first of each pair is its probability."""
    return [make() for probability, make in options if rng.random() < probability]


def recased(root: Node, rng: np.random.Generator, case: str = "") -> Node:
    """Set the words of a caption in one case as titles have it, by default a random one, and return the caption."""
    case = case or _CASE(rng)
    if case in ("as is", ""):
        return root
    for number, (node, _) in enumerate(in_order(root)):
        text = node.word
        if text in GLUED:
            continue
        if case == "upper":
            node.word = text.upper()
        elif case == "lower":
            node.word = text.lower()
        elif (case == "title" or number == 0) and text.islower() and text[0].isalpha():
            node.word = text[0].upper() + text[1:]
    return root


def colour_word(colour: str, rng: np.random.Generator) -> str:
    """Return a word for `colour`."""
    return pick(rng, COLOUR_WORDS.get(colour, (colour,)))


def noun_word(thing: Thing, rng: np.random.Generator) -> str:
    """Return a noun for `thing`, in the plural if it is a group."""
    nouns = KINDS[thing.kind].nouns
    pair = nouns[0] if rng.random() < 0.7 else pick(rng, nouns)
    return pair[1 if thing.count > 1 or rng.random() < 0.1 else 0]


def pattern_word(thing: Thing, rng: np.random.Generator) -> str:
    """Return a word for the pattern of `thing`, empty for a plain one."""
    return pick(rng, PATTERN_WORDS[thing.pattern])


def place_part(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a phrase for the scene's place, for example "on a sandy beach"."""
    words = pick(rng, _PLACE_PHRASES[scene.place])
    return prep_part(words[0], phrase(*words[1:]))


def whole(rng: np.random.Generator, low: int, high: int) -> str:
    """Return a whole number from `low` to `high`; each size is equally likely, as in Benford's law."""
    return str(int(low * ((high + 1) / low) ** float(rng.random())))


def year(rng: np.random.Generator) -> str:
    """Return a year, mostly a recent one."""
    return str(2021 - int(60 * float(rng.random()) ** 2.5))


def ordinal(number: int) -> str:
    """Return a number as "1st", "2nd", "11th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def date(rng: np.random.Generator, *, day: bool = False) -> Node:
    """Return a date in one of many formats; with `day` it always has a day."""
    month, short, when = pick(rng, LISTS["month"]), pick(rng, LISTS["month_short"]), year(rng)
    if not day and rng.random() < 0.25:
        return phrase(
            pick(rng, (f"{month} {when}", when, f"{short} . {when}", f"{short} {when}", f"the {when[:3]}0s"))
        )
    number, numeral, weekday = 1 + int(rng.random() * 28), 1 + int(rng.random() * 12), word(rng, "weekday")
    options = (
        f"{number} {month} {when}", f"{month} {number} , {when}", f"{numeral:02}/{number:02}/{when}",
        f"{when}-{numeral:02}-{number:02}", f"{number}.{numeral}.{when[2:]}", f"{weekday} {number} {month}",
        f"{weekday} , {month} {number}", f"{short} {number}", f"{number}-{short}-{when[2:]}",
        f"{number}-{number + 2} {month} {when}", f"{month} {ordinal(number)} {when}",
        f"{weekday} {month} {number} {when}",
    )  # fmt: skip
    return phrase(pick(rng, options))


def price(rng: np.random.Generator) -> str:
    """Return a price in one of several currencies."""
    amount = int(whole(rng, 1, 900))
    cents = pick(rng, ("99", "95", "50", "00", whole(rng, 10, 98)))
    options = (
        f"${amount}.{cents}", f"£{amount}.{cents}", f"{amount},{cents}€", f"€{amount}", f"${amount}",
        f"£{amount}", f"Rs.{amount * 70}", f"{amount}.{cents} USD", f"US${amount}.{cents}", f"¥{amount * 90}",
        f"{amount} PLN", f"{amount * 9} kr", f"CHF {amount}.{cents}", f"A${amount}.{cents}", f"AED {amount * 4}",
    )  # fmt: skip
    return pick(rng, options)


def size(rng: np.random.Generator) -> str:
    """Return a size, weight or amount."""
    first, second = whole(rng, 2, 120), whole(rng, 2, 250)
    unit, style = word(rng, "unit"), int(rng.random() * 12)
    options = (
        f"{second}{unit}", f"{first} {unit}", f"{first}.{whole(rng, 1, 9)}{unit}", f"{first}x{second}",
        f"{first} x {second} {unit}", f"{first}x{second}cm", f'{first}"', f"{first}-{unit}", f"size {first}",
        f"pack of {first}", pick(rng, ("XL", "XXL", "S-XL", "UK 8", "EU 42", "M/L", "A4", "A3")), f"set of {first}",
    )  # fmt: skip
    return options[style]


def code(rng: np.random.Generator) -> str:
    """Return an article number of letters and digits."""
    letters = "".join(pick(rng, "ABCDEFGHKLMNPRSTVWX") for _ in range(1 + int(rng.random() * 4)))
    number = whole(rng, 100, 999_999)
    options = (
        f"#{number}", f"SKU {letters}{number}", f"{letters}-{number}", f"{letters}{number}", f"no. {number}", number,
        f"ref. {number}-{letters}", f"item {letters}{number}", f"{number}-{whole(rng, 10, 99)}", f"code: {number}",
    )  # fmt: skip
    return pick(rng, options)
