"""Abstract captions (grade 0): opinions, how-to, quotes, thoughts, questions, lists, claims and titles of texts."""

import numpy as np

from benchmark.demo.language.abstract_frames import ABSTRACT_FRAMES
from benchmark.demo.language.clauses import verb
from benchmark.demo.language.frames import build, read_kinds
from benchmark.demo.language.sentences import Sentences
from benchmark.demo.language.styles import finish, from_site, quoted, signed, tagged
from benchmark.demo.language.trees import Node
from benchmark.demo.sampling import Weighted, pick
from benchmark.demo.world import Scene

FRAMES, _WEIGHTS = read_kinds(ABSTRACT_FRAMES)
_KIND = Weighted(_WEIGHTS | {"quote": 12})
_MENTION = (
    0.4  # probability that phrases may name the scene's first thing; in about a quarter of captions one does
)
_COUNTS = [
    "3", "4", "5", "5", "6", "7", "7", "8", "9", "10", "10", "11", "12", "13", "14", "15", "17", "20",
    "21", "25", "30", "50", "99", "100", "101", "five", "seven", "ten",
]  # fmt: skip
_FEW = ["three", "four", "five", "six", "3", "4", "5", "6", "7", "10"]
_TITLES = frozenset({"how_to", "list", "title"})
_MARKS = {"thought": (".", ".", "", "..."), "quote": (".", "", "!"), "opinion": (".", ".", "", "!", "...")}


class AbstractWriter(Sentences):
    """Fills the slots of the frames: each method returns a phrase."""

    def statement(self) -> Node:
        """Return a clause in the present tense."""
        return self.clause()

    def done(self) -> Node:
        """Return the participle of a transitive verb."""
        return self.transitive("en")

    def past_transitive(self) -> Node:
        """Return a transitive verb in the past, without its object."""
        return self.transitive("ed")

    def vp_third(self) -> Node:
        """Return a verb phrase for "he" or "she"."""
        return self.vp("s")

    def shaping(self) -> Node:
        """Return what several things do to somebody."""
        head = verb(self.common("shape"), "base")
        head.add("dobj", self.whom() if self.chance(0.4) else self.object())
        return head

    def teaching(self) -> Node:
        """Return a verb for what something did to somebody."""
        return verb(
            pick(self.rng, ("teach", "tell", "show")) if self.chance(0.6) else self.common("help"), "ed"
        )

    def plain_people(self) -> Node:
        """Return people without a determiner."""
        return self.headed(self.word("people", "people", 0.7), "p", "person", 1, "").node

    def person_node(self) -> Node:
        """Return a person."""
        return self.person().node

    def name_node(self) -> Node:
        """Return a person's name."""
        return self.name("person")

    def thing_node(self) -> Node:
        """Return a phrase about a thing."""
        return self.thing().node

    def mass_or_one(self) -> Node:
        """Return a phrase that takes a verb in the singular."""
        return self.mass_node() if self.chance(0.5) else self.topic_single()

    def mass_node(self) -> Node:
        """Return a phrase with a noun that cannot be counted."""
        return self.mass(1).node

    def idea_node(self) -> Node:
        """Return a phrase with a common abstract noun."""
        return self.idea().node

    def idea_word(self) -> Node:
        """Return a common abstract noun, alone."""
        return Node(self.common("ideas"), speech="NOUN")

    def topic_noun(self) -> Node:
        """Return a noun, alone; sometimes that of the scene's first thing."""
        if self.mention and self.chance(0.6):
            word, self.mention = pick(self.rng, self.mention)[0], ()
            return Node(word, speech="NOUN")
        return Node(self.word("things", "ideas", 0.7), speech="NOUN")

    def topic_plural(self) -> Node:
        """Return things without a determiner."""
        if self.mention and self.chance(0.6):
            word, self.mention = pick(self.rng, self.mention)[1], ()
            return self.headed(word, "plural", "named", 1, "").node
        return self.headed(self.word("things", "ideas", 0.8), "p", "thing", 1, "").node

    def topic_single(self) -> Node:
        """Return one thing."""
        return self.headed(self.word("things", "ideas", 0.8), "s", "thing", 1, "a").node

    def rating(self) -> Node:
        """Return an adjective that judges."""
        return Node(self.common("rating"), speech="ADJ")

    def degree_rating(self) -> Node:
        """Return an adjective that judges, graded."""
        node = self.rating()
        node.lead("advmod", Node(self.common("degree")))
        return node

    def ease(self) -> Node:
        """Return an adjective for how easy or good it is to do something."""
        return Node(self.common("ease"), speech="ADJ")

    def sadly(self) -> Node:
        """Return an adverb that comments on a sentence."""
        return Node(self.common("sadly"))

    def count(self) -> Node:
        """Return the number of entries of a list."""
        return Node(pick(self.rng, _COUNTS))

    def few(self) -> Node:
        """Return a small number."""
        return Node(pick(self.rng, _FEW))

    def year(self) -> Node:
        """Return a year."""
        return Node(str(2004 + int(17 * self.random() ** 0.5)), speech="NUM")


def _opening(kind: str, writer: AbstractWriter) -> Node:
    return build(pick(writer.rng, FRAMES["thought" if kind == "quote" else kind]), writer)


def _longer(root: Node, kind: str, writer: AbstractWriter) -> None:
    """Add sentences while room is left."""
    while writer.more(0.6):
        last = root.after[-1] if root.after else None
        if last is None or last.label != "punct":
            root.add("punct", Node(pick(writer.rng, (".", ".", ".", "!", " -", "...", ":")).strip()))
        root.add(
            "dep", _opening("thought" if kind in ("quote", "opinion") else pick(writer.rng, _MORE), writer)
        )


_MORE = ("thought", "thought", "question", "opinion", "how_to", "claim")


def abstract_caption(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a caption that says nothing about what is seen; a quarter names the first thing of the scene."""
    room = int(rng.lognormal(1.75, 0.5))
    writer = AbstractWriter(scene, rng, room, _MENTION)
    kind = _KIND(rng)
    root = _opening(kind, writer)
    _longer(root, kind, writer)
    finish(root, writer, _MARKS.get(kind, ("", "", ".")), title=kind in _TITLES)
    if kind == "quote":
        quoted(root)
        if writer.chance(0.75):
            signed(root, writer)
    value = rng.random()
    if value < 0.1:
        from_site(root, writer)
    elif value < 0.16:
        tagged(root, writer)
    return root
