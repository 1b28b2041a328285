"""What another process does between two lines of this one: it removes, replaces or begins the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError, local
from types import ModuleType
from typing import Any

import pytest
import torch

from benchmark.core.errors import UserError
from benchmark.core.output_folder import OutputFolder
from benchmark.engine.local import LocalEngine
from benchmark.pool import reshard
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from pairsift.studies.ds_clip import caption_writer
from pairsift.studies.icc.building import steps
from pairsift.studies.icc.building.steps import Steps
from tests.pools import rows, write_pool

CPU = torch.device("cpu")


def test_all_processes_of_a_launch_agree_on_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main process may finish a step before the others have read its manifest."""
    process, barrier, finished, waited = local(), Barrier(2), Barrier(2), {True: 0, False: 0}

    def wait_for_all(_: torch.device) -> None:
        waited[process.is_main] += 1
        barrier.wait(10)

    def read(folder: Path) -> dict[str, Any]:
        if not process.is_main and waited[False] == 1:
            with suppress(BrokenBarrierError):
                finished.wait(0.2)
        return original(folder)

    def work(_: Path) -> dict[str, Any]:
        return {"done": 1}

    def finish(*arguments: Any) -> None:
        original_finish(*arguments)
        with suppress(BrokenBarrierError):
            finished.wait(0.2)

    def run(is_main: bool) -> dict[str, Any]:
        process.is_main = is_main
        return dict(Steps(tmp_path, CPU).run("a", {}, work).facts)

    original, original_finish = steps._read, steps._finish
    monkeypatch.setattr(steps, "library_versions", dict)
    monkeypatch.setattr(steps, "_read", read)
    monkeypatch.setattr(steps, "_finish", finish)
    monkeypatch.setattr(steps, "wait_for_all", wait_for_all)
    monkeypatch.setattr(steps, "is_main_process", lambda: process.is_main)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(run, (True, False))) == [{"done": 1}, {"done": 1}]
    assert waited[True] == waited[False]


def at_once(
    monkeypatch: pytest.MonkeyPatch, place: ModuleType | type, name: str, begin: Callable[[int], Any]
) -> int:
    """Return how many of two commands can begin in one folder, where both reach the function `name` at once."""
    both = Barrier(2)

    def reached(*arguments: Any) -> Any:
        with suppress(BrokenBarrierError):
            both.wait(0.2)
        return original(*arguments)

    def refused(number: int) -> bool:
        try:
            begin(number)
        except UserError as error:
            return "another" in str(error) or "other" in str(error)
        return False

    original = getattr(place, name)
    monkeypatch.setattr(place, name, reached)
    with ThreadPoolExecutor(2) as threads:
        return 2 - sum(threads.map(refused, range(2)))


def test_one_of_two_commands_gets_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def augment(number: int) -> None:
        caption_writer._check_manifest(tmp_path / "captions", {"selection": number})

    def export_uids(number: int) -> None:
        reshard.claim(OutputFolder(tmp_path / "pairs"), f"pairs {number}")

    assert at_once(monkeypatch, caption_writer, "write_text", augment) == 1
    assert at_once(monkeypatch, reshard, "check_unused", export_uids) == 1


def test_one_of_two_reshardings_gets_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools = [Pool("x", str(write_pool(tmp_path / str(number), [rows(1, number)]))) for number in range(2)]

    def begin(number: int) -> None:
        pool = pools[number]
        write_shards(pool, pool.index(pool.tars[0]).uids, tmp_path / "out", LocalEngine(workers=1))

    assert at_once(monkeypatch, OutputFolder, "write_text", begin) == 1
