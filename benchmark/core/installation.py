"""The commands of this installation: how it gets packages, and how its programs are called."""

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmark.core.paths import CHECKOUT


def install_command(extra: str) -> str:
    """Return the command that installs the extra `extra` of pairsift into this environment."""
    if not (CHECKOUT / "pyproject.toml").is_file():
        return packages_command(f"pairsift[{extra}]")
    # `make setup` installs every extra into .venv, once: later it finds its work done.
    own = CHECKOUT / ".venv"
    if Path(sys.prefix).resolve() == own.resolve() and not (own / ".ready").exists():
        return f"make -C {shlex.quote(str(CHECKOUT))} setup"
    return packages_command("--editable", f"{CHECKOUT}[{extra}]")


def packages_command(*packages: str) -> str:
    """Return the command that installs packages into this environment: of uv if it was made by uv, else of pip."""
    python = shlex.quote(sys.executable)
    installer = f"uv pip install --python {python}" if _made_by_uv() else f"{python} -m pip install"
    return " ".join([installer, *map(shlex.quote, packages)])


def program(name: str) -> str:
    """Return how to call a program of this environment: by its path where another or none is on the PATH."""
    own = Path(sys.executable).parent / name
    return shlex.quote(str(own)) if own.is_file() and shutil.which(name) != str(own) else name


def _made_by_uv() -> bool:
    config = Path(sys.prefix) / "pyvenv.cfg"
    made = config.is_file() and any(line.startswith("uv =") for line in config.read_text().splitlines())
    return made or find_spec("pip") is None
