"""The n-grams of AVA-Captions: nouns, and pairs of descriptive words (Ghosal et al. 2019, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import TYPE_CHECKING, Any, ClassVar

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from filters.base import Features
from filters.text.parsing import CaptionParser

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

NOUNS = frozenset({"NOUN", "PROPN"})
FIRST = NOUNS | {"ADJ", "ADV"}
SECOND = NOUNS | {"ADJ"}
# Function words are removed before pairing: the paper's n-grams include "depth field", "rule third" and "lighting
# bit" (supplement, table 3), and the scores of its figure 2 cannot be reproduced otherwise.
FUNCTION = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ", "SPACE", "SYM"})
# The stop words of the release (clean_using_subjectivity.py), which are NLTK's; contractions come in two tokens here.
# It drops them before pairing, and so "very" and "too", which the supplement's examples of earlier work have.
_STOP = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
its itself they them their theirs themselves what which who whom this that these those am is are was were be been
being have has had having do does did doing a an the and but if or because as until while of at by for with about
against between into through during before after above below to from up down in out on off over under again further
then once here there when where why how all any both each few more most other some such no nor not only own same so
than too very s t can will just don should now d ll m o re ve y ain aren couldn didn doesn hadn hasn haven isn ma
mightn mustn needn shan shouldn wasn weren won wouldn
"""
STOP = frozenset(_STOP.split())
# The singular of nouns comes from rules: n-grams count lemmas whatever components a spaCy pipeline has.
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
# The first ending that a word has is replaced; endings that replace themselves are not plurals.
ENDINGS = (
    ("women", "woman"), ("men", "man"), ("ss", "ss"), ("us", "us"), ("is", "is"), ("sses", "ss"), ("ouses", "ouse"),
    ("auses", "ause"), ("uses", "us"), ("xes", "x"), ("tzes", "tz"), ("ches", "ch"), ("shes", "sh"), ("ies", "y"),
    ("shoes", "shoe"), ("oes", "o"), ("s", ""),
)  # fmt: skip


class Ngrams(Features):
    """A caption's unigrams and bigrams, lower-cased, in order, with repetitions; nouns are in the singular.

    A spaCy pipeline tags the parts of speech. Captions are truncated to 1,000 characters.

    Args:
        parser: name of an installed spaCy pipeline for English, or the path of one.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 2048

    def __init__(self, parser: str) -> None:
        self.parser = CaptionParser(parser, parse=False)

    def identity(self) -> dict[str, Any]:
        """Add how words are written."""
        return super().identity() | {"nouns": "singular"}

    def setup(self, device: Device) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or lacks a tagger."""
        self.parser.setup()

    def extract(self, batch: Batch) -> Mapping[str, list[list[str]]]:
        """Return ``unigrams`` and ``bigrams``, each a list per caption."""
        pairs = self.parser.read(batch.texts, ngrams)
        return {"unigrams": [unigrams for unigrams, _ in pairs], "bigrams": [bigrams for _, bigrams in pairs]}


def ngrams(doc: Doc) -> tuple[list[str], list[str]]:
    """Return the nouns, and the bigrams (noun | adjective | adverb)(noun | adjective), joined by a space.

    Nouns are lemmas, as in the supplement's table 3 ("rule third", "color reflection"); other words and names are as
    written ("darker", "centered composition").
    """
    words = [
        (_lemma(token), token.pos_)
        for token in doc
        if token.pos_ not in FUNCTION and token.lower_ not in STOP and not token.is_space
    ]
    # Interned, as the captions of a shard may repeat theirs a million times.
    unigrams = [intern(word) for word, speech in words if speech in NOUNS]
    bigrams = [
        intern(f"{first} {second}")
        for (first, speech), (second, of_second) in pairwise(words)
        if speech in FIRST and of_second in SECOND
    ]
    return unigrams, bigrams


def _lemma(token: Token) -> str:
    return singular(token.lower_) if token.pos_ == "NOUN" else str(token.lower_)


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
