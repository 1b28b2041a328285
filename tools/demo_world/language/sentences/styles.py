"""How a caption is written: upper and lower case, the end of the sentence, quotation marks, the name of a site."""

import re

from pairsift.demo.draws import pick
from tools.demo_world.language.sentences.morphology import article
from tools.demo_world.language.sentences.noun_phrases import NounPhrases, first_word
from tools.demo_world.language.trees import Node, in_order, noun
from tools.demo_world.sampling import Weighted

_SMALL_WORDS = (
    "a an the and but or nor for of in on at to by from with without as if is are it its your my our than "
    "that n't not vs"
)
_SMALL = frozenset(_SMALL_WORDS.split())
_CASE = Weighted({"sentence": 44, "title": 34, "lower": 13, "upper": 9})
_WORD = re.compile(r"[^\W_]")


def _capital(word: str) -> str:
    """Return a word with its first letter in upper case."""
    return word[:1].upper() + word[1:]


def spell(root: Node, style: str) -> None:
    """Write the words of a caption in a style: "sentence", "title", "lower" or "upper"; names keep their capitals."""
    starts = True
    before = root
    for node, _ in in_order(root):
        word = node.word
        if before.label == "det" and before.word in ("a", "A"):
            ending = article(word)[1:]
            before.word += ending.upper() if style == "upper" else ending
        before = node
        if style == "upper":
            node.word = word.upper()
        elif style == "lower":
            node.word = word.lower()
        elif starts or (style == "title" and not node.glued and word not in _SMALL):
            node.word = _capital(word)
        if word in (".", "!", "?", ":") and (style == "title" or word != ":"):
            starts = True
        elif _WORD.match(word):
            starts = False


def last_word(root: Node) -> Node:
    """Return the rightmost node of a caption."""
    while root.after:
        root = root.after[-1]
    return root


def end(root: Node, mark: str) -> None:
    """Put a mark such as "." at the end if the caption has none."""
    if mark and last_word(root).label != "punct":
        root.add("punct", Node(mark))


def quoted(root: Node) -> None:
    """Put a caption in quotation marks."""
    first_word(root).glued = True
    root.before.insert(0, Node("“", "punct"))
    root.after.append(Node("”", "punct", glued=True))


def signed(root: Node, writer: NounPhrases) -> None:
    """Add the name of the person quoted."""
    root.add("punct", Node(pick(writer.rng, ("–", "–", "-", "~", "—"))))
    root.add("dep", writer.name("person"))


def from_site(root: Node, writer: NounPhrases) -> None:
    """Add the name of the site, for example "| The Garden Journal"."""
    root.add("punct", Node(pick(writer.rng, ("|", "|", "|", "-", "–", "»"))))
    if writer.chance(0.5):
        root.add("dep", writer.name("brand"))
        return
    first = _capital(writer.topic["things" if writer.chance(0.6) else "people"](writer.rng))
    site = noun(_capital(writer.common("sites")), compounds=[first], proper=True)
    if writer.chance(0.4):
        site.before.insert(0, Node("The", "det"))
    root.add("dep", site)


def tagged(root: Node, writer: NounPhrases) -> None:
    """Add hashtags, or an addition of blogs and series to a title, for example "(Part 2)"."""
    value = writer.random()
    if value < 0.5:
        for _ in range(1 + int(3.5 * writer.random() ** 2)):
            own = ["things", "stuff", "like", "doing", "people"]
            root.add(
                "dep",
                Node("#" + writer.topic[pick(writer.rng, own)](writer.rng).replace("-", ""), speech="PROPN"),
            )
        return
    opening, closing = pick(writer.rng, (("(", ")"), ("[", "]"), ("(", ")")))
    root.add("punct", Node(opening))
    if value < 0.8:
        part = root.add(
            "dep",
            Node(
                pick(writer.rng, ("Part", "Episode", "Week", "Day", "Chapter", "Vol.", "Step")), speech="NOUN"
            ),
        )
        part.add("nummod", Node(str(1 + int(40 * writer.random() ** 3))))
    else:
        part = root.add(
            "dep",
            Node(
                pick(writer.rng, ("Infographic", "Video", "Update", "Interview", "Review", "Podcast")),
                speech="NOUN",
            ),
        )
    first_word(part).glued = True
    root.add("punct", Node(closing, glued=True))


def finish(root: Node, writer: NounPhrases, marks: tuple[str, ...], title: bool = False) -> Node:
    """Write a caption in a random style and end it with one of `marks`."""
    style = "title" if title and writer.chance(0.6) else _CASE(writer.rng)
    end(root, "" if style == "title" and writer.chance(0.8) else pick(writer.rng, marks))
    spell(root, style)
    return root
