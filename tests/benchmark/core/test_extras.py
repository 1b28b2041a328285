"""Optional dependencies: the table is that of pyproject.toml, imports are declared, absence is one line."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.core.extras import EXTRAS, require
from benchmark.engine.ray import RayEngine
from tests.extras import hide_extra

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = {"benchmark", "downstream", "filters"}


def distributions(requirements: list[str]) -> set[str]:
    return {normalised(re.split(r"[<>=\[; ]", requirement)[0]) for requirement in requirements}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported_modules() -> set[str]:
    """The top-level modules that the packages import anywhere."""
    names = set()
    for path in (path for package in OURS for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - OURS - set(sys.stdlib_module_names) - {"_typeshed"}  # mypy's own


def test_extras_are_those_of_pyproject() -> None:
    optional = PROJECT["optional-dependencies"]
    assert set(optional) == {*EXTRAS, "all", "dev", "perf"}
    (everything,) = optional["all"]
    assert set(re.fullmatch(r"pairsift\[(.*)\]", everything)[1].split(",")) == set(EXTRAS)


def test_every_import_is_declared() -> None:
    optional = (
        item
        for name, items in PROJECT["optional-dependencies"].items()
        if name not in ("dev", "perf")
        for item in items
    )
    declared = distributions([*PROJECT["dependencies"], *optional])
    providers = packages_distributions()
    undeclared = {
        module
        for module in imported_modules()
        if not declared & {normalised(name) for name in providers.get(module, [module])}
    }
    assert not undeclared


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
