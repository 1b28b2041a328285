"""A hash of the code behind a class, so that what other code computed is not taken from a cache."""

import ast
import inspect
import logging
import re
import subprocess
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, version
from pathlib import Path
from threading import Lock

from benchmark.core.hashes import hash_text

log = logging.getLogger(__name__)
_PARSING = Lock()
OWN_MODULES: set[str] = set()  # the top-level modules of the parts that a command names as MODULE:NAME
PROJECT = Path(__file__).resolve().parents[2]
OURS = ("filters", "benchmark", "downstream", "pairsift")
OUR_FOLDERS = tuple(f"{PROJECT / package}/" for package in OURS)
# Our rooms that compute scores and features. How a pool is read has a separate version.
COMPUTING = ("filters", "benchmark.models")


def own_place(error: BaseException) -> str:
    """Return the last file and line of a user's code in a traceback, from any process; empty without any."""
    text, libraries = "".join(traceback.format_exception(error)), (sysconfig.get_path("stdlib"), *OUR_FOLDERS)
    for file, line in reversed(re.findall(r'File "(/[^"]+)", line (\d+)', text)):
        installed = re.search(r"/(?:site|dist)-packages/(\w+)", file)
        if installed[1] in OWN_MODULES if installed else not file.startswith(libraries):
            return f"{file}, line {line}"
    return ""


def own_code(of: type) -> str:
    """Return the hash of the code of a user's class, see `code_hash`; empty for ours, as their versions are known."""
    return "" if of.__module__.partition(".")[0] in OURS else code_hash(of)


@cache
def code_hash(of: type) -> str:
    """Return a hash of the modules of a class and its bases, and of their imports, also lazy, from their project.

    A project is the folder that holds the module or its package. Comments, docstrings and formatting do not count.
    Of a distribution in site-packages name and version count.
    """
    parts: dict[str, str] = {}
    for base in of.__mro__:
        name = base.__module__
        if name.partition(".")[0] in sys.stdlib_module_names and name != "__main__":
            continue
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:  # defined in a notebook or at a prompt
            try:
                source = inspect.cleandoc("\n" + inspect.getsource(base))
            except (OSError, TypeError):
                log.warning(
                    "the code of %s cannot be read: after editing it, use rescore=true", base.__qualname__
                )
                source = None
            parts[f"{name}.{base.__qualname__}"] = "" if source is None else _hash(_nodes(source))
        elif installed := _installed_distribution(Path(file), name):
            parts[installed] = version(installed)
        else:
            _add_module(parts, Path(file).resolve(), name)
    return hash_text("\n".join(f"{name} {parts[name]}" for name in sorted(parts)))


def _installed_distribution(file: Path, module: str) -> str | None:
    """Return the distribution that a module in site-packages belongs to; None for ours and for other folders."""
    top = module.partition(".")[0]
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    if top in OURS or not any(file.is_relative_to(folder) for folder in folders):
        return None
    try:
        return distribution(top).name  # most are named like their module; to search them all takes seconds
    except PackageNotFoundError:
        return next(iter(packages_distributions().get(top, ())), None)


def _add_module(parts: dict[str, str], path: Path, name: str) -> None:
    """Add the hash of a module by its name, and the hashes of all modules that it imports from its project."""
    name = path.stem if name == "__main__" else name
    project = path.parents[name.count(".") + (path.name == "__init__.py")]
    todo = [(name, path)]
    while todo:
        name, path = todo.pop()
        if name not in parts:
            parts[name], imported = _read(path, name)
            todo += [(other, found) for other in imported if (found := _find(project, other))]


def _find(project: Path, name: str) -> Path | None:
    """Return the file of a module of ours or of the user's `project` that counts; None for all others."""
    ours = name.partition(".")[0] in OURS
    if ours and not any(f"{name}.".startswith(f"{room}.") for room in COMPUTING):
        return None
    for folder in (PROJECT, project) if ours else (project,):
        path = folder.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def _read(path: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the hash of a module's code, and names that it imports: of modules and of their contents."""
    nodes = _nodes(path.read_bytes())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return _hash(nodes), tuple(_imported(nodes, package))


def _nodes(source: str | bytes) -> list[ast.AST]:
    """Return the nodes of a syntax tree. Python 3.11 may raise a SystemError if two threads parse at once."""
    with _PARSING:
        return list(ast.walk(ast.parse(source)))


def _imported(nodes: list[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            levels = package.split(".")
            # Each dot of a relative import after the first is one package up.
            parents = levels[: len(levels) + 1 - node.level] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _hash(nodes: list[ast.AST]) -> str:
    """Return a hash of a syntax tree, the first of its `nodes`, after its docstrings are removed from it."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts = [p for p in node.body if isinstance(p, ast.Expr) and isinstance(p.value, ast.Constant)]
            node.body = [part for part in node.body if part not in texts]
    return hash_text(ast.dump(nodes[0]))


def git_commit() -> str | None:
    """Return the commit that the code was run from, with ``-dirty`` if it was changed; None outside git.

    Results do not count as changes: a sweep that replaces one would otherwise mark all that follow.
    """
    git = ["git", "-C", str(PROJECT)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        )
        changes = [*git, "diff", "--quiet", "HEAD", "--", ".", ":(exclude)results"]
        changed = subprocess.run(changes, capture_output=True, timeout=10).returncode != 0
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + "-dirty" * changed
