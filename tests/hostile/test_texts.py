"""Captions of the web: as long as they like, models read their beginnings; whatever they hold is shown as text."""

import io
import logging
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from benchmark.cli.mistakes import end_with_mistakes
from benchmark.core.batch import MAX_CHARACTERS
from benchmark.core.progress import CaptionedImage, configure_logging
from benchmark.core.uids import decode_uids
from benchmark.pool.pool import Pool
from benchmark.results.page.leaderboard_page import leaderboard_page
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.table import Table, plain, to_markdown
from benchmark.results.report.terminal import print_tables
from benchmark.results.tensorboard_tracker import _table
from benchmark.results.wandb_tracker import WandbTracker
from benchmark.scoring.shard_reader import PoolBatches
from downstream.evaluation.embedding import evaluate_retrieval
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.metric import Corpus
from downstream.metrics.tokenizer import clean_corpus
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData
from filters.base import Filter
from filters.score_file import ScoreFile
from pairsift.studies.icc.building.captions import captions_from_file
from pairsift.studies.icc.concreteness.evaluation import score_texts
from pairsift.studies.icc.concreteness.explanation import (
    Explanation,
    Word,
    contribution_table,
    explanations_page,
)
from tests.benchmark.results.report.made_run_folders import full_result, write_run_folder
from tests.downstream.tiny_models import CAPTIONS, MemorySubset
from tests.pools import Row, jpeg, write_pool

LONG = "w" * 40_000
SHORT = "a dog " * 682 + "asle"  # as many characters as models read
ODD, SHOWN = "\x1b[2Jdog\u202edlrow\x9b\x00", r"\x1b[2Jdog\u202edlrow\x9b\x00"
TABLE = Table(ODD, ["word", "count"], [plain(ODD, "1")], [ODD])


class Lengths(Filter):
    """The number of characters of a caption that a filter gets."""

    def __init__(self, *needs: str) -> None:
        self.needs = frozenset(needs)

    def score(self, batch):
        return np.array([len(text) for text in batch.texts], np.float32)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    samples = [Row(f"{i}", f"http://x/{i}", text, jpeg(i)) for i, text in enumerate((SHORT, LONG, "a dog"))]
    return Pool("odd", str(write_pool(tmp_path / "pool", [samples])))


@pytest.mark.parametrize("needs", [("text",), ("text", "image")])
def test_filters_read_the_beginnings_of_captions(pool: Pool, tmp_path: Path, needs: tuple[str, ...]) -> None:
    (batch,) = PoolBatches(pool, Lengths(*needs))
    assert batch.texts == [SHORT, LONG[:MAX_CHARACTERS], "a dog"]
    (shard,) = pool.shards(frozenset({"text"}))
    (whole,) = pool.batches(shard, frozenset({"text"}), 10, Counter())
    assert whole.texts == [SHORT, LONG, "a dog"]
    assert decode_uids(whole.uids)[1] == Row("1", "http://x/1", LONG, b"").uid  # a hash of all of it
    (tmp_path / "scores.csv").write_text(f"caption,score\n{LONG},0.5\na dog,0.25\n")
    scorer = ScoreFile(str(tmp_path / "scores.csv"), "score")
    scorer.setup(torch.device("cpu"))
    (batch,) = PoolBatches(pool, scorer)
    assert scorer.score(batch).tolist() == pytest.approx([np.nan, 0.5, 0.25], nan_ok=True)


def test_studies_read_the_beginnings_of_captions(tmp_path: Path) -> None:
    assert score_texts(Lengths("text"), [LONG, "a dog"]).tolist() == [MAX_CHARACTERS, 5]
    (tmp_path / "captions.csv").write_text(f"caption\n{LONG}\n")
    assert list(map(len, captions_from_file(str(tmp_path / "captions.csv")).texts)) == [MAX_CHARACTERS]


