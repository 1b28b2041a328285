"""Scene graphs of real text: the rules on gold parses."""

from collections import Counter
from pathlib import Path

import pytest

from filters.text.scene_graph import SceneGraph, scene_graph
from tests.extras import needs_extra
from tests.filters.text.english_web_treebank import sentences

pytestmark = needs_extra("parsing")
# Sentences of UD English EWT (dev), their gold parses read by hand: relations, attributes, actions, complexity.
WEB = {
    "weblog-blogspot.com_nominations_20041117172713_ENG_20041117_172713-0001": (
        # From the AP comes this story:
        {"story comes from AP"}, set(), ["comes"], 1,
    ),
    "weblog-blogspot.com_nominations_20041117172713_ENG_20041117_172713-0002": (
        # President Bush on Tuesday nominated two individuals to replace retiring jurists on federal courts in the
        # Washington area.
        {
            "Bush nominated individuals", "Bush nominated on Tuesday", "Bush replace jurists", "jurists on courts",
            "courts in area",
        },
        {"Bush president", "individuals two", "jurists retiring", "courts federal", "area washington"},
        ["nominated", "replace"], 4,
    ),
    "weblog-juancole.com_juancole_20040404101100_ENG_20040404_101100-0006": (
        # State is the body with experience in international affairs and administration.
        {"State be body", "body with experience", "experience in affairs", "experience in administration"},
        {"affairs international"}, [], 3,
    ),
    "weblog-juancole.com_juancole_20041111060900_ENG_20041111_060900-0001": (
        # US Marines moved into most of Fallujah on Wednesday, though they were still meeting pockets of resistance.
        {"Marines moved into Fallujah", "Marines moved on Wednesday", "pockets of resistance"},
        {"Marines us", "pockets meeting"}, ["moved", "meeting"], 3,
    ),
    "email-enronsent26_02-0017": (
        # If you received this in error, please contact the sender and delete the material from all computers."
        {"material from computers"}, {"sender contact", "material delete"}, ["received", "contact", "delete"], 2,
    ),
    "answers-20111024210339AAIqPa3_ans-0001": (
        # What is the dress code for males at Del Frisco's Philadelphia?
        {"code for males", "code at Del"}, {"code dress"}, [], 3,
    ),
    "email-enronsent01_01-0027": (set(), {"cards physical", "cards pledge"}, [], 2),  # No physical pledge cards.
}  # fmt: skip


@pytest.fixture(scope="module")
def web(shared_data: Path) -> dict[str, SceneGraph]:
    path = shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"
    if not path.exists():
        pytest.skip("needs ud_english_ewt")
    return dict(sentences(path))


@pytest.mark.parametrize("name", WEB)
def test_gold_parses_of_web_text_by_hand(name: str, web: dict) -> None:
    relations, attributes, actions, complexity = WEB[name]
    doc = web[name]
    graph = scene_graph(doc)
    assert {f"{doc[i]} {verb} {doc[j]}" for i, verb, j in graph.relations} == relations
    assert {f"{doc[i]} {word}" for i, word in graph.attributes} == attributes
    assert (graph.actions, graph.complexity) == (actions, complexity)


def test_every_gold_parse_of_web_text_has_a_sound_graph(web: dict) -> None:
    assert len(web) == 2001
    for doc in web.values():
        graph = scene_graph(doc)
        ends = [end for i, _, j in graph.relations for end in (i, j)] + [i for i, _ in graph.attributes]
        assert all(doc[end].pos_ in {"NOUN", "PROPN"} for end in ends)
        assert all(i != j for i, _, j in graph.relations)
        assert graph.complexity <= 2 * len(doc)
        verbs = [token.lower_ for token in doc if token.pos_ == "VERB"]
        assert not Counter(graph.actions) - Counter(verbs)
