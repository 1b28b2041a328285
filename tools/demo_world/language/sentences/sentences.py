"""Sentences of the grade-0 captions: statements, passives, comparisons, and clauses after a noun."""

from pairsift.demo.draws import pick
from tools.demo_world.language.sentences.clauses import Clauses, to_infinitive, verb
from tools.demo_world.language.sentences.morphology import comparative
from tools.demo_world.language.sentences.noun_phrases import Phrase, coordinate
from tools.demo_world.language.trees import Node, prep
from tools.demo_world.sampling import Weighted

_BE = {"present": {"s": "is", "p": "are", "i": "am"}, "past": {"s": "was", "p": "were", "i": "was"}}
_AUXILIARY = Weighted({"": 56, "modal": 20, "not": 9, "have": 8, "never": 7})
_MODALS = [
    "can", "can", "can", "will", "will", "will", "should", "should", "must", "may", "might", "could",
    "would",
]  # fmt: skip
_STATEMENT = Weighted(
    {"act": 44, "theme": 20, "quality": 17, "identity": 9, "passive": 6, "exists": 4, "ease": 5}
)
_AFTER = Weighted({"of": 34, "pp": 22, "relative": 19, "infinitive": 9, "gerund": 8, "and": 10})
_AFTER_PERSON = Weighted({"relative": 60, "and": 20, "pp": 20})


