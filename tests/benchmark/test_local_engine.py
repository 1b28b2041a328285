"""The engine of one machine: what its workers return, and what happens when they cannot start or go on."""

import os
from dataclasses import dataclass

import pytest
import torch

from benchmark.engine.local import LocalEngine
from benchmark.errors import UserError


@dataclass
class Square:
    """Squares numbers, but for the one that it breaks at; starts only when it may."""

    starts: bool = True
    breaks_at: int = -1
    light: bool = False

    def setup(self, device: torch.device) -> None:
        """Load nothing."""
        if not self.starts:
            raise UserError("no such model")

    def __call__(self, piece: int) -> tuple[int, int]:
        """Return the square of `piece`, and who made it."""
        if piece == self.breaks_at:
            raise ZeroDivisionError(f"at {piece}")
        return piece * piece, os.getpid()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_piece_is_worked_on_once(workers: int) -> None:
    done = list(LocalEngine("cpu", workers).run(Square(), range(6)))
    assert sorted(square for square, _ in done) == [0, 1, 4, 9, 16, 25]
    assert ({pid for _, pid in done} == {os.getpid()}) == (workers == 1)


def test_light_work_starts_no_process() -> None:
    assert {pid for _, pid in LocalEngine("cpu", 2).run(Square(light=True), range(6))} == {os.getpid()}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_that_shows_when_workers_start_is_told(workers: int) -> None:
    with pytest.raises(UserError, match=r"^no such model$"):
        list(LocalEngine("cpu", workers).run(Square(starts=False), range(4)))


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_error_ends_the_run(workers: int) -> None:
    with pytest.raises(ZeroDivisionError, match="at 3"):
        list(LocalEngine("cpu", workers).run(Square(breaks_at=3), range(50)))
