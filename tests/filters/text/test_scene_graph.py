"""Scene graphs: hand-made parses in both schemes of labels, and gold parses of web text."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from filters.text.scene_graph import STATIVE_FORMS, SceneGraph, scene_graph
from tests.extras import needs_extra
from tests.filters.text.english_web_treebank import sentences
from tests.filters.text.parses import document, parsed

if TYPE_CHECKING:
    from spacy.tokens import Doc

pytestmark = needs_extra("parsing")

# Each caption: ClearNLP parse, UD parse, objects, attributes, relations, actions, complexity.
CASES = {
    "two red balls": (
        "two/NUM/nummod/3 red/ADJ/amod/3 balls/NOUN/ROOT/0",
        "two/NUM/nummod/3 red/ADJ/amod/3 balls/NOUN/root/0",
        "balls", "balls two, balls red", "", "", 2,
    ),
    "the dog is happy": (
        "the/DET/det/2 dog/NOUN/nsubj/3 is/AUX/ROOT/0 happy/ADJ/acomp/3",
        "the/DET/det/2 dog/NOUN/nsubj/4 is/AUX/cop/4 happy/ADJ/root/0",
        "dog", "dog happy", "", "", 1,
    ),
    "a cat is chased by a black dog": (  # passive
        "a/DET/det/2 cat/NOUN/nsubjpass/4 is/AUX/auxpass/4 chased/VERB/ROOT/0 by/ADP/agent/4 a/DET/det/8"
        " black/ADJ/amod/8 dog/NOUN/pobj/5",
        "a/DET/det/2 cat/NOUN/nsubj:pass/4 is/AUX/aux:pass/4 chased/VERB/root/0 by/ADP/case/8 a/DET/det/8"
        " black/ADJ/amod/8 dog/NOUN/obl:agent/4",
        "cat dog", "dog black", "cat chased by dog", "chased", 2,
    ),
    "a black cat is chasing a small brown bird": (  # Radenovic et al. 2023, section 3.1: the bird has complexity 3
        "a/DET/det/3 black/ADJ/amod/3 cat/NOUN/nsubj/5 is/AUX/aux/5 chasing/VERB/ROOT/0 a/DET/det/9"
        " small/ADJ/amod/9 brown/ADJ/amod/9 bird/NOUN/dobj/5",
        "a/DET/det/3 black/ADJ/amod/3 cat/NOUN/nsubj/5 is/AUX/aux/5 chasing/VERB/root/0 a/DET/det/9"
        " small/ADJ/amod/9 brown/ADJ/amod/9 bird/NOUN/obj/5",
        "cat bird", "cat black, bird small, bird brown", "cat chasing bird", "chasing", 3,
    ),
    "trees and bushes growing on green grass": (  # both nouns have the relation; only the grass is "green"
        "trees/NOUN/ROOT/0 and/CCONJ/cc/1 bushes/NOUN/conj/1 growing/VERB/acl/1 on/ADP/prep/4 green/ADJ/amod/7"
        " grass/NOUN/pobj/5",
        "trees/NOUN/root/0 and/CCONJ/cc/3 bushes/NOUN/conj/1 growing/VERB/acl/1 on/ADP/case/7 green/ADJ/amod/7"
        " grass/NOUN/obl/4",
        "trees bushes grass", "grass green", "trees growing on grass, bushes growing on grass", "growing", 3,
    ),
    "a man sits and holds a cup": (  # the second verb has the first one's subject
        "a/DET/det/2 man/NOUN/nsubj/3 sits/VERB/ROOT/0 and/CCONJ/cc/3 holds/VERB/conj/3 a/DET/det/7 cup/NOUN/dobj/5",
        "a/DET/det/2 man/NOUN/nsubj/3 sits/VERB/root/0 and/CCONJ/cc/5 holds/VERB/conj/3 a/DET/det/7 cup/NOUN/obj/5",
        "man cup", "man sits", "man holds cup", "sits holds", 2,
    ),
    "there is a car on the track": (
        "there/PRON/expl/2 is/VERB/ROOT/0 a/DET/det/4 car/NOUN/attr/2 on/ADP/prep/2 the/DET/det/7 track/NOUN/pobj/5",
        "there/PRON/expl/2 is/VERB/root/0 a/DET/det/4 car/NOUN/nsubj/2 on/ADP/case/7 the/DET/det/7 track/NOUN/obl/2",
        "car track", "", "car on track", "", 1,
    ),
    "the mug is beside the plate": (
        "the/DET/det/2 mug/NOUN/nsubj/3 is/AUX/ROOT/0 beside/ADP/prep/3 the/DET/det/6 plate/NOUN/pobj/4",
        "the/DET/det/2 mug/NOUN/nsubj/6 is/AUX/cop/6 beside/ADP/case/6 the/DET/det/6 plate/NOUN/root/0",
        "mug plate", "", "mug beside plate", "", 1,
    ),
    "the girl has the boy 's hat": (  # having is not an action; an owner is a relation
        "the/DET/det/2 girl/NOUN/nsubj/3 has/VERB/ROOT/0 the/DET/det/5 boy/NOUN/poss/7 's/PART/case/5"
        " hat/NOUN/dobj/3",
        "the/DET/det/2 girl/NOUN/nsubj/3 has/VERB/root/0 the/DET/det/5 boy/NOUN/nmod:poss/7 's/PART/case/5"
        " hat/NOUN/obj/3",
        "girl boy hat", "", "boy have hat, girl has hat", "", 2,
    ),
    "a group of dogs on top of a box": (  # neither the group nor the top is an object
        "a/DET/det/2 group/NOUN/ROOT/0 of/ADP/prep/2 dogs/NOUN/pobj/3 on/ADP/prep/4 top/NOUN/pobj/5 of/ADP/prep/6"
        " a/DET/det/9 box/NOUN/pobj/7",
        "a/DET/det/2 group/NOUN/root/0 of/ADP/case/4 dogs/NOUN/nmod/2 on/ADP/case/6 top/NOUN/nmod/4 of/ADP/case/9"
        " a/DET/det/9 box/NOUN/nmod/6",
        "dogs box", "", "dogs on box", "", 1,
    ),
    "a pair of dogs on the grass": (  # what is said of the pair is said of the dogs
        "a/DET/det/2 pair/NOUN/ROOT/0 of/ADP/prep/2 dogs/NOUN/pobj/3 on/ADP/prep/2 the/DET/det/7 grass/NOUN/pobj/5",
        "a/DET/det/2 pair/NOUN/root/0 of/ADP/case/4 dogs/NOUN/nmod/2 on/ADP/case/7 the/DET/det/7 grass/NOUN/nmod/2",
        "dogs grass", "", "dogs on grass", "", 1,
    ),
    "a horse that a man rides": (
        "a/DET/det/2 horse/NOUN/ROOT/0 that/PRON/dobj/6 a/DET/det/5 man/NOUN/nsubj/6 rides/VERB/relcl/2",
        "a/DET/det/2 horse/NOUN/root/0 that/PRON/obj/6 a/DET/det/5 man/NOUN/nsubj/6 rides/VERB/acl:relcl/2",
        "horse man", "", "man rides horse", "rides", 1,
    ),
    "a ball next to a box": (
        "a/DET/det/2 ball/NOUN/ROOT/0 next/ADV/advmod/2 to/ADP/prep/3 a/DET/det/6 box/NOUN/pobj/4",
        "a/DET/det/2 ball/NOUN/root/0 next/ADP/case/6 to/ADP/fixed/3 a/DET/det/6 box/NOUN/nmod/2",
        "ball box", "", "ball next to box", "", 1,
    ),
    "give me a few days": (  # an order is an action if something of the scene takes part
        "give/VERB/ROOT/0 me/PRON/dative/1 a/DET/det/5 few/ADJ/amod/5 days/NOUN/dobj/1",
        "give/VERB/root/0 me/PRON/iobj/1 a/DET/det/5 few/ADJ/amod/5 days/NOUN/obj/1",
        "days", "days few, days give", "", "give", 2,
    ),
    "one of the boys holds a kite": (
        "one/NUM/nsubj/5 of/ADP/prep/1 the/DET/det/4 boys/NOUN/pobj/2 holds/VERB/ROOT/0 a/DET/det/7 kite/NOUN/dobj/5",
        "one/NUM/nsubj/5 of/ADP/case/4 the/DET/det/4 boys/NOUN/nmod/1 holds/VERB/root/0 a/DET/det/7 kite/NOUN/obj/5",
        "boys kite", "", "boys holds kite", "holds", 1,
    ),
    "the girls went to Hackney 's": (  # the possessive is not part of the preposition
        "the/DET/det/2 girls/NOUN/nsubj/3 went/VERB/ROOT/0 to/ADP/prep/3 Hackney/PROPN/pobj/4 's/PART/case/5",
        "the/DET/det/2 girls/NOUN/nsubj/3 went/VERB/root/0 to/ADP/case/5 Hackney/PROPN/obl/3 's/PART/case/5",
        "girls hackney", "", "girls went to hackney", "went", 1,
    ),
    "keep calm and travel": (  # an order without an object is not
        "keep/VERB/ROOT/0 calm/ADJ/acomp/1 and/CCONJ/cc/1 travel/VERB/conj/1",
        "keep/VERB/root/0 calm/ADJ/xcomp/1 and/CCONJ/cc/4 travel/VERB/conj/1",
        "", "", "", "", 0,
    ),
}  # fmt: skip


def readable(doc: "Doc", graph: SceneGraph) -> tuple[str, set[str], set[str], str, int]:
    words = [token.lower_ for token in doc]
    return (
        " ".join(words[i] for i in graph.objects),
        {f"{words[i]} {word}" for i, word in graph.attributes},
        {f"{words[i]} {verb} {words[j]}" for i, verb, j in graph.relations},
        " ".join(graph.actions),
        graph.complexity,
    )


def parts(text: str) -> set[str]:
    return set(text.split(", ")) if text else set()


@pytest.mark.parametrize("scheme", [0, 1], ids=["ClearNLP", "UD"])
@pytest.mark.parametrize("caption", CASES)
def test_graphs_by_hand_in_both_schemes(caption: str, scheme: int) -> None:
    *parses, objects, attributes, relations, actions, complexity = CASES[caption]
    doc = parsed(parses[scheme])
    assert [token.text for token in doc] == caption.split()
    expected = (objects, parts(attributes), parts(relations), actions, complexity)
    assert readable(doc, scene_graph(doc)) == expected


def test_an_empty_document_has_an_empty_graph() -> None:
    graph = scene_graph(document([], [], [], []))
    assert (graph.objects, graph.complexity, graph.actions) == ([], 0, [])


def test_stative_verbs_in_all_their_forms() -> None:
    assert {"have", "has", "had", "knew", "preferred", "loving", "loved", "wants", "belongs"} <= STATIVE_FORMS
    assert not {"sit", "sits", "sitting", "holding", "wearing", "riding", "runs", "ran"} & STATIVE_FORMS


def test_every_gold_parse_of_web_text_has_a_sound_graph(shared_data: Path) -> None:
    path = shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"
    if not path.exists():
        pytest.skip("needs ud_english_ewt")
    docs = [doc for _, doc in sentences(path)]
    assert len(docs) == 2001
    for doc in docs:
        graph = scene_graph(doc)
        ends = [end for i, _, j in graph.relations for end in (i, j)] + [i for i, _ in graph.attributes]
        assert all(doc[end].pos_ in {"NOUN", "PROPN"} for end in ends)
        assert all(i != j for i, _, j in graph.relations)
        assert graph.complexity <= 2 * len(doc)
        verbs = [token.lower_ for token in doc if token.pos_ == "VERB"]
        assert not Counter(graph.actions) - Counter(verbs)
