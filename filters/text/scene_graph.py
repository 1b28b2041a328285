"""Scene graphs of captions: objects, their attributes and the relations between them, from a dependency parse.

The rules follow textual scene graph parsers (Schuster et al. 2015; SPICE, Anderson et al. 2016). They read
two label schemes at once, that of spaCy's English pipelines (ClearNLP) and Universal Dependencies (UD):

| role                      | ClearNLP                    | UD                                      |
| ------------------------- | --------------------------- | --------------------------------------- |
| subject                   | nsubj, nsubjpass            | nsubj, nsubj:pass                       |
| object, also after "be"   | dobj, dative, attr, oprd    | obj, iobj; the noun over a cop          |
| quality after "be"        | acomp                       | the adjective over a cop                |
| preposition and its noun  | prep, agent, dative > pobj  | obl, nmod > case                        |
| attribute before the noun | amod, nummod, compound, nmod| amod, nummod, compound, nmod (no case)  |
| owner                     | poss                        | nmod:poss                               |
| clause about a noun       | acl, relcl                  | acl, acl:relcl                          |
| clause with its subject   | xcomp, advcl, conj          | xcomp, advcl, conj                      |
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

RULES = 2  # part of cache keys: raised when a parse gets another graph
NOUNS, ATTRIBUTES = {"NOUN", "PROPN"}, {"amod", "nummod", "compound", "nmod"}
OBJECTS = {"dobj", "obj", "iobj", "dative", "attr", "oprd"}
PREPOSITIONS = {"prep", "agent", "dative", "advmod"}  # of "next to" the first word is an adverb
CLAUSES, SHARED = {"acl", "relcl"}, {"xcomp", "advcl", "conj"}
BE = {"is", "are", "was", "were", "be", "been", "being", "am", "'s", "'re"}
POSSESSIVES = {"'s", "'", "\u2019s", "\u2019", "s"}
# "A group of dogs" means dogs, and "on top of a box" means on the box: before "of" these nouns name no object.
_STAND_INS = (
    "group groups bunch couple pair pairs lot lots number set row rows piece pieces kind type variety top side front "
    "back left right corner middle center centre bottom end edge photo photos picture pictures image images view up "
    "closeup"
)
# So do these and numbers: "all of the dogs", "one of the dogs".
_QUANTITIES = "all any each both some several few many much more most half"
STAND_INS = frozenset(f"{_STAND_INS} {_QUANTITIES}".split())
# Stative verbs describe a state and not an action: being and having, thinking, feeling and perceiving, as grammars of
# English list them. Postures ("sit") and "wear" or "hold" are visible and do not count as states.
_REGULAR_STATIVES = (
    "adore admire agree appear appreciate assume believe belong concern consist contain cost depend deserve desire "
    "despise detest differ disagree dislike doubt enjoy entail equal exist expect favor favour fear guess hate "
    "include intend interest involve lack like love matter measure mind need owe own possess prefer "
    "realise realize recall recognise recognize regard regret remain remember require resemble satisfy "
    "seem signify sound suffice suit suppose suspect tend trust value want weigh wish"
)
_IRREGULAR_STATIVES = (
    "be am is are was were been being 's 're 'm have has had having 've 'd "
    "feel feels felt feeling fit fits fitting fitted "
    "forget forgets forgot forgotten forgetting hear hears heard hearing know knows knew known knowing "
    "mean means meant meaning see sees saw seen seeing smell smells smelt smelled smelling "
    "taste tastes tasted tasting think thinks thought thinking understand understands understood understanding"
)


def _forms(verb: str) -> set[str]:
    """Return the regular forms of a verb, with and without the doubled letter of "preferred"."""
    stem = verb[:-1] if verb.endswith("e") else verb
    forms = {verb, f"{verb}s", f"{stem}es", f"{stem}ed", f"{stem}ing"}
    forms |= {f"{stem}{stem[-1]}ed", f"{stem}{stem[-1]}ing"}
    if verb.endswith("y"):
        forms |= {f"{verb[:-1]}ies", f"{verb[:-1]}ied"}
    return forms


# Forms, not lemmas, so that the result does not depend on a pipeline's lemmatizer.
STATIVE_FORMS = frozenset(_IRREGULAR_STATIVES.split()).union(*map(_forms, _REGULAR_STATIVES.split()))


@dataclass
class SceneGraph:
    """Objects, attributes and relations in a caption. An object is the index of its token in the parsed document."""

    objects: list[int] = field(default_factory=list)
    # Pairs (object, word), or a verb that relates the object to somebody unnamed ("give me a day").
    attributes: set[tuple[int, str]] = field(default_factory=set)
    relations: set[tuple[int, str, int]] = field(default_factory=set)  # triples (object, predicate, object)
    # Non-stative verbs with a subject, an object of the scene or a noun that they modify, as written.
    actions: list[str] = field(default_factory=list)

    @property
    def complexity(self) -> int:
        """The most attributes and relations of any object, or 0 (Radenovic et al. 2023, section 3.1)."""
        counts = Counter(end for start, _, stop in self.relations for end in {start, stop})
        counts.update(thing for thing, _ in self.attributes)
        return max(counts.values(), default=0)


def scene_graph(doc: "Doc") -> SceneGraph:
    """Return the scene graph of a document with parts of speech and dependencies, in either label scheme."""
    graph = SceneGraph()
    for token in doc:
        if _is_noun(token) and not _is_attribute(token):
            _noun(graph, token)
        if token.pos_ == "VERB" or _is_predicate(token):
            _predicate(graph, token)
    return graph


def _is_noun(token: "Token") -> bool:
    return token.pos_ in NOUNS


def _is_attribute(token: "Token") -> bool:
    """Whether a word describes the noun after it: red, two, or the brick of "brick wall"."""
    return _label(token) in ATTRIBUTES and token.dep_ != "nmod:poss" and not _case(token)


def _label(token: "Token") -> str:
    """Return the label without UD's subtype; ClearNLP's "nsubjpass" as "nsubj"."""
    return "nsubj" if token.dep_ == "nsubjpass" else token.dep_.partition(":")[0]


def _is_predicate(token: "Token") -> bool:
    """Whether a token is a non-verbal predicate: "be", or the head of UD's copula."""
    if token.lower_ in BE and _label(token) not in {"aux", "auxpass", "cop"}:
        return True
    return any(_label(child) == "cop" for child in token.children)


