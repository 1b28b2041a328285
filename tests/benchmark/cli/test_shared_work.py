"""What the jobs of a sweep do together: one pass over the tars for all, with what single runs leave."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.pool import reshard, tar_writer
from benchmark.pool.pool import Pool
from filters.base import Features, Filter, Scores
from tests.command_line import Run
from tests.pools import rows, write_pool

FILTERS = ("random", "no_filter")
SIZES = (4, 9)
TESTS = "tests.benchmark"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shards = [rows(6), rows(6, start=6), rows(6, start=12)]
    return write_pool(tmp_path_factory.mktemp("shared") / "pool", shards)


def settings(pool: Path, task: str, *others: str) -> list[str]:
    return [f"task={task}", "pool=img2dataset", f"pool.url={pool}", "engine.workers=1", *others]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def joined(values: Sequence[object]) -> str:
    return ",".join(map(str, values))


def reshard_sweep(pool: Path, out: Path) -> list[str]:
    output = f"task.output='{out}/${{hydra:runtime.choices.filter}}-${{size.samples}}'"
    return settings(pool, "reshard", output, f"filter={joined(FILTERS)}", f"size.samples={joined(SIZES)}")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tars that are opened to be copied from, in order."""
    tars, local = list[str](), Pool.local

    class Counting(tar_writer.WriteTars):
        def __call__(self, outputs: Sequence[tar_writer.OutputTar]) -> int:
            with monkeypatch.context() as patch:
                patch.setattr(
                    Pool, "local", lambda pool, shard: tars.append(shard.name) or local(pool, shard)
                )
                return super().__call__(outputs)

    monkeypatch.setattr(reshard, "WriteTars", Counting)
    return tars


@pytest.mark.slow
def test_a_sweep_writes_what_single_runs_write(
    run: Run, pool: Path, tmp_path: Path, opened: list[str]
) -> None:
    done = run(*reshard_sweep(pool, tmp_path / "together"))
    assert done.returncode == 0, done.stderr
    assert "Sweep of 4 runs: 4 done" in done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("wrote")] == [
        f"wrote {size} of {size} samples" for _ in FILTERS for size in SIZES
    ]
    assert opened == ["00000000", "00000001", "00000002"]
    for name in FILTERS:
        for size in SIZES:
            one = [f"filter={name}", f"size.samples={size}", f"task.output={tmp_path}/alone/{name}-{size}"]
            assert run(*settings(pool, "reshard", *one)).returncode == 0
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


@pytest.mark.slow
def test_jobs_that_cannot_write_do_not_stop_the_others(
    run: Run, pool: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    taken = tmp_path / "together" / "random-9" / "mine.txt"
    taken.parent.mkdir(parents=True)
    taken.touch()
    done = run(*reshard_sweep(pool, tmp_path / "together"))
    assert done.returncode == 2
    assert "Sweep of 4 runs: 3 done, 0 skipped, 1 failed" in done.stderr
    assert "random-9 holds other files" in caplog.text
    assert [path.name for path in taken.parent.iterdir()] == ["mine.txt"]


def test_a_sweep_reads_each_tar_once(run: Run, pool: Path, tmp_path: Path, opened: list[str]) -> None:
    output = f"task.output='{tmp_path}/${{size.samples}}'"
    done = run(*settings(pool, "reshard", output, "filter=no_filter", "size.samples=16,17"))
    assert done.returncode == 0, done.stderr
    assert opened == ["00000000", "00000001", "00000002"]


@pytest.mark.slow
def test_one_folder_for_all_jobs_is_the_first_ones(run: Run, pool: Path, tmp_path: Path) -> None:
    one = settings(pool, "reshard", f"task.output={tmp_path}/out", "filter=random", "size.samples=4,5")
    done = run(*one)
    assert (done.returncode, done.stdout.splitlines()[0]) == (2, "wrote 4 of 4 samples")
    assert "out holds another subset" in done.stderr


@pytest.mark.slow
def test_jobs_go_on_with_what_an_error_left(
    run: Run,
    pool: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write, calls = tar_writer.WriteTars.__call__, list[int]()

    def fail_at_first(self: tar_writer.WriteTars, outputs: Sequence[tar_writer.OutputTar]) -> int:
        calls.append(len(outputs))
        if len(calls) == 1:
            write(self, outputs[:1])
            raise RuntimeError("a full disk")
        return write(self, outputs)

    with monkeypatch.context() as patch:
        patch.setattr(tar_writer.WriteTars, "__call__", fail_at_first)
        done = run(*reshard_sweep(pool, tmp_path / "stopped"))
    assert done.returncode == 0, done.stderr
    assert calls == [4, 1, 1, 1], "of the four tars one was left"
    assert "RuntimeError: a full disk" in caplog.text
    assert run(*reshard_sweep(pool, tmp_path / "whole")).returncode == 0
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_a_filter_that_fails_does_not_stop_the_others(
    run: Run, pool: Path, caplog: pytest.LogCaptureFixture
) -> None:
    working = [f"{TESTS}.scoring.test_shared_features.{name}" for name in ("Bright", "Contrasted")]
    targets = joined([*working, f"{TESTS}.command_line.test_shared_work.Failing"])
    sweep = settings(pool, "score", "filter=random", "~filter.seed", f"filter._target_={targets}")
    done = run(*sweep)
    assert done.returncode == 1
    assert "Sweep of 3 runs: 2 done, 0 skipped, 1 failed" in done.stderr
    assert "images are read once for bright, contrasted, failing, on 3 shards" in caplog.text
    assert caplog.text.count("ZeroDivisionError") > 1, "what it did to the others, and its own end"


class Broken(Features):
    """Has a bug."""

    needs = frozenset({"image"})
    batch_size = 4

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        raise ZeroDivisionError


class Failing(Filter):
    needs = frozenset()

    def __init__(self) -> None:
        self.features = (Broken(),)

    def score(self, batch: Batch) -> Scores:
        raise AssertionError
