"""What changes the hash of a class's code: code of its project, and nothing else."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.core import source_code
from benchmark.core.source_code import PROJECT, code_hash

FILTER = '''"""A filter."""
import numpy
from .rules import shortest
from filters.base import Filter

class Mine(Filter):
    """Scores."""
    needs = frozenset({"text"})

    def score(self, batch):
        from . import helpers  # late
        return helpers.lengths(batch.texts) - shortest
'''
HELPERS = "def lengths(texts):\n    return [len(text) for text in texts]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a filter, outside this repository."""
    folder = tmp_path / "own_filters"
    folder.mkdir()
    for name, text in {"__init__": "", "mine": FILTER, "helpers": HELPERS, "rules": "shortest = 2\n"}.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "unused.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    forget()


def forget() -> None:
    """As in the next command."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_filters"]:
        del sys.modules[name]
    code_hash.cache_clear()
    source_code._read.cache_clear()


def now() -> str:
    forget()
    importlib.invalidate_caches()
    return code_hash(importlib.import_module("own_filters.mine").Mine)


def edit(path: Path, before: str, after: str) -> None:
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("mine", "- shortest", "+ shortest", True),
        ("helpers", "len(text)", "len(text) + 1", True),
        ("rules", "2", "3", True),
        ("mine", "# late", "# only here", False),
        ("mine", '"""Scores."""', '"""Scores captions."""', False),
        ("mine", "frozenset({", "frozenset( {", False),
        ("unused", "1", "2", False),
    ],
)
def test_code_of_the_project_counts_without_its_comments(
    project: Path, name: str, before: str, after: str, counts: bool
) -> None:
    first = now()
    edit(project / f"{name}.py", before, after)
    assert (now() != first) == counts


def test_a_library_counts_by_its_version(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(project / "mine.py", "Mine(Filter)", "Mine(Filter, __import__('filelock').FileLock)")
    first = now()
    assert now() == first
    monkeypatch.setattr(source_code, "version", lambda name: f"{name} 99")
    assert now() != first


def test_of_ours_filters_and_models_count() -> None:
    modules: dict[str, str] = {}
    source_code._add_module(modules, PROJECT / "filters/icc/modes.py", "filters.icc.modes")
    assert {"filters.icc.modes", "filters.icc.similarity", "benchmark.models.bert_match"} <= modules.keys()
    assert not [name for name in modules if not name.startswith(("filters.", "benchmark.models."))]
    assert all((PROJECT / f"{name.replace('.', '/')}.py").is_file() for name in modules)


def test_a_class_without_a_file_counts_by_its_own_code(caplog: pytest.LogCaptureFixture) -> None:
    names: dict[str, type] = {}
    exec("class Typed: pass", {"__name__": "typed_at_a_prompt"}, names)
    assert code_hash(names["Typed"])
    assert "rescore=true" in caplog.text
