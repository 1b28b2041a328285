"""Forms of English words: plurals, verb forms, articles, adverbs and nouns derived from adjectives."""

import re
from functools import cache

# Verbs with irregular forms: base, past, past participle.
_IRREGULAR = """
be was been; have had had; do did done; say said said; go went gone; get got gotten; make made made; know
knew known; think thought thought; take took taken; see saw seen; come came come; find found found; give
gave given; tell told told; feel felt felt; become became become; leave left left; put put put; mean meant
meant; keep kept kept; let let let; begin began begun; show showed shown; hear heard heard; run ran run;
hold held held; bring brought brought; write wrote written; sit sat sat; stand stood stood; lose lost lost;
pay paid paid; meet met met; lead led led; understand understood understood; speak spoke spoken; read read
read; spend spent spent; grow grew grown; win won won; teach taught taught; buy bought bought; send sent
sent; build built built; fall fell fallen; cut cut cut; sell sold sold; rise rose risen; drive drove driven;
break broke broken; hurt hurt hurt; choose chose chosen; forget forgot forgotten; lend lent lent; repay
repaid repaid; withdraw withdrew withdrawn; overturn overturned overturned; forgive forgave forgiven; eat
ate eaten; freeze froze frozen; shake shook shaken; beat beat beaten; throw threw thrown; catch caught
caught; outrun outran outrun; sweep swept swept; tear tore torn; wear wore worn; ride rode ridden; overtake
overtook overtaken; sing sang sung; strike struck struck; sow sowed sown; dig dug dug; weave wove woven;
draw drew drawn; wake woke woken; feed fed fed; hide hid hidden; steal stole stolen; fight fought fought;
seek sought sought; hit hit hit; swim swam swum; rebuild rebuilt rebuilt; rewrite rewrote rewritten; rethink
rethought rethought; overcome overcame overcome; cost cost cost; bet bet bet; bend bent bent; shrink shrank
shrunk; spread spread spread; quit quit quit; set set set; sleep slept slept; forbid forbade forbidden;
foresee foresaw foreseen; undergo underwent undergone; mow mowed mown; mistake mistook mistaken; mislead
misled misled; broadcast broadcast broadcast; overhear overheard overheard; deal dealt dealt; swear swore
sworn; shoot shot shot; stick stuck stuck; undo undid undone; knit knitted knitted; forecast forecast
forecast; cast cast cast; lie lied lied; die died died; strive strove striven; light lit lit; outgrow
outgrew outgrown; show showed shown; prove proved proven; fly flew flown; sew sewed sewn; burn burned
burned; bid bid bid; lay laid laid; mend mended mended
"""
IRREGULAR = {base: (past, done) for base, past, done in (row.split() for row in _IRREGULAR.split(";"))}
_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "wife": "wives", "life":
    "lives", "leaf": "leaves", "half": "halves", "shelf": "shelves", "loaf": "loaves", "wolf": "wolves",
    "thief": "thieves", "knife": "knives", "foot": "feet", "tooth": "teeth", "hero": "heroes", "potato":
    "potatoes", "tomato": "tomatoes", "veto": "vetoes", "crisis": "crises", "hypothesis": "hypotheses",
    "thesis": "theses", "diagnosis": "diagnoses", "bacterium": "bacteria", "phenomenon": "phenomena",
    "species": "species", "series": "series", "salesman": "salesmen", "spokesman": "spokesmen", "foreman":
    "foremen", "fisherman": "fishermen", "quiz": "quizzes", "housewife": "housewives", "midwife":
    "midwives", "stuntman": "stuntmen", "freshman": "freshmen", "dice": "dice", "curriculum": "curricula",
    "criterion": "criteria", "analysis": "analyses", "stimulus": "stimuli", "police": "police", "handyman":
    "handymen", "basis": "bases", "staff": "staff", "headquarters": "headquarters", "oasis": "oases",
    "scarf": "scarves", "volcano": "volcanoes", "mosquito": "mosquitoes", "echo": "echoes", "embargo":
    "embargoes", "layman": "laymen", "policeman": "policemen", "turning-point": "turning-points",
    "grown-up": "grown-ups",
}  # fmt: skip
# Verbs with two or more syllables and stress on the last one, so that their last letter doubles.
_DOUBLING_WORDS = (
    "outrun overrun rerun admit begin commit control forget occur permit prefer quit regret transfer "
    "refer rebel compel format propel repel equip acquit overlap unwrap plug debug fit reset unplug recap "
    "rebut"
)
_DOUBLING = frozenset(_DOUBLING_WORDS.split())
_VOWELS = "aeiou"
_SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_YOU = re.compile(r"^(?:uni(?!n)|use|user|usu|ut[ei]|eu|one\b|once\b|ubi|ura)")
_SILENT_H = re.compile(r"^(?:hour|honest|honor|heir)")


