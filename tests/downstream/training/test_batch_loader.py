"""Processes that read ahead: how many there are, in which order their items come, and how they end."""

import os
import signal

import pytest
import torch
from tokenizers import Tokenizer

from benchmark.core.errors import UserError
from downstream.training.batch_loader import default_workers, loader

PANIC = '{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}'
CPU = torch.device("cpu")


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


class Deadly:
    """Items at which the process is killed, as without memory."""

    def __getitem__(self, item: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return item


def test_a_killed_reader_is_one_line() -> None:
    with pytest.raises(UserError, match=r"was killed, as memory .* set a smaller training.workers, or 0$"):
        list(loader(Deadly(), range(2), 1, CPU))
