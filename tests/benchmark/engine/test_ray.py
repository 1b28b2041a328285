"""What can be said of the Ray engine without Ray; tests/slow and tests/full start clusters."""

import os
import socket
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.engine.ray import RayEngine, _Actor, _token
from tests.extras import needs_extra


class Loads:
    light = False

    def setup(self, device: str) -> None:
        self.cache = os.environ["XDG_CACHE_HOME"]

    def __call__(self, piece: int) -> int:
        return piece


def test_an_actor_works_in_the_cache_of_its_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    work, driver = Loads(), cache_dir().parent
    with _token() as token:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        _Actor(work, "cpu", 1, token).setup()
    assert work.cache == str(driver)
    assert not token.exists()


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
