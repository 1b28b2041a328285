"""Who may import whom: the design's rooms, checked on the source itself."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("benchmark", "filters", "downstream")
OFFERED = {
    f"benchmark.{name}"
    for name in (
        "batch", "bert_match", "checkpoints", "clip_models", "devices", "errors", "images", "pac_clip", "paths",
        "pool", "progress", "tracker", "uids",
    )
}  # fmt: skip


def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, *, at_import_time: bool = False) -> set[str]:
    """The modules of ours that a file imports; those inside functions and TYPE_CHECKING only if asked for all."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if at_import_time else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found & set(MODULES)


MODULES = modules()


@pytest.mark.parametrize(("package", "other"), [("filters", "downstream"), ("downstream", "filters")])
def test_plug_ins_do_not_know_each_other_and_take_only_what_is_offered(package: str, other: str) -> None:
    for name, path in MODULES.items():
        if name.split(".")[0] == package:
            used = imports(path)
            assert not {m for m in used if m.split(".")[0] == other}, name
            assert {m for m in used if m.startswith("benchmark.")} <= OFFERED, name


def test_no_import_cycles() -> None:
    graph = {name: imports(path, at_import_time=True) - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    heavy = {"transformers", "open_clip", "diffusers", "bert_score", "wandb", "ray"}
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {n.split(".")[0] for n in names} & heavy, name


def test_the_command_line_answers_without_torch() -> None:
    """Nothing that `benchmark.__main__` imports at once may import torch: a misspelt command would wait for it."""
    todo, seen = ["benchmark.__main__"], set()
    while todo:
        name = todo.pop()
        seen.add(name)
        source = MODULES[name].read_text()
        assert "\nimport torch" not in source, name
        todo += [m for m in imports(MODULES[name], at_import_time=True) if m not in seen]
