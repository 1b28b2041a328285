"""What can be said of the Ray engine without Ray; tests/slow and tests/full start clusters."""

import pickle
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.engine.base import Piece, T, Work
from benchmark.engine.ray import RayEngine, _Actor
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from tests.benchmark.engine.squares import Square
from tests.benchmark.scoring.test_score_pool import Bright
from tests.extras import needs_extra
from tests.pools import rows, write_pool


def test_an_actor_works_in_the_cache_of_its_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = tmp_path / "driver" / "pairsift" / "driver-1"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    actor = _Actor(Square(), "cpu", 1, token)
    with pytest.raises(
        UserError, match=rf"the Ray node .* does not see .*{token.parent}; set XDG_CACHE_HOME"
    ):
        actor.setup()
    token.parent.mkdir(parents=True)
    token.touch()
    actor.setup()
    assert actor.call(3)[0][3] == str(tmp_path / "driver")


@needs_extra("ray")
def test_a_cluster_that_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    for address in (closed, "cluster", "127.0.0.1:99999"):
        with pytest.raises(UserError, match=rf"^engine.address={address}: no Ray cluster answers there"):
            RayEngine(address)


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
    for engine, count in ((small, 2), (large, 60)):
        shards = [rows(count), rows(count, start=count)]
        pool = Pool("p", str(write_pool(tmp_path / f"{count:03d}", shards)))
        assert len(score_pool(pool, Bright(), engine).scores) == 2 * count
    assert small.work == large.work
    assert max(large.work) < 10_000
    assert max(large.per_piece) <= max(small.per_piece) + 8 < 1_000
