"""The command line as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tests.command_line import Done, Run, assert_one_line
from tests.pools import rows, write_pool

ROOT = Path(__file__).resolve().parents[3]


def run_process(*arguments: str, cwd: Path = ROOT) -> Done:
    command = [sys.executable, "-m", "benchmark", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def pool_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pool(tmp_path_factory.mktemp("cli") / "pool", [rows(30)])


POOL = ["task=select", "pool=img2dataset", "filter=random", "size.samples=10"]


def test_a_mistake_ends_a_real_process_with_exit_code_2() -> None:
    assert_one_line(run_process("filter=iccc"), "did you mean 'icc'?")


def test_a_launch_says_a_mistake_once_per_machine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, stderr in (("0", "error: size=0 must be "), ("1", "")):
        monkeypatch.setenv("LOCAL_RANK", rank)
        done = run("size=0")
        assert (done.returncode, done.stderr[:22]) == (2, stderr)


def test_select_prints_the_subset_file_and_reuses_scores(
    run: Run, pool_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(*POOL, f"pool.url={pool_folder}")
    assert first.returncode == 0, first.stderr
    path = Path(first.stdout.splitlines()[-1])
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert (manifest["k"], manifest["filter"], manifest["scored"]) == (10, "random", 30)
    second = run(*POOL, f"pool.url={pool_folder}", "size.samples=5")
    assert "reusing the scores of random" in caplog.text
    assert Path(second.stdout.splitlines()[-1]) != path


def test_infinity_in_a_config_is_written_by_its_name(run: Run, pool_folder: Path) -> None:
    done = run(*POOL, f"pool.url={pool_folder}", "filter.minimum=-inf")
    assert done.returncode == 0, done.stderr
    manifest = Path(done.stdout.split()[-1]).with_suffix(".json").read_text()
    assert json.loads(manifest, parse_constant=pytest.fail)["config"]["minimum"] == "-inf"


def test_a_user_without_a_home_folder_needs_only_a_cache(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pool_folder: Path
) -> None:
    def getpwuid(uid: int) -> NoReturn:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", getpwuid)
    monkeypatch.delenv("HOME")
    monkeypatch.chdir(tmp_path)
    done = run(*POOL, f"pool.url={pool_folder}", "seed=0,1")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert list(tmp_path.iterdir()) == []
    monkeypatch.delenv("XDG_CACHE_HOME")
    must = "must be a folder of this machine"
    assert_one_line(run(*POOL, f"pool.url={pool_folder}"), f"XDG_CACHE_HOME=~/.cache {must}")
    monkeypatch.setenv("XDG_CACHE_HOME", "s3://key:secret@bucket/cache")
    assert_one_line(run("filter=random,clip"), f"XDG_CACHE_HOME=s3://***@bucket/cache {must}")


def test_reshard_writes_a_pool(run: Run, pool_folder: Path, tmp_path: Path) -> None:
    done = run("task=reshard", f"task.output={tmp_path}", *POOL[1:], f"pool.url={pool_folder}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "shards" / "00000000.tar").is_file()
    again = run(*POOL, f"pool.url={tmp_path}")
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
def test_unexpected_errors_keep_their_traceback(pool_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken_filter.py").write_text(
        "from filters.base import Filter\n"
        "class Broken(Filter):\n"
        "    needs = frozenset({'text'})\n"
        "    light = True\n"
        "    def score(self, batch):\n"
        "        raise ZeroDivisionError('a bug')\n"
    )
    done = run_process(
        *POOL, f"pool.url={pool_folder}", "filter._target_=broken_filter.Broken", "~filter.seed", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "ZeroDivisionError: a bug" in done.stderr
    assert "Traceback" in done.stderr