def _thing(noun: "Token") -> "Token":
    """Return the noun that a word represents: "dogs" in "a group of dogs" and in "all of the dogs"."""
    while noun.lower_ in STAND_INS or noun.pos_ == "NUM":
        inner = next((n for word, n in _prepositional(noun) if word == "of" and _is_noun(n)), None)
        if inner is None:
            break
        noun = inner
    return noun


def _expand(token: "Token") -> Iterator["Token"]:
    """Yield the objects that a noun and the nouns coordinated with it name; nothing for a pronoun."""
    queue = [token]
    for noun in queue:
        thing = _thing(noun)
        if _is_noun(thing):
            yield thing
        for joint in {noun.i: noun, thing.i: thing}.values():
            queue += [child for child in joint.children if _label(child) == "conj" and _is_noun(child)]


def _prepositional(token: "Token") -> Iterator[tuple[str, "Token"]]:
    """Yield the prepositions under a token with their nouns: ("on", bed); ("next to", box)."""
    for child in token.children:
        if _label(child) in PREPOSITIONS:
            inner = [c for c in child.children if _label(c) == "prep"]
            for part, words in ((child, child.lower_), *((c, f"{child.lower_} {c.lower_}") for c in inner)):
                yield from ((words, c) for c in part.children if _label(c) == "pobj")
        elif _label(child) in {"obl", "nmod"} and child.dep_ != "nmod:poss":
            case = _case(child)
            if case:
                yield case, child


def _case(noun: "Token") -> str:
    """Return UD's preposition of a noun, of one or more words; "" without one, or for a possessive."""
    cases = [child for child in noun.children if _label(child) == "case" and child.lower_ not in POSSESSIVES]
    return " ".join(
        word.lower_ for case in cases for word in (case, *case.children) if word.dep_ in {"case", "fixed"}
    )


