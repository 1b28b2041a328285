"""Checks of imports, run by `make check`: the rooms of docs/architecture.md, declared libraries, slow libraries."""

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from tests.benchmark.cli.test_imported_libraries import HEAVY, imported
from tests.benchmark.results.report.made_results import result
from tests.command_line import Run
from tests.pools import rows, write_pool

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("benchmark", "filters", "downstream", "pairsift")
# In the order of the data: a module imports from its own room and from earlier ones.
ROOMS = (
    "benchmark.core", "benchmark.models", "benchmark.engine", "benchmark.pool", "filters", "benchmark.scoring",
    "benchmark.selection", "downstream", "benchmark.results", "benchmark.run", "benchmark.cli", "benchmark.__main__",
    "pairsift.demo", "pairsift.studies", "pairsift.api", "pairsift",
)  # fmt: skip
OUTSIDE = {"bench", "tests", "tools"}  # not in the wheel
WITHOUT_PAIRSIFT = ("benchmark", "filters", "downstream")  # they work without the folder pairsift
PLUG_INS = ("filters", "downstream")
OFFERED_TO_PLUG_INS = ("benchmark.core", "benchmark.models")
ONLY_WHERE_USED = {"transformers", "open_clip", "diffusers", "wandb", "ray"}


PATHS = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
SOURCES = {
    ".".join(path.with_suffix("").parts).removesuffix(".__init__"): (ROOT / path).read_text()
    for path in PATHS
}


@cache
def imported_names(source: str, *, at_import_time: bool = False) -> frozenset[str]:
    """All modules that a file imports, everywhere or only at its top level, and the names taken from them."""
    tree = ast.parse(source)
    imported = set()
    for node in tree.body if at_import_time else ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(imported)


def imports(sources: Mapping[str, str], name: str) -> set[str]:
    """The modules of ours that `name` imports, everywhere in the file."""
    return (imported_names(sources[name]) & set(sources)) - {name}


def room(name: str) -> str | None:
    """The room of a module; None for a package that only has rooms in it."""
    return next((r for r in ROOMS if name == r or name.startswith(f"{r}.")), None)


def broken_rules(sources: Mapping[str, str]) -> list[str]:
    broken = []
    for name in sources:
        here = room(name)
        for other in imports(sources, name):
            there = room(other)
            if here is None or there is None:
                continue
            if ROOMS.index(there) > ROOMS.index(here):
                broken.append(f"{name} imports {other}, of a later room")
            if here in PLUG_INS and there not in (here, *OFFERED_TO_PLUG_INS):
                broken.append(f"{name} imports {other}, which plug-ins are not offered")
        package = name.partition(".")[0]
        forbidden = OUTSIDE | ({"pairsift"} if package in WITHOUT_PAIRSIFT else set())
        outside = {other for other in imported_names(sources[name]) if other.partition(".")[0] in forbidden}
        broken += [f"{name} imports {other}" for other in outside]
    try:
        TopologicalSorter({name: imports(sources, name) for name in sources}).prepare()
    except CycleError as error:
        broken.append("circle: " + " -> ".join(error.args[1]))
    return broken


def test_every_module_is_in_a_room() -> None:
    assert [name for name in SOURCES if room(name) is None] == ["benchmark"]


def test_at_most_six_modules_are_loose_in_benchmark() -> None:
    assert len(list((ROOT / "benchmark").glob("*.py"))) <= 6


def test_rooms_import_from_earlier_rooms_without_circles() -> None:
    assert broken_rules(SOURCES) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("filters.clip", "from downstream.models.captioner import Captioner"),
        ("downstream.models.base", "from benchmark.pool.pool import Pool"),
        ("benchmark.core.uids", "def late():\n    import benchmark.scoring.score_pool"),
        ("benchmark.core.uids", "def late():\n    from benchmark.run import run"),
        ("benchmark.pool.pool", "if TYPE_CHECKING:\n    from filters.base import Filter"),
        ("benchmark.run.job", "def late():\n    from pairsift.demo import pool"),
        ("filters.clip", "import pairsift"),
        ("downstream.models.base", "def late():\n    import pairsift.studies.figures"),
        ("pairsift.demo.world", "def late():\n    from tools.demo_world import scenes"),
        ("benchmark.core.errors", "def late():\n    from benchmark.core import paths, uids"),
    ],
)
def test_a_planted_import_is_found(name: str, line: str) -> None:
    assert broken_rules(dict(SOURCES) | {name: f"{SOURCES[name]}\n{line}\n"})


