"""Clauses of the grade-0 captions: verb phrases with their complements, subjects, auxiliaries and adverbials."""

from collections.abc import Callable

from pairsift.demo.draws import pick
from tools.demo_world.language.sentences.morphology import adverb, gerund, participle, past, third_person
from tools.demo_world.language.sentences.noun_phrases import NounPhrases, add_determiner, coordinate
from tools.demo_world.language.trees import Node, prep
from tools.demo_world.sampling import Weighted

# Forms of a verb: base, "s" (third person), "ed" (past), "ing", "en" (past participle).
_FORMS: dict[str, Callable[[str], str]] = {
    "base": str,
    "s": third_person,
    "ed": past,
    "ing": gerund,
    "en": participle,
}
_COMPLEMENT = Weighted(
    {
        "do": 36,
        "common_do": 22,
        "help": 9,
        "act": 9,
        "think": 7,
        "want": 8,
        "go_on": 5,
        "urge": 6,
        "make": 4,
        "have": 3,
    }
)
_SIMPLE = Weighted({"do": 50, "common_do": 30, "help": 10, "act": 10})
_ADVERBIAL = Weighted(
    {"manner": 16, "place": 12, "time": 15, "means": 16, "purpose": 15, "clause": 20, "topic": 12}
)
_SUBORDINATORS_WORDS = "because if although unless until while since before after once as though whether"
_SUBORDINATORS = frozenset(_SUBORDINATORS_WORDS.split())
_PURPOSES = ["time", "money", "energy", "courage", "patience", "strength", "right", "chance"]
_ADVERB_SOURCES = ("ful", "less", "ous", "ive", "al", "ent", "ant", "ible", "able", "ic")
_EVERY = ["every", "every", "this", "last", "next", "that"]


def to_infinitive(verb: Node) -> Node:
    """Put "to" before a verb phrase."""
    verb.before.insert(0, Node("to", "aux", "PART"))
    return verb


def verb(word: str, form: str) -> Node:
    """Return a verb in a form."""
    return Node(_FORMS[form](word), speech="VERB")