class Constant:
    """Embeds everything as one vector."""

    texts: list[str]

    def embed_images(self, images: Any) -> Any:
        return np.ones((len(list(images)), 1), np.float32)

    def embed_texts(self, texts: Iterable[str]) -> Any:
        self.texts = list(texts)
        return np.ones((len(self.texts), 1), np.float32)


def test_evaluation_and_training_read_the_beginnings_of_captions(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "0.png")
    found = EvaluationSet("set", [Item(0, ImageFile(tmp_path / "0.png"), [LONG])], False, True)
    model = Constant()
    evaluate_retrieval(model, found, ImageScores())
    assert list(map(len, model.texts)) == [MAX_CHARACTERS]
    corpus = clean_corpus(Corpus({0: LONG}, {0: [LONG, SHORT]}))
    assert list(map(len, [corpus.candidates[0], *corpus.references[0]])) == [MAX_CHARACTERS] * 3
    assert corpus.references[0][1] == SHORT
    subset = MemorySubset([CAPTIONS[0], CAPTIONS[1] + " left" * 10_000])
    data = TrainingData(
        subset, SampleOrder.over(2, seed=0), lambda s: {"n": torch.tensor([len(of.text) for of in s])}
    )
    read = StepBatches(data, 2, 2)[0].inputs["n"].tolist()
    assert sorted(read) == [len(CAPTIONS[0]), MAX_CHARACTERS]


def hides_nothing(text: str) -> bool:
    """Whether a text shows what is odd in it as escapes, and holds nothing of it as it is."""
    return SHOWN in text and not set(ODD) & set("\x1b\u202e\x9b\x00") & set(text)


def test_pages_show_control_characters_as_escapes(tmp_path: Path) -> None:
    run = full_result("clip", 0.5)
    write_run_folder(tmp_path / run.run_id, texts=[ODD])
    page = leaderboard_page([run], RunFolders({run.run_id: tmp_path / run.run_id}), [TABLE])
    assert hides_nothing(page.partition('id="plotly"')[0])
    assert page.count(SHOWN) > 5
    words = [Word(ODD, 1.0), Word(ODD, None)]
    assert hides_nothing(explanations_page([Explanation(ODD, "icc", {}, "key", 0.5, words)]))


def test_terminal_and_markdown_show_control_characters_as_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_tables([TABLE])
    assert hides_nothing(capsys.readouterr().out)
    target = io.StringIO()
    table = contribution_table(Explanation(ODD, "icc", {}, "key", 0.5, [Word(ODD, 1.0)]))
    Console(file=target, width=80).print(table)
    assert hides_nothing(target.getvalue())
    shown = to_markdown("Tables", "", [TABLE])
    assert shown.replace("\\[", "[").replace("\\\\", "\\").count(SHOWN) == 3
    assert not set("\x1b\u202e\x9b\x00") & set(shown + _table(["caption"], [[ODD]]))  # TensorBoard's


def test_wandb_shows_control_characters_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker, logged = WandbTracker("project", "group"), {}
    monkeypatch.setattr(tracker, "log", lambda values, step: logged.update(values))
    monkeypatch.setattr(
        tracker, "_wandb", pytest.importorskip("wandb"), raising=False
    )  # as when it has started
    tracker.log_captions("captions", [CaptionedImage(Image.new("RGB", (4, 4)), ODD, (ODD, "a dog"))], step=1)
    assert [row[1:] for row in logged["captions"].data] == [[SHOWN, f"{SHOWN}\na dog"]]


def test_logs_and_errors_are_single_lines(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    try:
        configure_logging()
        logging.getLogger("benchmark.x").warning("left out %s", f"/data/{ODD}\nerror: all is lost")
    finally:
        root.handlers = before
    log = capsys.readouterr().err
    assert hides_nothing(log)
    assert len(log.splitlines()) == 1
    with pytest.raises(SystemExit):
        end_with_mistakes(f"/data/{ODD}\u2028x is missing")
    error = capsys.readouterr().err
    assert hides_nothing(error)
    assert len(error.splitlines()) == 1
