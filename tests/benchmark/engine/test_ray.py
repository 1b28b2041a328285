"""What can be said of the Ray engine without Ray; tests/slow and tests/full start clusters."""

import os
import pickle
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.engine.base import Piece, T, Work
from benchmark.engine.ray import RayEngine, _Actor
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Filter, Scores
from tests.extras import needs_extra
from tests.pools import rows, write_pool


class Loads:
    light = False

    def setup(self, device: str) -> None:
        self.cache = os.environ["XDG_CACHE_HOME"]

    def __call__(self, piece: int) -> int:
        return piece


def test_an_actor_works_in_the_cache_of_its_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    work, driver = Loads(), tmp_path / "driver"
    (driver / "pairsift").mkdir(parents=True)
    (driver / "pairsift" / "driver-1").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _Actor(work, "cpu", 1, driver / "pairsift" / "driver-1").setup()
    assert work.cache == str(driver)


def test_an_actor_on_a_node_with_another_cache_says_so(tmp_path: Path) -> None:
    elsewhere = tmp_path / "pairsift" / "driver-1"
    with pytest.raises(
        UserError, match=rf"the Ray node .* does not see .*{elsewhere.parent}; set XDG_CACHE_HOME"
    ):
        _Actor(Loads(), "cpu", 1, elsewhere).setup()


@needs_extra("ray")
def test_a_cluster_that_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    for address in (closed, "cluster", "127.0.0.1:99999"):
        with pytest.raises(UserError, match=rf"^engine.address={address}: no Ray cluster answers there"):
            RayEngine(address)


class Brightness(Filter):
    """Scores images."""

    needs = frozenset({"image"})

    def score(self, batch: Batch) -> Scores:
        assert batch.images is not None
        return np.array([np.asarray(image).mean() for image in batch.images], np.float32)


class Weighed:
    """Runs work here, and notes the bytes that an engine with other processes would send and get."""

    def __init__(self) -> None:
        self.work: list[int] = []
        self.per_piece: list[int] = []

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        self.work.append(len(pickle.dumps(work)))
        work.setup("cpu")
        for piece in pieces:
            answer = work(piece)
            self.per_piece.append(len(pickle.dumps(piece)) + len(pickle.dumps(answer)))
            yield answer


def test_no_image_goes_to_a_worker_or_comes_back(tmp_path: Path) -> None:
    small, large = Weighed(), Weighed()
    for engine, count in ((small, 2), (large, 200)):
        shards = [rows(count), rows(count, start=count)]
        pool = Pool("p", str(write_pool(tmp_path / f"{count:03d}", shards)))
        assert len(score_pool(pool, Brightness(), engine).scores) == 2 * count
    assert small.work == large.work
    assert max(large.work) < 10_000
    assert max(large.per_piece) <= max(small.per_piece) + 8 < 1_000
