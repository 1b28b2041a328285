"""The phrases that fill the slots of the frames of abstract captions."""

from pairsift.demo.draws import pick
from tools.demo_world.language.sentences.clauses import verb
from tools.demo_world.language.sentences.sentences import Sentences
from tools.demo_world.language.trees import Node

_COUNTS = [
    "3", "4", "5", "5", "6", "7", "7", "8", "9", "10", "10", "11", "12", "13", "14", "15", "17", "20",
    "21", "25", "30", "50", "99", "100", "101", "five", "seven", "ten",
]  # fmt: skip
_FEW = ["three", "four", "five", "six", "3", "4", "5", "6", "7", "10"]


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
        """Return a verb phrase for a plural subject, with its object."""
        head = verb(self.common("shape"), "base")
        head.add("dobj", self.whom() if self.chance(0.4) else self.object())
        return head

    def teaching(self) -> Node:
        """Return a past verb that takes a person as its object."""
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
        """Return a common abstract noun without modifiers."""
        return Node(self.common("ideas"), speech="NOUN")

    def topic_noun(self) -> Node:
        """Return a noun without modifiers; sometimes the scene's first thing."""
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
