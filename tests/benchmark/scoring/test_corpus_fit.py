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
from benchmark.scoring.score_pool import fit_filter, score_among, score_pool
from filters.base import Features
from filters.embeddings.corpus import CorpusFilter, PieceWork
from filters.near_duplicates import NearDuplicates
from filters.negcliploss import NegClipLoss
from filters.normsim import NormSim
from filters.vas import Vas
from tests.corpora import make_corpus, unit
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


class Vectors(Features):
    """Vectors for the number in each caption, of image and text."""

    needs = frozenset({"text"})

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        numbers = [int(text.split()[-1]) for text in batch.texts]
        points = unit(np.random.default_rng(0).normal(size=(12, 4)))
        return {"image": points[numbers], "text": points[::-1][numbers]}


MAKE: dict[str, Callable[[], CorpusFilter]] = {
    "negcliploss": lambda: NegClipLoss("m", None, 5, 2, 0.01),
    "vas": lambda: Vas("m", None, None),
    "near_duplicates": lambda: NearDuplicates("m", None, 3),
    "normsim": lambda: NormSim("m", None, 2, None, 4),
}


def scorer(name: str) -> CorpusFilter:
    made = MAKE[name]()
    made.features = (Vectors(),)
    return made


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
    """Two of its workers use 5 processor seconds each per run."""

    runs = 0

    def run(self, work: Work[Any, Any], pieces: Sequence[Any]) -> Iterator[Any]:
        self.runs += 1
        yield from super().run(work, pieces)
        record_workers([Usage(5.0, 0), Usage(5.0, 0)])


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(6), rows(6, 6)])))


def test_what_was_fitted_stays_until_scores_are_removed(pool: Pool) -> None:
    engine = CountingEngine("cpu", 1)
    seconds = fit_filter(pool, scorer("negcliploss"), engine)
    assert engine.runs == 3  # features, and the batches of two partitions
    assert 20 < seconds.processor < 30  # not of the workers that extracted the features
    assert fit_filter(pool, scorer("negcliploss"), engine) == seconds
    assert engine.runs == 3
    folder = fit_folder(pool, scorer("negcliploss"), None)
    assert sorted(path.name for path in folder.glob("[!.]*")) == ["normalisers.npy", "rows", "seconds.json"]
    remove_scores(pool, scorer("negcliploss"))
    assert not folder.exists()


@pytest.mark.parametrize("name", MAKE)
def test_scores_are_the_same_whatever_the_shards(name: str, pool: Pool, tmp_path: Path) -> None:
    if name == "near_duplicates":
        pytest.importorskip("faiss")
    other = Pool("q", str(write_pool(tmp_path / "other", [rows(1, 11), rows(7, 4), rows(4)])))
    one, two = (score_pool(of, scorer(name), LocalEngine("cpu", 1)) for of in (pool, other))
    assert (one.uids == two.uids).all()
    assert np.abs(one.scores - two.scores).max() < 1e-6
    some = save_survivors(pool, one.uids[:5])
    assert (score_among(pool, scorer(name), LocalEngine("cpu", 1), some).uids == one.uids[:5]).all()
    assert fit_folder(pool, scorer(name), some) != fit_folder(pool, scorer(name), None)


@pytest.mark.slow
def test_worker_processes_fit_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(corpus_fit, "LIGHT_SHARDS", 0)
    monkeypatch.setattr("filters.near_duplicates.PIECE", 50)
    points = unit(np.random.default_rng(0).normal(size=(400, 8)))
    pairs = Batch(hashed_uids(400), [], features={"image": points, "text": points[::-1].copy()})
    for make in (lambda: NegClipLoss("m", None, 50, 2, 0.1), lambda: NearDuplicates("m", None, 7)):
        scores = []
        for workers in (1, 2):
            fitted, corpus = make(), make_corpus([pairs])
            corpus._engine = LocalEngine("cpu", workers)
            fitted.fit_corpus(corpus)
            scores.append(fitted.score(pairs))
        assert (scores[0] == scores[1]).all()
