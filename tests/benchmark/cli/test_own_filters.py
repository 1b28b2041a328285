"""Filters from outside the repository: a user's file, and an installed package."""

import json
import sys
from pathlib import Path

import pytest

from benchmark.cli.own_filters import name_own_filters
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids, read_subset
from tests.command_line import Done, Run, assert_one_line
from tests.own_filters import install_own_filters, write_own_filters
from tests.pools import Row, rows, write_metadata

WORDS = [2, 9, 4, 7, 8, 1]
LONG = [1, 4]  # the rows whose captions come nearest to nine words
SELECT = ["task=select", "pool=img2dataset", "size.samples=2", "filter.words=9"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a user: a filter in a file, a pool."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # where the command appends the folder
    write_own_filters(tmp_path)
    (tmp_path / "my_pool").mkdir()
    write_metadata(tmp_path / "my_pool" / "a.parquet", captioned())
    return tmp_path


def captioned() -> list[Row]:
    return [
        Row(row.key, row.url, " ".join(["word"] * count), b"")
        for row, count in zip(rows(len(WORDS)), WORDS, strict=True)
    ]


def chosen(done: Done) -> list[tuple[int, int]]:
    assert done.returncode == 0, done.stderr
    return sorted(read_subset(Path(done.stdout.splitlines()[-1])).tolist())


def uids(positions: list[int]) -> list[tuple[int, int]]:
    return sorted(encode_uids([captioned()[i].uid for i in positions]).tolist())


def test_a_class_in_the_working_folder_selects(run: Run) -> None:
    done = run(*SELECT, "pool.url=my_pool", "filter=my_filters:NearLength")
    assert chosen(done) == uids(LONG)
    path = Path(done.stdout.splitlines()[-1])
    assert ":" not in path.name
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert manifest["filter"] == "NearLength"
    assert manifest["config"] == {"_target_": "my_filters.NearLength", "words": 9}


def test_it_is_part_of_a_composite(run: Run) -> None:
    parts = ["filter@filter.filters.first=no_filter", "filter@filter.filters.last=my_filters:NearLength"]
    composite = ["filter=cascade", "filter.keep.first=100%", *parts, "filter.filters.last.words=1"]
    assert chosen(run(*SELECT[:3], "pool.url=my_pool", *composite)) == uids([0, 5])


def test_an_installed_package_names_its_filter(run: Run, folder: Path) -> None:
    install_own_filters(folder)
    sys.path.append(str(folder))
    done = run(*SELECT, "pool.url=my_pool", "filter=near_length")
    assert chosen(done) == uids(LONG)
    assert_one_line(run("filter=near_lenght"), "did you mean 'near_length'?")
    with pytest.raises(UserError, match="'near_length' is the name of another filter; rename the class"):
        name_own_filters(["filter=my_filters:Near_Length"])
    install_own_filters(folder, "another", "elsewhere:NearLength")
    with pytest.raises(UserError, match="is the name of elsewhere:NearLength and of my_filters:NearLength"):
        name_own_filters(["filter=near_length"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nosuch:NearLength", "there is no module nosuch in"),
        ("my_filters.deeper:NearLength", "there is no module my_filters.deeper in"),
        (
            "my_filters.py:NearLength",
            "'my_filters.py' is not the name of a module; write filter=MODULE:CLASS",
        ),
        ("my_filters:Nearlength", "has no 'Nearlength'; did you mean 'NearLength'?"),
        ("sys:NearLength", "sys (built in) has no 'NearLength'; write filter=MODULE:CLASS"),
        ("my_filters:", "has no ''"),
        ("my_filters:np", "np must be a subclass of filters.base.Filter"),
        ("my_filters:Filter", "Filter must define score"),
        ("my_filters:Random", "'random' is the name of another filter; rename the class"),
        ("broken:Lazy", "cannot be imported: ModuleNotFoundError: No module named 'nosuch_library'"),
        ("unclosed:Mine", "cannot be imported: SyntaxError: '(' was never closed (unclosed.py, line 2)"),
        ("divides:Mine", "divides.py, line 3)"),
        ("demands:Mine", "filter.threshold is not given; add filter.threshold=VALUE"),
        ("demands:Family", "its argument 'family' needs another name"),
        ("my_filters:NearLength,same:NearLength", "this command has another filter 'NearLength'"),
    ],
)
def test_a_mistake_is_one_line(run: Run, folder: Path, given: str, message: str) -> None:
    (folder / "broken.py").write_text("import nosuch_library\n")
    (folder / "unclosed.py").write_text("class Mine:\n    x = (1\n")
    (folder / "divides.py").write_text("\n\nx = 1 / 0\n")
    (folder / "same.py").write_text("from my_filters import NearLength\n")
    (folder / "demands.py").write_text(DEMANDS)
    for module in ("broken", "unclosed", "divides", "same", "demands"):
        sys.modules.pop(module, None)
    assert_one_line(run(*SELECT[:3], "pool.url=my_pool", f"filter={given}"), message)


DEMANDS = """
from filters.base import Filter

class Mine(Filter):
    needs = {"text"}
    def __init__(self, threshold): pass
    def score(self, batch): pass

class Family(Mine):
    def __init__(self, family): pass
"""


def test_the_working_folder_is_searched_last(run: Run, folder: Path) -> None:
    (folder / "random.py").write_text("raise SystemExit('imported')\n")
    assert_one_line(run("filter=random:Mine"), "random.py) has no 'Mine'")
    assert sys.path[-1] == str(folder)


def test_arguments_of_the_constructor_are_settings(run: Run, folder: Path) -> None:
    """`seed` is the run's; a default that YAML cannot write stays the constructor's."""
    arguments = "path=Path('x'), words=('a', 'b'), limit=None, seed=1, *more, **options"
    (folder / "odd.py").write_text(
        "from pathlib import Path\nfrom filters.random import Random\n\n"
        f"class Odd(Random):\n    def __init__(self, {arguments}): super().__init__()\n"
    )
    done = run("filter=odd:Odd", "seed=7", "--cfg", "job", "--resolve", "--package", "filter")
    settings = ["_target_: odd.Odd", "words:", "- a", "- b", "limit: null", "seed: 7"]
    assert done.stdout.splitlines()[1:] == settings


def test_other_arguments_stay_as_they_are() -> None:
    arguments = ["filter=random,clip", "filter.path=a:B", "pool.url=s3://a:b", "filter@filter.filters.a=icc"]
    assert name_own_filters(arguments) == arguments
    with pytest.raises(UserError, match="no module nosuch"):
        name_own_filters(["filter=choice(random,nosuch:A)"])