class Sentences(Clauses):
    """Builds finite clauses of all kinds."""

    def clause(self, tense: str = "present", depth: int = 0) -> Node:
        """Return a clause with a subject and a finite verb."""
        sentence: Node = getattr(self, "_say_" + _STATEMENT(self.rng))(tense, depth)
        return sentence

    def past_clause(self) -> Node:
        """Return a clause in the past tense."""
        return self.clause("past")

    def two_clauses(self) -> Node:
        """Return a clause, or two joined by a conjunction."""
        first = self.clause()
        if self.more(0.5):
            first.add("punct", Node(",")) if self.chance(0.7) else None
            return coordinate(first, self.clause(), pick(self.rng, ("and", "but", "but", "so", "or", "yet")))
        return first

    def predicate(self, subject: Phrase, tense: str = "present", depth: int = 0) -> Node:
        """Return a clause with `subject` and a verb."""
        kind, parts, form = _AUXILIARY(self.rng), [subject.node], "ed"
        subject.node.label = "nsubj"
        if tense == "present":
            form = "s" if subject.number == "s" else "base"
        if kind == "modal" and tense == "present":
            parts, form = [subject.node, Node(pick(self.rng, _MODALS), "aux")], "base"
        elif kind == "not":
            parts, form = [subject.node, *self._negation(subject, tense)], "base"
        elif kind == "have":
            word = "had" if tense == "past" else "has" if subject.number == "s" else "have"
            parts, form = [subject.node, Node(word, "aux")], "en"
        elif kind == "never":
            word = self.common("often")
            parts.append(Node(word, "neg" if word == "never" else "advmod", "ADV"))
        head = self.vp(form, depth)
        head.before[0:0] = parts
        return head

    def _negation(self, subject: Phrase, tense: str) -> list[Node]:
        """Return "do not", or "don't"."""
        word = "did" if tense == "past" else "does" if subject.number == "s" else "do"
        negation = Node("n't" if self.casual else "not", "neg")
        negation.glued = self.casual
        return [Node(word, "aux"), negation]

    def _say_act(self, tense: str, depth: int) -> Node:
        return self.predicate(self.subject(depth), tense, depth)

    def theme(self, depth: int = 0) -> Phrase:
        """Return a subject that is a thing, an idea or an activity."""
        if depth < 2 and self.random() < 0.13:
            return Phrase(self.vp("ing", depth + 1), "s")
        return self.thing(depth)

    def _say_theme(self, tense: str, depth: int) -> Node:
        """A thing or an activity changes something, or happens."""
        subject = self.theme(depth)
        form = "ed" if tense == "past" else "s" if subject.number == "s" else "base"
        parts = [self._as_subject(subject)]
        if self.random() < 0.3:
            parts, form = [*parts, Node("can" if tense == "present" else "would", "aux")], "base"
        elif self.random() < 0.15:
            word = self.common("often")
            parts.append(Node(word, "neg" if word == "never" else "advmod", "ADV"))
        if self.random() < 0.6:
            head = verb(self.common("shape"), form)
            head.add("dobj", self.whom(depth) if self.random() < 0.4 else self.object(depth))
        else:
            head = verb(self.common("happen"), form)
        head.before[0:0] = parts
        return self.adverbials(head, depth + 1, 0.4)

    def _as_subject(self, phrase: Phrase) -> Node:
        phrase.node.label = "csubj" if phrase.node.speech == "VERB" else "nsubj"
        return phrase.node

    def copula(self, subject: Phrase, tense: str) -> Node:
        """Return a form of "be" with its subject."""
        node = Node(_BE[tense][subject.number], speech="AUX")
        node.before.append(self._as_subject(subject))
        value = self.random()
        if value < 0.12:
            node.add("neg", Node("not"))
        elif value < 0.25:
            word = self.common("often")
            node.add("neg" if word == "never" else "advmod", Node(word, speech="ADV"))
        return node

    def _say_quality(self, tense: str, depth: int) -> Node:
        """Somebody or something has a quality."""
        acts = self.random() < 0.45
        subject = self.subject(depth) if acts else self.theme(depth)
        head = self.copula(subject, tense)
        if acts and self.more(0.4):
            quality = Node(self.common("eager"), speech="ADJ")
            quality.add("xcomp", to_infinitive(self.vp("base", depth + 1)))
        elif self.chance(0.2):
            quality = self.compared(*self._comparison())
            quality.add("prep", prep("than", self.thing(depth + 1).node))
        else:
            quality = self.adjective("like", "moody" if acts else "rating")
        head.add("acomp", quality)
        return self.adverbials(head, depth + 1, 0.25)

    def _comparison(self) -> tuple[str, str, str]:
        word = self.word("like", "rating", 0.4)
        return word, comparative(word), "more"

    def _say_identity(self, tense: str, depth: int) -> Node:
        """Something is something else."""
        head = self.copula(self.theme(depth), tense)
        head.add("attr", self.idea(depth).node)
        return head

    def idea(self, depth: int = 0) -> Phrase:
        """Return a noun phrase such as "a good reason to wait" or "the art of cooking"."""
        return self.headed(self.common("ideas"), "s", "thing", depth, "the" if self.chance(0.25) else "a")

    def _say_passive(self, tense: str, depth: int) -> Node:
        subject = self.thing(depth)
        head = verb(self.word("doing", "doing", 0.6), "en")
        subject.node.label = "nsubjpass"
        head.before += [subject.node, Node(_BE[tense][subject.number], "auxpass")]
        if self.random() < 0.35:
            agent = Node("by", speech="ADP")
            agent.add("pobj", self.person(depth).node)
            head.add("agent", agent)
        return self.adverbials(head, depth + 1, 0.4)

    def _say_exists(self, tense: str, depth: int) -> Node:
        subject = self.thing(depth)
        head = Node(_BE[tense][subject.number], speech="VERB")
        head.lead("expl", Node("there"))
        head.add("attr", subject.node)
        return head

    def _say_ease(self, tense: str, depth: int) -> Node:
        """It is easy to do something."""
        head = Node(_BE[tense]["s"], speech="AUX")
        head.lead("nsubj", Node("it", speech="PRON"))
        head.add("acomp", Node(self.common("ease"), speech="ADJ"))
        head.add("xcomp", to_infinitive(self.vp("base", depth + 1)))
        return head

    # What follows a noun --------------------------------------------------------------------------------------------

    def after_noun(self, node: Node, number: str, kind: str, depth: int) -> None:
        """Add a phrase or clause after a noun."""
        follows = (_AFTER_PERSON if kind in ("person", "body") else _AFTER)(self.rng)
        if follows == "relative":
            node.add("relcl", self.relative(number, kind, depth))
        elif follows == "infinitive":
            node.add("acl", to_infinitive(self.vp("base", depth)))
        elif follows == "gerund":
            node.add("prep", Node("of")).add("pcomp", self.vp("ing", depth))
        elif follows == "and":
            coordinate(
                node, self.person(depth).node if kind in ("person", "body") else self.thing(depth).node
            )
        else:
            word = "of" if follows == "of" else self.common("links")
            inner = self.thing(depth).node
            if word == "between":
                inner = coordinate(self.word_only(), self.word_only())
            node.add("prep", prep(word, inner))

    def word_only(self) -> Node:
        """Return a noun without modifiers that cannot be counted."""
        return Node(self.word("stuff", "stuff"), speech="NOUN")

    def relative(self, number: str, kind: str, depth: int) -> Node:
        """Return a relative clause about a noun."""
        if kind == "person":
            return self.predicate(Phrase(Node("who", speech="PRON"), number), "present", depth)
        if self.random() < 0.5:  # the noun is the object
            subject = self.subject(depth + 2)
            kind = _AUXILIARY(self.rng)
            form = "en" if kind == "have" else "base" if subject.number != "s" or kind == "modal" else "s"
            subject.node.label = "nsubj"
            parts = [subject.node]
            if kind == "modal":
                parts.append(Node(pick(self.rng, _MODALS), "aux"))
            elif kind == "have":
                parts.append(Node("has" if subject.number == "s" else "have", "aux"))
            head = self.transitive(form)
            head.before[0:0] = parts
            if self.random() < 0.4:
                head.before.insert(0, Node("that", "dobj", "PRON"))
            return head
        head = verb(self.common("shape"), "s" if number == "s" else "base")
        head.lead("nsubj", Node("that", speech="PRON"))
        head.add("dobj", self.whom(depth) if self.random() < 0.5 else self.thing(depth).node)
        return head
