"""The wheel in a separate environment, used from a folder with files named as our packages."""

import ensurepip
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmark.run.config import CONF
from tests.own_parts import assert_all_kinds, own_run, write_own_parts
from tests.pools import rows, write_pool

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
    """A working folder that would break every run that imported its files."""
    for name in ("filters", "downstream", "conf"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')\n")
    (tmp_path / "benchmark.py").write_text("raise SystemExit('not ours')\n")
    return tmp_path


def test_parts_of_each_kind_run_where_files_have_our_names(pairsift: Path, folder: Path) -> None:
    """In the workers of the engine too: each of the two shards has one."""
    write_own_parts(folder)
    pool = write_pool(folder / "my_pool", [rows(30), rows(30, start=30)])
    command = ["pool=img2dataset", f"pool.url={pool}", "size.samples=20", "models=demo", *own_run(folder)]
    done = completed(pairsift, *command[:-2], "engine.workers=2", command[-1], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "models=demo: dry run with toy models" in done.stderr
    assert_all_kinds(json.loads(Path(folder, done.stdout.splitlines()[-1]).read_text()))
    done = completed(pairsift, "task=my_tasks:count", *command[:2], cwd=folder)
    assert done.stdout == "60\n", done.stderr


def test_the_wheel_prints_its_pages_and_is_a_library(pairsift: Path, folder: Path) -> None:
    python = pairsift.with_name("python")
    done = completed(python, "-m", "pairsift", "--help", "own_pool", cwd=folder)
    assert done.stdout == (ROOT / "docs" / "own_pool.md").read_text(), done.stderr
    (folder / "empty").mkdir()
    code = "import pairsift.api, pairsift; print(pairsift.__version__, pairsift.run is pairsift.api.run)"
    assert completed(python, "-c", code, cwd=folder / "empty").stdout == f"{version('pairsift')} True\n"


def test_the_source_archive_has_all_of_the_wheel_but_the_demo(pairsift: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    assert completed(*build, cwd=ROOT).returncode == 0
    (archive,) = tmp_path.glob("*.tar.gz")
    assert archive.stat().st_size < 15_000_000
    with tarfile.open(archive) as tar:
        archived = {name.partition("/")[2] for name in tar.getnames()}
    (wheel,) = pairsift.parents[2].glob("*.whl")
    names = {name.replace("pairsift/docs/", "docs/") for name in zipfile.ZipFile(wheel).namelist()}
    absent = {name for name in names - archived if ".dist-info/" not in name}
    assert absent == {"benchmark/results/page/static/plotly.min.js"} | {  # each build copies it
        name for name in names if name.startswith(("pairsift/demo/models/", "pairsift/demo/worlds/"))
    }


def test_bash_completes_a_setting(pairsift: Path, folder: Path) -> None:
    typed = "COMP_LINE='pairsift filter=ic' COMP_POINT=18 COMP_CWORD=1"
    script = f'eval "$(pairsift -sc install=bash)"; {typed}; hydra_bash_completion; echo "${{COMPREPLY[@]}}"'
    path = f"{pairsift.parent}:{os.environ['PATH']}"
    assert completed("bash", "-c", script, cwd=folder, PATH=path).stdout == "filter=icc\n"