def test_tests_mirror_the_packages() -> None:
    """Each folder of default tests has its package."""
    tests = ROOT / "tests"
    for folder in {path.parent for package in PACKAGES for path in (tests / package).rglob("test_*.py")}:
        assert (ROOT / folder.relative_to(tests)).is_dir(), folder


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    for name, source in SOURCES.items():
        imported = {n.partition(".")[0] for n in imported_names(source, at_import_time=True)}
        assert not imported & ONLY_WHERE_USED, name


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_import_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = sum((extras[name] for name in extras.keys() - {"dev", "perf"}), project["dependencies"])
    declared = {normalised(re.split(r"[<>=\[; ]", requirement)[0]) for requirement in requirements}
    providers = packages_distributions()
    names = {n for source in SOURCES.values() for n in imported_names(source)}
    modules = {n.partition(".")[0] for n in names} - {*PACKAGES, *sys.stdlib_module_names, "_typeshed"}
    assert [m for m in modules if not declared & set(map(normalised, providers.get(m, [m])))] == []


# Libraries that quick commands may import; quick commands, and those that each may have imported by then.
LIGHT = {
    "numpy", "pyarrow", "PIL", "pydantic", "rich", "fsspec", "jinja2", "plotly", "cv2", "scipy", "huggingface_hub",
}  # fmt: skip
NOTHING: set[str] = set()
OF_ANY_COMMAND = [
    (["--help"], NOTHING),
    (["fliter=icc"], NOTHING),
    (["filter=iccc"], NOTHING),
    (["filter=random,iccc"], NOTHING),
    (["--cfg", "job"], {"numpy"}),
    (["filter=random", "seed=x"], {"pydantic", "numpy"}),
    (["filter=random", "size=9m"], LIGHT),
    (["filter=random", "size=9m", "plan=true"], LIGHT),
    (["filter=score_file", "filter.path=/nowhere"], LIGHT),
    (["filter=random", "size=9m", "task=train"], LIGHT),
    (["filter=random", "size=200k", "models=paper"], LIGHT),
    (["task=evaluate", "task.captions=FILE", "evalset=paper"], LIGHT),
    (["filter=icc", "size=200k", "plan=true"], LIGHT),
    (["filter=icc", "size=200k", "plan=true", "downstream=captioner"], LIGHT),
    (["filter=icc,random", "size=200k", "plan=true", "seed=0,1"], LIGHT),
    (["filter=icc", "size=200k", "plan=true", "task=train", "validate_every=2000"], LIGHT),
]


def test_what_needs_no_model_imports_nothing_heavy(run: Run, tmp_path: Path) -> None:
    """Help, mistakes, plans, a report, and a selection from cached scores."""
    write_record(tmp_path, result("random"))
    for seed in (1, 2):  # three seeds have an interval
        write_record(tmp_path, result("random", seed=seed))
    pool = write_pool(tmp_path / "pool", [rows(20)])
    select = ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=5"]
    assert run(*select).returncode == 0
    cases = [*OF_ANY_COMMAND, (["task=report"], LIGHT), (select, LIGHT), ([*select, "plan=true"], LIGHT)]
    commands = [c if c[0].startswith("-") else [*c, f"results_dir={tmp_path}"] for c, _ in cases]
    found = imported(HEAVY | LIGHT, *commands)
    too_many = [(c, names - allowed) for (c, allowed), names in zip(cases, found, strict=True)]
    assert [(command, names) for command, names in too_many if names] == []
