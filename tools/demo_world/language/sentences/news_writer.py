"""The phrases that fill the slots of the frames of news captions."""

from typing import ClassVar

import numpy as np

from pairsift.demo.draws import pick
from tools.demo_world.language.sentences.abstract_writer import AbstractWriter
from tools.demo_world.language.sentences.morphology import plural
from tools.demo_world.language.sentences.noun_phrases import add_determiner, name_parts
from tools.demo_world.language.trees import Node, noun, prep
from tools.demo_world.sampling import Weighted

_MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
]  # fmt: skip
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_EARLIER = [
    "last|week", "last|month", "last|year", "last|night", "last|summer", "this|week", "this|year",
    "this|morning", "last|weekend",
]  # fmt: skip
_PLURAL = Weighted(
    {"": 9.0, "the": 3}
    | dict.fromkeys(("their", "its", "these", "many", "most", "several", "some", "more"), 1)
)


class NewsWriter(AbstractWriter):
    """Fills the slots of the news frames: each method returns a phrase."""

    determiners: ClassVar[dict[str, Weighted]] = {
        "s": Weighted(
            {"a": 6, "the": 5, "this": 1, "another": 1, "its": 1, "their": 1, "one": 1, "his": 1, "her": 1}
        ),
        "m": Weighted({"": 9.0, "the": 2, "more": 1, "their": 1, "its": 1, "some": 1, "less": 1}),
        "p": _PLURAL,
        "plural": _PLURAL,
    }
    pronouns = Weighted({"they": 5, "he": 4, "she": 4, "everyone": 1, "somebody": 1})
    pronoun_share = 0.25
    objects: ClassVar[list[str]] = ["it", "it", "them", "them", "everything", "something"]
    addressed: ClassVar[list[str]] = ["them", "them", "him", "her"]

    def did(self) -> Node:
        """Return a verb phrase in the past."""
        return self.vp("ed")

    def does(self) -> Node:
        """Return a verb phrase for one person, now."""
        return self.vp("s")

    def told(self) -> Node:
        """Return a verb of saying in the past."""
        return Node(self.common("told"), speech="VERB")

    def met(self) -> Node:
        """Return a participle for an event that affected people."""
        return Node(self.common("met"), speech="VERB")

    def moved(self) -> Node:
        """Return a verb for the change of a figure."""
        return Node(self.common("moved"), speech="VERB")

    def told_now(self) -> Node:
        """Return a verb of saying for several people, now."""
        return Node(self.common("say"), speech="VERB")

    def place(self) -> Node:
        """Return the name of a place."""
        return self.name("place")

    def spot(self) -> Node:
        """Return a phrase for the place."""
        return prep(pick(self.rng, ("in", "in", "in", "near", "at", "outside")), self.place())

    def _by_time(self, head: Node, depth: int) -> None:
        head.add("prep", self.spot())  # the frames add the time

    def date(self) -> Node:
        """Return a phrase for the time."""
        value = self.random()
        if value < 0.2:
            return prep("on", Node(pick(self.rng, _DAYS), speech="PROPN"))
        if value < 0.42:
            first, word = pick(self.rng, _EARLIER).split("|")
            node = Node(word, "npadvmod", "NOUN")
            add_determiner(node, first)
            return node
        month = Node(pick(self.rng, _MONTHS), speech="PROPN")
        if value < 0.75:
            month.add("nummod", Node(str(1 + int(30 * self.random()))))
            if value < 0.65:
                month.add("punct", Node(","))
        if value > 0.85 or value < 0.65:
            month.add("nummod", Node(str(1996 + int(25 * self.random() ** 0.6))))
        return prep("on" if value < 0.75 else "in", month)

    def number(self) -> Node:
        """Return a number; small numbers are more frequent."""
        value = int(np.exp(8 * self.random() ** 1.5) + 2)
        return Node(f"{value:,}" if value < 100 else f"{value // 10 * 10:,}", speech="NUM")

    def age(self) -> Node:
        """Return an age."""
        return Node(str(17 + int(60 * self.random())), speech="NUM")

    def chief(self) -> Node:
        """Return an office, for example "the head of the Wildlife Trust"."""
        node = Node(self.word("people", "chiefs", 0.3), speech="NOUN")
        if self.chance(0.5):
            node.lead(
                "amod",
                Node(pick(self.rng, ("former", "deputy", "new", "senior", "acting", "local", "retired"))),
            )
        add_determiner(node, "the" if self.chance(0.6) else "a")
        if self.chance(0.7):
            node.add("prep", prep(pick(self.rng, ("of", "of", "at", "for")), self.organ()))
        return node

    def official(self) -> Node:
        """Return a person with an office."""
        value = self.random()
        if value < 0.3:
            return self.headed(
                self.word("people", "chiefs"), "s", "person", 1, "the" if value < 0.15 else "a"
            ).node
        person = self.name("person")
        if value < 0.6:
            title = self.common("chiefs")
            person.before.insert(0, Node(title, "compound", "NOUN"))
        return person

    def described(self) -> Node:
        """Return a person with a description between commas."""
        person = self.name("person")
        person.add("punct", Node(","))
        person.add("appos", self.chief() if self.chance(0.7) else self.age())
        person.add("punct", Node(","))
        return person

    def organ(self) -> Node:
        """Return an organisation, for example "the Solva Institute of Music"."""
        value = self.random()
        if value < 0.25:
            node = Node(self.topic["bodies"](self.rng), speech="NOUN")
            add_determiner(node, "the")
            if self.chance(0.6):
                node.add("prep", prep("in", self.place()))
            return node
        organ = self.common("organs")
        if value < 0.5:
            node = noun(organ, compounds=[part.word for part in name_parts(self.place())], proper=True)
        elif value < 0.75:
            node = noun(organ, compounds=[self.common("areas")], proper=True)
        else:
            node = noun(organ, proper=True)
            node.add(
                "prep",
                prep("of", self.place() if value < 0.88 else Node(self.common("areas"), speech="PROPN")),
            )
        add_determiner(node, "the")
        return node

    def press(self) -> Node:
        """Return a report or statement."""
        return self.headed(self.common("press"), "s", "thing", 3, "a").node

    def crowd(self) -> Node:
        """Return several people, often with their number."""
        node = Node(plural(self.word("people", "people", 0.75)), speech="NOUN")
        value = self.random()
        if value < 0.5:
            node.lead("nummod", self.number())
        elif value < 0.8:
            word = pick(self.rng, ("hundreds", "thousands", "dozens", "scores", "crowds", "groups"))
            crowd = Node(word, speech="NOUN")
            crowd.add("prep", prep("of", node))
            return crowd
        elif value < 0.9:
            node.lead(
                "amod", Node(pick(self.rng, ("local", "several", "many", "angry", "young", "former", "more")))
            )
        return node

    def event(self) -> Node:
        """Return an event with a determiner."""
        return self.headed(self.common("events"), "s", "thing", 1, "a" if self.chance(0.5) else "the").node

    def event_bare(self) -> Node:
        """Return an event as headlines name it."""
        node = Node(self.common("events"), speech="NOUN")
        node.lead("compound", Node(self.word("things", "ideas", 0.8), speech="NOUN"))
        return node

    def rates(self) -> Node:
        """Return something that rises and falls."""
        node = Node(self.common("rates"), speech="NOUN")
        if self.chance(0.5):
            node.lead("compound", Node(self.word("things", "ideas", 0.9), speech="NOUN"))
        if self.chance(0.3):
            node.add("prep", prep("in", self.place()))
        return node

    def headline_subject(self) -> Node:
        """Return a person or an organisation without an article."""
        value = self.random()
        if value < 0.3:
            return self.name("person")
        word = Node(
            self.topic["bodies"](self.rng) if value < 0.5 else self.word("people", "chiefs"), speech="NOUN"
        )
        if self.chance(0.6):
            word.before += name_parts(self.place())
        return word

    def headline_subjects(self) -> Node:
        """Return several people without an article."""
        node = self.plain_people()
        if self.chance(0.3):
            node.before[0:0] = name_parts(self.place())
        return node
