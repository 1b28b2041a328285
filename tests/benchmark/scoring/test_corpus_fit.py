import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.uids import decode_uids
from benchmark.engine.base import Work
from benchmark.engine.local import LocalEngine
from benchmark.engine.workers import Usage, record_workers
from benchmark.pool.pool import Pool
from benchmark.scoring import corpus_fit
from benchmark.scoring.score_folder import fit_folder, remove_scores, save_survivors
from benchmark.scoring.score_pool import fit_filter, score_pool
from filters.embeddings.corpus import CorpusFilter, PieceWork
from filters.near_duplicates import NearDuplicates
from filters.negcliploss import NegClipLoss
from filters.normsim import NormSim
from filters.vas import Vas
from tests.corpora import make_corpus
from tests.filters.checkpoints import open_clip_model
from tests.pools import hashed_uids, rows, write_pool


class Doubled(PieceWork):
    """Twice the number of the piece; the seventh raises while `broken` is there."""

    def __init__(self, log: list[int], broken: Path) -> None:
        self.log = log
        self.broken = broken

    def __call__(self, piece: int, /) -> Any:
        if piece == 7 and self.broken.exists():
            raise RuntimeError("killed")
        self.log.append(piece)
        return np.array([2 * piece])


def batch(count: int) -> Batch:
    points = np.random.default_rng(0).normal(size=(count, 3))
    return Batch(hashed_uids(count), [], features={"image": points.astype(np.float32)})


def test_a_killed_step_goes_on_from_the_pieces_done(tmp_path: Path) -> None:
    corpus, log, broken = make_corpus([batch(3)]), list[int](), tmp_path / "broken"
    broken.touch()
    with pytest.raises(RuntimeError, match="killed"):
        corpus.map("doubled", Doubled(log, broken), 10)
    broken.unlink()
    found = corpus.map("doubled", Doubled(log, broken), 10)
    assert [int(array.values[0]) for array in found] == list(range(0, 20, 2))
    assert sorted(log) == list(range(10))  # each piece once


def test_embeddings_are_pickled_as_paths() -> None:
    corpus = make_corpus([batch(2000)])
    images = corpus.embeddings("image")
    images[:]
    sent = pickle.dumps((images, corpus.uids))
    assert len(sent) < 1000
    again, uids = pickle.loads(sent)
    assert (again[5:9] == images[5:9]).all()
    assert decode_uids(uids[:]) == decode_uids(corpus.uids[:])


class CountingEngine(LocalEngine):
    runs = 0

    def run(self, work: Work[Any, Any], pieces: Sequence[Any]) -> Iterator[Any]:
        self.runs += 1
        return super().run(work, pieces)


@pytest.fixture
def clip(tmp_path: Path) -> str:
    return open_clip_model(tmp_path / "clip")


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(6), rows(6, 6)])))


def test_what_was_fitted_stays_until_scores_are_removed(pool: Pool, clip: str) -> None:
    engine = CountingEngine("cpu", 1)
    seconds = fit_filter(pool, NegClipLoss(clip, None, 5, 2, 0.01), engine)
    assert engine.runs == 3  # features, and the batches of two partitions
    scorer = NegClipLoss(clip, None, 5, 2, 0.01)
    assert fit_filter(pool, scorer, engine) == seconds
    assert engine.runs == 3
    folder = fit_folder(pool, scorer, None)
    assert sorted(path.name for path in folder.glob("[!.]*")) == ["normalisers.npy", "rows", "seconds.json"]
    remove_scores(pool, scorer)
    assert not folder.exists()


class EngineWithWorkers(LocalEngine):
    """Two of its workers use 5 processor seconds each."""

    def run(self, work: Work[Any, Any], pieces: Sequence[Any]) -> Iterator[Any]:
        yield from super().run(work, pieces)
        record_workers([Usage(5.0, 0), Usage(5.0, 0)])


def test_the_workers_of_a_fit_are_part_of_its_cost(pool: Pool, clip: str) -> None:
    engine = EngineWithWorkers("cpu", 1)
    seconds = fit_filter(pool, NegClipLoss(clip, None, 5, 1, 0.01), engine)
    assert 10 < seconds.processor < 20  # not those that extracted the features


@pytest.mark.parametrize("name", ["negcliploss", "vas", "near_duplicates", "normsim"])
def test_scores_are_the_same_whatever_the_shards(name: str, pool: Pool, clip: str, tmp_path: Path) -> None:
    if name == "near_duplicates":
        pytest.importorskip("faiss")
    other = Pool("q", str(write_pool(tmp_path / "other", [rows(1, 11), rows(7, 4), rows(4)])))
    make: dict[str, Callable[[], CorpusFilter]] = {
        "negcliploss": lambda: NegClipLoss(clip, None, 5, 2, 0.01),
        "vas": lambda: Vas(clip, None, None),
        "near_duplicates": lambda: NearDuplicates(clip, None, 3),
        "normsim": lambda: NormSim(clip, None, 2, None, 4),
    }
    one, two = (score_pool(of, make[name](), LocalEngine("cpu", 1)) for of in (pool, other))
    assert (one.uids == two.uids).all()
    assert np.abs(one.scores - two.scores).max() < 1e-6


def test_another_choice_of_survivors_is_another_fit(pool: Pool, clip: str) -> None:
    engine = LocalEngine("cpu", 1)
    uids = score_pool(pool, Vas(clip, None, None), engine).uids
    some = save_survivors(pool, uids[:5])
    of_some = score_pool(pool, Vas(clip, None, None), engine, some)
    assert (of_some.uids == uids[:5]).all()
    assert fit_folder(pool, Vas(clip, None, None), some) != fit_folder(pool, Vas(clip, None, None), None)


@pytest.mark.slow
def test_worker_processes_fit_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(corpus_fit, "LIGHT_SHARDS", 0)
    monkeypatch.setattr("filters.near_duplicates.PIECE", 50)
    points = np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    pairs = Batch(hashed_uids(400), [], features={"image": points, "text": points[::-1].copy()})
    for make in (lambda: NegClipLoss("m", None, 50, 2, 0.1), lambda: NearDuplicates("m", None, 7)):
        scores = []
        for workers in (1, 2):
            scorer, corpus = make(), make_corpus([pairs])
            corpus._engine = LocalEngine("cpu", workers)
            scorer.fit_corpus(corpus)
            scores.append(scorer.score(pairs))
        assert (scores[0] == scores[1]).all()
