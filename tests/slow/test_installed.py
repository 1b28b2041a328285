"""The wheel in an environment of its own, used from a folder whose files have the names of our packages."""

import ensurepip
import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from benchmark.core.uids import read_subset
from benchmark.run.config import CONF
from tests.own_filters import write_own_filters
from tests.pools import rows, write_metadata

pytestmark = pytest.mark.slow
ROOT = CONF.parent


def completed(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=cwd, env=inherited | variables, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def pairsift(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a wheel built from this checkout; the environment finds the libraries of this one behind it."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    assert completed(*build, cwd=ROOT).returncode == 0
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"])
    (pip,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    (wheel,) = folder.glob("*.whl")
    install = [python, pip / "pip", "install", "--no-index", "--no-deps", "--no-compile", "--force-reinstall"]
    done = completed(*install, wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    return python.with_name("pairsift")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a pool, a filter, and what would break every run that imported it."""
    write_own_filters(tmp_path)
    write_metadata(tmp_path / "my_pool" / "a.parquet", rows(30))
    write_metadata(tmp_path / "my_pool" / "b.parquet", rows(30, start=30))
    for name in ("filters", "downstream", "conf"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')\n")
    (tmp_path / "benchmark.py").write_text("raise SystemExit('not ours')\n")
    return tmp_path


def test_a_foreign_folder_hides_none_of_our_packages(pairsift: Path, folder: Path) -> None:
    """In the workers of the engine too: each of the two shards of a filter that is not light has one."""
    command = ["task=select", "pool=img2dataset", "pool.url=my_pool", "size.samples=20", "engine.workers=2"]
    done = completed(pairsift, *command, "filter=random,my_filters:NearLength", cwd=folder)
    assert done.returncode == 0, done.stderr
    for path, name in zip(done.stdout.split(), ("random", "NearLength"), strict=True):
        assert len(read_subset(Path(path))) == 20
        assert json.loads(Path(path).with_suffix(".json").read_text())["filter"] == name


def test_bash_completes_a_setting(pairsift: Path, folder: Path) -> None:
    typed = "COMP_LINE='pairsift filter=ic' COMP_POINT=18 COMP_CWORD=1"
    script = f'eval "$(pairsift -sc install=bash)"; {typed}; hydra_bash_completion; echo "${{COMPREPLY[@]}}"'
    path = f"{pairsift.parent}:{os.environ['PATH']}"
    assert completed("bash", "-c", script, cwd=folder, PATH=path).stdout == "filter=icc\n"
