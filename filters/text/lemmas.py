"""The singular of English nouns, by rules: n-grams count lemmas whatever components a spaCy pipeline has."""

from functools import lru_cache

_IRREGULAR = """
children child men man feet foot teeth tooth geese goose mice mouse oxen ox lives life wives wife knives knife
leaves leaf halves half wolves wolf shelves shelf loaves loaf thieves thief scarves scarf calves calf hooves hoof
elves elf criteria criterion phenomena phenomenon ads ad menus menu gurus guru skis ski
taxis taxi bikinis bikini lenses lens gases gas canvases canvas buses bus excuses excuse abuses abuse recluses recluse
aches ache headaches headache caches cache niches niche mustaches mustache quizzes quiz crises crisis bases base
oases oasis analyses analysis hypotheses hypothesis toes toe tiptoes tiptoe canoes canoe oboes oboe foes foe uses use
"""
# Singular, or without a singular, although they end as plurals do.
_UNCHANGED = """
series species news lens canvas atlas bias chaos christmas means headquarters always perhaps texas pajamas alas
physics mathematics politics economics electronics statistics ethics athletics gymnastics genetics optics logistics
dynamics aesthetics acoustics linguistics specimen abdomen omen regimen acumen thanks overseas clothes jeans pants
trousers shorts panties regards earnings surroundings kudos feces
"""
_ENDING_IN_IE = """
movie cookie zombie selfie brownie hoodie rookie calorie genie birdie smoothie veggie cutie pixie prairie sortie
newbie collie indie groupie foodie magpie auntie hippie necktie
"""
_words = _IRREGULAR.split()
IRREGULAR = dict(zip(_words[::2], _words[1::2], strict=True)) | {word: word for word in _UNCHANGED.split()}
IRREGULAR |= {f"{word}s": word for word in _ENDING_IN_IE.split()}
# The first ending that a word has is replaced; those replaced by themselves are no plurals.
ENDINGS = (
    ("women", "woman"), ("men", "man"), ("ss", "ss"), ("us", "us"), ("is", "is"), ("sses", "ss"), ("ouses", "ouse"),
    ("auses", "ause"), ("uses", "us"), ("xes", "x"), ("tzes", "tz"), ("ches", "ch"), ("shes", "sh"), ("ies", "y"),
    ("shoes", "shoe"), ("oes", "o"), ("s", ""),
)  # fmt: skip


@lru_cache(1 << 16)
def singular(noun: str) -> str:
    """Return the singular of a lower-case noun; any other word, and one of up to three letters, as it is."""
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if len(noun) < 4 or not noun.replace("-", "").isalpha():
        return noun
    if len(noun) == 4 and noun.endswith("ies"):  # ties, pies
        return noun[:-1]
    ending, base = next(((e, b) for e, b in ENDINGS if noun.endswith(e)), ("", ""))
    return noun.removesuffix(ending) + base
