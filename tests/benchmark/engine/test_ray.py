"""What can be said of the Ray engine without Ray; tests/slow and tests/full start clusters."""

import os
from pathlib import Path

import pytest
import torch

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.engine.ray import _Actor, _token


class Loads:
    light = False

    def setup(self, device: torch.device) -> None:
        self.cache = os.environ["XDG_CACHE_HOME"]

    def __call__(self, piece: int) -> int:
        return piece


def test_an_actor_works_in_the_cache_of_its_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    work, driver = Loads(), cache_dir().parent
    with _token() as token:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        _Actor(work, "cpu", token).setup()
    assert work.cache == str(driver)
    assert not token.exists()


def test_an_actor_on_a_node_with_another_cache_says_so(tmp_path: Path) -> None:
    elsewhere = tmp_path / "pairsift" / "driver-1"
    with pytest.raises(
        UserError, match=rf"the Ray node .* does not see .*{elsewhere.parent}; set XDG_CACHE_HOME"
    ):
        _Actor(Loads(), "cpu", elsewhere).setup()
