"""Complexity and Action: scores by hand, what is wrong with a pipeline, and the demo's parser on its own captions."""

import importlib.metadata
import shutil
from pathlib import Path

import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.complexity_action import ComplexityAction, rank
from filters.text import parsing
from filters.text.parsing import MAX_CHARACTERS, load_pipeline, pipeline_revision
from filters.text.scene_graph import SceneGraph
from tests.demos import demo_model
from tests.extras import needs_extra
from tests.pools import numbered_uids

pytestmark = needs_extra("parsing")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def made() -> ComplexityAction:
    made = ComplexityAction(demo_model("parser"))
    made.setup(CPU)
    return made


def score(made: ComplexityAction, *texts: str) -> list[float]:
    return made.score(Batch(numbered_uids(len(texts)), list(texts))).tolist()


def test_the_rule_counts_before_complexity() -> None:
    still = SceneGraph([0], {(0, "red"), (0, "big"), (0, "shiny")}, set(), [])
    acting = SceneGraph([0], {(0, "sleeps")}, set(), ["sleeps"])
    busy = SceneGraph([0, 3], {(0, "red")}, {(0, "chases", 3)}, ["chases"])
    alone = SceneGraph([], set(), set(), ["sleeps"])  # "she sleeps": an action, but nothing with a relation
    ranks = [rank(graph) for graph in (SceneGraph(), alone, still, acting, busy)]
    assert ranks == pytest.approx([0, 0, 0.75, 1.5, 1 + 2 / 3])


def test_scores_of_demo_captions_by_hand(made: ComplexityAction) -> None:
    captions = {
        "a ball": 0,  # C0
        "two red balls": 2 / 3,  # C2 without action
        "a red ball on the grass": 2 / 3,
        "a dog sleeping on the grass": 1.5,  # dog sleeping on grass
        "a black dog is running": 1 + 2 / 3,  # black, running
        "a photo of a small red ball": 2 / 3,  # the photo is not an object
        "two big black dogs running on the beach": 1.8,  # two, big, black, running on beach
        "": 0,
    }
    assert score(made, *captions) == pytest.approx(list(captions.values()))


def test_of_a_long_caption_the_beginning_is_read(made: ComplexityAction) -> None:
    beginning = "a dog sleeping on the grass " * (MAX_CHARACTERS // 28 + 1)
    assert len(beginning) > MAX_CHARACTERS
    assert score(made, beginning) == score(made, beginning + "and two red balls " * 500)
    assert all(
        0 <= value < 2 for value in score(made, "dog " * 5000, "x" * 10_000, "a\x00b\u2028 dog", "((((" * 900)
    )


def test_an_installed_pipeline_counts_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_locate", lambda name: None)  # any package will do here
    assert pipeline_revision("spacy") == f"spacy-{importlib.metadata.version('spacy')}"


def test_unusable_pipelines_are_the_users_mistake(tmp_path: Path) -> None:
    import spacy

    shutil.copytree(demo_model("parser"), tmp_path / "broken")
    (tmp_path / "broken" / "parser" / "model").write_bytes(b"")
    (tmp_path / "no_config").mkdir()
    (tmp_path / "no_config" / "config.cfg").write_text("nonsense")
    (tmp_path / "empty").mkdir()
    spacy.blank("en").to_disk(tmp_path / "untagged")
    for name, message in {
        "broken": "cannot be loaded by spaCy",
        "no_config": "cannot be loaded by spaCy",
        "empty": r"filter\.parser=FOLDER",
        "untagged": "must have a tagger and a dependency parser",
    }.items():
        with pytest.raises(UserError, match=message):
            load_pipeline(str(tmp_path / name))
    with pytest.raises(UserError, match="python -m spacy download en_core_web_none"):
        ComplexityAction("en_core_web_none").setup(CPU)
    with pytest.raises(UserError, match=r"filter\.parser="):
        ComplexityAction("en_core_web_none").identity()


def test_words_that_were_seen_are_forgotten(made: ComplexityAction) -> None:
    strings = made.parser._pipeline.vocab.strings
    score(made, "a dog sleeping on the grass")
    before = len(strings)
    score(made, *(f"a zq{number} dog sleeping on zk{number}" for number in range(300)))
    assert len(strings) == before