class Clauses(NounPhrases):
    """Builds verb phrases and clauses; every phrase may hold others."""

    def clause(self, tense: str = "present", depth: int = 0) -> Node:
        """Return a clause with a subject and a finite verb; built by the grammar of sentences."""
        raise NotImplementedError

    # Verb phrases -------------------------------------------------------------------------------------------------

    def vp(self, form: str = "base", depth: int = 0) -> Node:
        """Return a verb phrase with its complements, for a subject that acts."""
        head = getattr(self, "_vp_" + (_COMPLEMENT(self.rng) if depth < 2 else _SIMPLE(self.rng)))(
            form, depth + 1
        )
        return self.adverbials(head, depth + 1, 0.3 if depth else 0.55)

    def base(self) -> Node:
        """Return a verb phrase in the base form."""
        return self.vp()

    def ing(self) -> Node:
        """Return a verb phrase with "-ing"."""
        return self.vp("ing")

    def infinitive(self) -> Node:
        """Return a verb phrase with "to"."""
        return to_infinitive(self.vp())

    def transitive(self, form: str = "base") -> Node:
        """Return a transitive verb without its object."""
        return verb(self.word("doing", "doing", 0.5), form)

    def _vp_do(self, form: str, depth: int) -> Node:
        head = verb(self.word("doing", "doing", 1), form)
        if self.random() < 0.25:
            head.add("dobj", self.object(depth))
        else:
            own, number = ("things", "sp"[self.random() < 0.5]) if self.random() < 0.7 else ("stuff", "m")
            head.add("dobj", self.headed(self.word(own, "ideas", 1), number, "thing", depth).node)
        return head

    def _vp_common_do(self, form: str, depth: int) -> Node:
        head = verb(self.common("doing"), form)
        if self.more(0.2):
            second = verb(self.common("doing"), form)
            second.add("dobj", self.object(depth))
            return coordinate(head, second, "and" if self.random() < 0.75 else "or")
        head.add("dobj", self.object(depth))
        return head

    def _vp_help(self, form: str, depth: int) -> Node:
        head = verb(self.common("help"), form)
        head.add("dobj", self.whom(depth))
        return head

    def _vp_act(self, form: str, depth: int) -> Node:
        head = verb(self.common("act"), form)
        if self.random() < 0.4:
            head.add("advmod", Node(self.common("manner")))
        elif self.random() < 0.5:
            head.add(
                "prep", prep(pick(self.rng, ("for", "with", "about", "without")), self.thing(depth).node)
            )
        return head

    def _vp_think(self, form: str, depth: int) -> Node:
        head = verb(self.common("think"), form)
        if self.random() < 0.4:
            asked = to_infinitive(self.vp("base", depth))
            asked.before.insert(0, Node(pick(self.rng, ("how", "when", "where")), "advmod", "SCONJ"))
            head.word = _FORMS[form](
                pick(self.rng, ("know", "learn", "discover", "forget", "understand", "explain"))
            )
            head.add("xcomp", asked)
            return head
        inner = self.clause(depth=depth)
        if self.random() < 0.6:
            inner.before.insert(0, Node("that", "mark"))
        head.add("ccomp", inner)
        return head

    def _vp_want(self, form: str, depth: int) -> Node:
        head = verb(self.common("want"), form)
        head.add("xcomp", to_infinitive(self.vp("base", depth)))
        return head

    def _vp_go_on(self, form: str, depth: int) -> Node:
        head = verb(self.common("go_on"), form)
        head.add("xcomp", self.vp("ing", depth))
        return head

    def _vp_urge(self, form: str, depth: int) -> Node:
        head = verb(self.common("urge"), form)
        head.add("dobj", self.whom(depth))
        head.add("xcomp", to_infinitive(self.vp("base", depth)))
        return head

    def _vp_make(self, form: str, depth: int) -> Node:
        head = verb("make" if self.random() < 0.7 else "find", form)
        quality = self.adjective()
        subject = Node("it", speech="PRON") if self.random() < 0.4 else self.thing(depth).node
        subject.label = "nsubj"
        quality.before.insert(0, subject)
        head.add("ccomp", quality)
        return head

    def _vp_have(self, form: str, depth: int) -> Node:
        head = Node(
            {"base": "have", "s": "has", "ed": "had", "ing": "having", "en": "had"}[form], speech="VERB"
        )
        noun = Node(pick(self.rng, _PURPOSES), speech="NOUN")
        noun.lead("det", Node(pick(self.rng, ("the", "no", "the"))))
        noun.add("acl", to_infinitive(self.vp("base", depth)))
        head.add("dobj", noun)
        return head

    # Adverbials ---------------------------------------------------------------------------------------------------

    def adverbials(self, head: Node, depth: int, probability: float) -> Node:
        """Add adverbials after a verb phrase while room is left."""
        used = ""
        while self.more(probability):
            kind = _ADVERBIAL(self.rng)
            if kind == used or (kind in ("means", "purpose", "clause") and depth > 2):
                break
            getattr(self, "_by_" + kind)(head, depth + 1)
            used, probability = kind, probability * 0.7
        return head

    def _by_manner(self, head: Node, depth: int) -> None:
        word = self.word("like", "rating", 0.4) if self.random() < 0.4 else ""
        derived = adverb(word) if word.endswith(_ADVERB_SOURCES) else self.common("manner")
        head.add("advmod", Node(derived))

    def _by_place(self, head: Node, depth: int) -> None:
        if self.random() < 0.5:
            head.add("prep", prep(pick(self.rng, ("in", "in", "near", "at", "from")), self.name("place")))
            return
        place = Node(self.topic["where"](self.rng), speech="NOUN")
        add_determiner(place, "the" if self.random() < 0.85 else "your")
        head.add("prep", prep(pick(self.rng, ("in", "in", "at", "from", "near", "outside")), place))

    def _by_time(self, head: Node, depth: int) -> None:
        value = self.random()
        if value < 0.3:
            head.add("advmod", Node(self.common("when")))
            return
        node = Node(self.common("spans" if value < 0.65 else "times"), speech="NOUN")
        if value < 0.65:
            add_determiner(node, pick(self.rng, _EVERY))
            head.add("npadvmod", node)
        else:
            add_determiner(node, pick(self.rng, ("a", "the", "every", "the")))
            head.add("prep", prep(pick(self.rng, ("in", "for", "after", "before", "during")), node))

    def _by_means(self, head: Node, depth: int) -> None:
        link = Node(
            pick(self.rng, ("without", "without", "by", "by", "while", "after", "before", "instead of"))
        )
        if link.word == "instead of":
            link = Node("instead", "prep", "ADV")
            inner = link.add("prep", Node("of"))
            inner.add("pcomp", self.vp("ing", depth))
            head.add("prep", link)
        elif link.word == "while":
            inner = self.vp("ing", depth)
            inner.before.insert(0, Node("while", "mark"))
            head.add("advcl", inner)
        else:
            link.add("pcomp", self.vp("ing", depth))
            head.add("prep", link)

    def _by_purpose(self, head: Node, depth: int) -> None:
        head.add("advcl", to_infinitive(self.vp("base", depth)))

    def _by_clause(self, head: Node, depth: int) -> None:
        self.subordinate(head, depth, "present", self.common("because"))

    def _by_topic(self, head: Node, depth: int) -> None:
        head.add("prep", prep(self.common("topics_prep"), self.thing(depth).node))

    def subordinate(self, head: Node, depth: int, tense: str, word: str) -> None:
        """Add a subordinate clause with the conjunction `word` after a verb."""
        inner = self.clause(tense, depth)
        label = "mark" if word in _SUBORDINATORS else "advmod"
        inner.before.insert(0, Node(word, label, "SCONJ"))
        head.add("advcl", inner)