def _noun(graph: SceneGraph, noun: "Token") -> None:
    """Add an object with the attributes, owner and prepositions of its noun phrase."""
    thing = _thing(noun)
    if thing.i != noun.i:  # "a group of dogs on the grass": the dogs are
        _relate(graph, [thing], [(words, n) for words, n in _prepositional(noun) if words != "of"])
        return
    graph.objects.append(noun.i)
    for child in noun.children:
        if child.dep_ in {"poss", "nmod:poss"}:
            graph.relations |= {(owner.i, "have", noun.i) for owner in _expand(child)}
        elif _is_attribute(child):
            graph.attributes |= {(noun.i, word.lower_) for word in (child, *child.conjuncts)}
    _relate(graph, [noun], _prepositional(noun))


def _relate(graph: SceneGraph, subjects: list["Token"], complements: Iterable[tuple[str, "Token"]]) -> bool:
    """Add a relation of every subject to every complement; return whether there is any."""
    things = [(words, thing) for words, noun in complements for thing in _expand(noun)]
    relations = {(one.i, words, other.i) for one in subjects for words, other in things if one.i != other.i}
    graph.relations |= relations
    return bool(relations)


def _predicate(graph: SceneGraph, head: "Token") -> None:
    """Add the relations, attributes and actions of a verb, or of a noun or adjective after "be"."""
    has_subject, subjects, objects = _arguments(head)
    is_verb = head.pos_ == "VERB" and head.lower_ not in BE
    verb = head.lower_ if is_verb else ""
    complements = list(_prepositional(head))
    unnamed = not subjects
    if unnamed:  # "ask questions in this section", "there is a car on the track": the objects are there
        subjects = [thing for noun in objects for thing in _expand(noun)]
    elif not is_verb and _is_noun(head):  # UD: "the mug is near the plate" has the plate over "is"
        complements = [(_case(head) or "be", head)]
    else:
        complements = [(f"{verb} {words}".strip(), noun) for words, noun in complements]
        complements += [(verb or "be", noun) for noun in objects]
    has_relation = _relate(graph, subjects, complements)
    qualities = [
        child
        for child in head.children
        if child.pos_ == "ADJ" and _label(child) in {"acomp", "xcomp", "oprd"}
    ]
    if not is_verb and head.pos_ == "ADJ":
        qualities.append(head)
    if is_verb and (unnamed or not (has_relation or qualities)):  # "ask questions", "the dog sleeps"
        qualities.append(head)
    graph.attributes |= {(subject.i, quality.lower_) for subject in subjects for quality in qualities}
    if is_verb and (has_subject or subjects) and head.lower_ not in STATIVE_FORMS:
        graph.actions.append(head.lower_)


def _arguments(head: "Token") -> tuple[bool, list["Token"], list["Token"]]:
    """Return whether the predicate has a subject, its subjects among the scene's objects, and its objects."""
    objects = [child for child in head.children if _label(child) in OBJECTS and _is_noun(_thing(child))]
    clause = head
    while True:
        nominal = [child for child in clause.children if _label(child) == "nsubj"]
        if _label(clause) in CLAUSES and _is_noun(clause.head):
            if any(_is_noun(child) for child in nominal):  # "the horse that the man rides"
                if clause is head:
                    objects.append(clause.head)
            else:  # "a man riding", "a man who rides"
                return True, _modified(clause), objects
        if nominal:
            return True, [thing for noun in nominal for thing in _expand(noun)], objects
        if _label(clause) not in SHARED or clause.head.i == clause.i or _is_noun(clause.head):
            return False, [], objects
        clause = clause.head


def _modified(clause: "Token") -> list["Token"]:
    """Return the nouns that a clause modifies: its head, and nouns coordinated with it before the clause."""
    noun = clause.head
    joined = [
        child for child in noun.children if _label(child) == "conj" and _is_noun(child) and child.i < clause.i
    ]
    return [_thing(noun), *map(_thing, joined)]