@cache
def plural(noun: str) -> str:
    """Return the plural of a noun, for example "stories"."""
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    return noun + "s"


@cache
def third_person(verb: str) -> str:
    """Return the form of the present tense for "he" and "she", for example "carries"."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if verb.endswith("o"):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    return verb + "s"


def _stem(verb: str) -> str:
    """Return the verb with its last letter doubled where "-ed" and "-ing" need it."""
    return verb + verb[-1] if _SHORT.match(verb) or verb in _DOUBLING else verb


@cache
def gerund(verb: str) -> str:
    """Return the form with "-ing"."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return _stem(verb) + "ing"


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return _stem(verb) + "ed"


@cache
def past(verb: str) -> str:
    """Return the simple past."""
    return IRREGULAR[verb][0] if verb in IRREGULAR else _regular_past(verb)


@cache
def participle(verb: str) -> str:
    """Return the past participle."""
    return IRREGULAR[verb][1] if verb in IRREGULAR else _regular_past(verb)


@cache
def article(word: str) -> str:
    """Return the indefinite article before a word, judged by its spelling."""
    low = word.lower()
    if _SILENT_H.match(low):
        return "an"
    return "an" if low[:1] in _VOWELS and not _YOU.match(low) else "a"


@cache
def adverb(adjective: str) -> str:
    """Return the adverb derived from an adjective, for example "happily"."""
    if adjective.endswith("y") and len(adjective) > 3:
        return adjective[:-1] + "ily"
    if adjective.endswith("ic"):
        return adjective + ("ly" if adjective == "public" else "ally")
    if adjective.endswith("le") and adjective[-3] not in _VOWELS:
        return adjective[:-1] + "y"
    return adjective + ("y" if adjective.endswith("ll") else "ly")


@cache
def comparative(adjective: str) -> str:
    """Return the comparative with "-er", or "" if the adjective takes "more"."""
    return {"good": "better", "bad": "worse", "far": "further"}.get(adjective) or _graded(adjective, "er")


@cache
def superlative(adjective: str) -> str:
    """Return the superlative with "-est", or "" if the adjective takes "most"."""
    return {"good": "best", "bad": "worst"}.get(adjective) or _graded(adjective, "est")


def _graded(adjective: str, ending: str) -> str:
    groups = len(re.findall(r"[aeiouy]+", adjective.removesuffix("e")))
    if groups > 2 or adjective in (
        "real",
        "fun",
        "wrong",
        "right",
        "best",
        "lost",
        "fake",
        "tired",
        "bored",
        "afraid",
    ):
        return ""
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return adjective[:-1] + "i" + ending
    if groups > 1:
        return ""
    return (adjective[:-1] if adjective.endswith("e") else _stem(adjective)) + ending


@cache
def quality(adjective: str) -> str:
    """Return the noun of an adjective with "-ness" or "-ity", for example "stubbornness" or "reliability"."""
    if adjective.endswith(("able", "ible")):
        return adjective[:-2] + "ility"
    return (adjective[:-1] + "i" if adjective.endswith("y") else adjective) + "ness"
