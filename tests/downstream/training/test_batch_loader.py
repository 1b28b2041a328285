"""Processes that read ahead: how many there are, and how much of what they read may wait."""

import os
from functools import partial

import pytest
import torch
from tokenizers import Tokenizer

from benchmark.core.errors import UserError
from downstream.training import batch_loader
from downstream.training.batch_loader import default_workers, loader, queue, queue_bytes

PANIC = '{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}'
CPU, GIB = torch.device("cpu"), 2**30


@pytest.mark.parametrize(
    ("device", "cores", "processes", "expected"),
    [
        ("cpu", 1, 1, 0),
        ("cpu", 2, 1, 1),
        ("cpu", 16, 2, 2),
        ("cuda", 16, 1, 15),
        ("cuda", 96, 8, 11),
        ("cuda", 96, 1, 16),
    ],
)
def test_loader_processes_follow_cores_and_gpus(
    device: str, cores: int, processes: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr("benchmark.core.launch._given_cores", None)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    assert default_workers(torch.device(device)) == expected


@pytest.mark.parametrize(
    ("workers", "item_bytes", "expected"),
    [
        (0, GIB, (0, 0)),
        (4, 0, (4, 2)),  # small items
        (15, 0, (15, 1)),
        (4, GIB, (4, 2)),
        (4, 2 * GIB, (4, 1)),
        (15, 2 * GIB, (4, 1)),
        (15, 9 * GIB, (0, 1)),
    ],
)
def test_items_that_wait_fit_into_memory(
    workers: int, item_bytes: int, expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_loader, "queue_bytes", lambda: 8 * GIB)
    assert queue(workers, item_bytes) == expected


def test_processes_of_a_launch_share_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = queue_bytes()
    assert 0 < alone <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert queue_bytes() == pytest.approx(alone / 8, rel=0.05)


class Wrong:
    """Items that cannot be read: a mistake of the user, and a text at which the tokenizer panics."""

    def __getitem__(self, item: int) -> object:
        if item:
            raise UserError("choose another pool")
        return Tokenizer.from_str(PANIC)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_mistake_in_another_process_keeps_its_line(workers: int) -> None:
    with pytest.raises(UserError, match=r"^choose another pool$"):
        list(loader(Wrong(), range(1, 3), workers, CPU))
    with pytest.raises(UserError, match="Cannot parse precompiled_charsmap"):
        list(loader(Wrong(), range(3), workers, CPU))


def test_large_batches_come_in_order_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_loader, "queue_bytes", lambda: GIB)
    squares = [n * n for n in range(9)]
    for size in (0, GIB // 2, GIB, 2 * GIB):
        assert list(loader(squares, range(2, 9), 2, CPU, partial(int, size))) == squares[2:]
