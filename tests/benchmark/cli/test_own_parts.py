"""Parts from outside the repository: a user's file, and an installed package."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from benchmark.cli.own_parts import name_own_parts
from benchmark.core import source_code
from benchmark.core.errors import UserError
from benchmark.core.source_code import code_hash
from benchmark.core.uids import decode_uids, read_subset
from benchmark.run.identity import training_fingerprint
from downstream.training.trainer import TrainConfig
from tests.command_line import Done, Run, assert_one_line
from tests.own_parts import install_own_parts, write_own_parts
from tests.pools import Row, rows, write_metadata

WORDS = [2, 9, 4, 7, 8, 1]
LONG = [1, 4]  # the rows with captions nearest to nine words
SELECT = ["task=select", "pool=img2dataset", "size.samples=2", "filter.words=9"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a user: a part of each kind in a file, a pool."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # where the command appends the folder
    write_own_parts(tmp_path)
    (tmp_path / "my_pool").mkdir()
    write_metadata(tmp_path / "my_pool" / "a.parquet", ROWS)
    return tmp_path


ROWS = [Row(row.key, row.url, " ".join(["word"] * n), b"") for row, n in zip(rows(6), WORDS, strict=True)]


def chosen(done: Done) -> list[int]:
    """The rows that were selected."""
    assert done.returncode == 0, done.stderr
    uids = decode_uids(read_subset(Path(done.stdout.splitlines()[-1])))
    return [number for number, row in enumerate(ROWS) if row.uid in uids]


def test_a_class_in_the_working_folder_selects(run: Run) -> None:
    done = run(*SELECT, "pool.url=my_pool", "filter=my_filters:NearLength")
    assert chosen(done) == LONG
    path = Path(done.stdout.splitlines()[-1])
    assert ":" not in path.name
    listed = run("--help", "filter=my_filters:NearLength").stdout
    assert "  filter.words=" in listed
    assert "  filter.minimum=null\n" in listed
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert manifest["filter"] == "NearLength"
    assert manifest["config"].pop("content")
    assert manifest["config"] == {"_target_": "my_filters.NearLength", "words": 9}
    parts = ["filter@filter.filters.first=no_filter", "filter@filter.filters.last=my_filters:NearLength"]
    composite = ["filter=cascade", "filter.keep.first=100%", *parts, "filter.filters.last.words=1"]
    assert chosen(run(*SELECT[:3], "pool.url=my_pool", *composite)) == [0, 5]


def test_an_installed_package_names_its_filter(run: Run, folder: Path) -> None:
    install_own_parts(folder)
    sys.path.append(str(folder))
    done = run(*SELECT, "pool.url=my_pool", "filter=near_length")
    assert chosen(done) == LONG
    assert_one_line(run("filter=near_lenght"), "did you mean 'near_length'?")
    assert_one_line(run("metrics=[wrods]"), "did you mean 'words'?")
    assert run("task=count", "pool=img2dataset", "pool.url=my_pool").stdout == f"{len(WORDS)}\n"
    with pytest.raises(UserError, match="'near_length' is the name of another filter; rename yours"):
        name_own_parts(["filter=my_filters:Near_Length"])
    install_own_parts(folder, "another", "elsewhere:NearLength")
    with pytest.raises(UserError, match="is the name of elsewhere:NearLength and of my_filters:NearLength"):
        name_own_parts(["filter=near_length"])


KINDS = {
    "selector=my_selectors:Lowest": ("selector", ["_target_: my_selectors.Lowest"]),
    "metrics=[cider,my_metrics:Words]": ("metrics.words", ["_target_: my_metrics.Words"]),
    "downstream=[captioner,my_models:CaptionLength]": (
        "downstream.caption_length",
        ["_target_: my_models.CaptionLength", "  samples_seen: 20000", "  batch_size: ???", "  lr: ???"],
    ),
    "evalset=[demo,my_sets:csv_captions]": (
        "evalset.csv_captions",
        ["_target_: my_sets.csv_captions", "name: csv_captions", "path: ???", "captioning: ???"],
    ),
    "task=my_tasks:count": ("task", ["_target_: my_tasks.count", "name: count"]),
}


@pytest.mark.parametrize("given", KINDS)
def test_a_part_of_each_kind_has_its_settings(run: Run, given: str) -> None:
    place, settings = KINDS[given]
    done = run(given, "--cfg", "job", "--package", place, "--resolve")
    assert [line for line in settings if line not in done.stdout.splitlines()] == [], (
        done.stdout + done.stderr
    )


def test_a_selector_and_a_task_of_a_file_run(run: Run) -> None:
    worst = ["filter=my_filters:NearLength", "filter.words=1", "selector=my_selectors:Lowest"]
    assert chosen(run(*SELECT[:3], "pool.url=my_pool", *worst)) == LONG
    pool = ["pool=img2dataset", "pool.url=my_pool"]
    assert run("task=my_tasks:count", *pool).stdout == f"{len(WORDS)}\n"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["downstream=my_models:CaptionLength"], "downstream.caption_length.training.batch_size"),
        (["evalset=my_sets:csv_captions", "downstream=captioner"], "evalset.csv_captions.path"),
    ],
)
def test_settings_without_a_default_are_asked_for(run: Run, given: list[str], name: str) -> None:
    others = ["downstream.caption_length.training.lr=1"] * (name[:10] == "downstream")
    assert_one_line(run(*given, "filter=random", *others), f"{name} is not given; add {name}=VALUE")


BUGS = """
import numpy
from filters.base import Filter

class Scores(Filter):
    needs = {"text"}
    def score(self, batch):
        raise ValueError("http://me:sec/ret@host/x")

class Light(Scores):
    light = True

class Made(Scores):
    def __init__(self):
        raise ValueError("http://me:sec/ret@host/x")

def task(job):
    raise ValueError("http://me:sec/ret@host/x")
"""


@pytest.mark.parametrize(
    ("given", "line", "place"),
    [
        ("filter=bugs:Light", 8, ""),
        ("filter=bugs:Light", 8, "site-packages"),
        ("filter=bugs:Made", 15, ""),
        ("task=bugs:task", 18, ""),
        pytest.param("filter=bugs:Scores", 8, "", marks=pytest.mark.slow),  # in a worker process
    ],
)
def test_a_bug_ends_with_the_line_of_the_users_file(
    run: Run, folder: Path, given: str, line: int, place: str
) -> None:
    file = folder / place / "bugs.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(BUGS)
    sys.path.append(str(file.parent))
    sys.modules.pop("bugs", None)
    command = ["task=select", "pool=img2dataset", "pool.url=my_pool", "size.samples=2", given]
    done = run(*command, "models.rewriter=http://me:secret@host/model")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "secret" not in done.stderr
    error = "ValueError: http://***@host/x"
    assert done.stderr.splitlines()[-1] == f"error: {file}, line {line}: {error}"


def rewrite(file: str, text: str) -> None:
    """Write a module, and forget what was imported and read of it, as a new process does."""
    source_code._read.cache_clear()
    code_hash.cache_clear()
    Path(file).write_text(text)
    sys.modules.pop(file.removesuffix(".py"), None)
    importlib.invalidate_caches()


def test_an_edited_filter_is_another_filter_and_an_edited_selector_selects_again(run: Run) -> None:
    command = [*SELECT, "pool.url=my_pool", "filter=my_filters:NearLength", "selector=my_selectors:Lowest"]
    first = run(*command)
    for file, old, new in (
        ("my_filters.py", "class NearLength", "MORE = 1\n\n\nclass NearLength"),
        ("my_selectors.py", "highest(-table.scores", "highest(table.scores"),
    ):
        rewrite(file, Path(file).read_text().replace(old, new))
        again = run(*command)
        one, other = (
            json.loads(Path(done.stdout.splitlines()[-1]).with_suffix(".json").read_text())["config"]
            for done in (first, again)
        )
        assert one.pop("content") != other.pop("content")
        assert one == other
        assert (chosen(again) == chosen(first)) is (file == "my_filters.py")
        first = again


OTHERS = """from benchmark.core.uids import encode_uids
        others = encode_uids(["0" * 31 + digit for digit in "12"])
        return Selection((others,), 0.0, 6, 1, 1, {})"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[lowest]", "[lowest[1:]]", "Lowest gave 1 pairs, 1 of them distinct, of 2"),
        ("[lowest]", "[lowest[[0, 0]]]", "Lowest gave 2 pairs, 1 of them distinct, of 2"),
        ("return Selection.of_rows(table, [lowest], len(rows), drops)", OTHERS, "of those with a score"),
    ],
)
def test_a_selector_must_keep_exactly_k_pairs(run: Run, old: str, new: str, message: str) -> None:
    rewrite("my_selectors.py", Path("my_selectors.py").read_text().replace(old, new))
    command = [*SELECT[:3], "pool.url=my_pool", "filter=random", "selector=my_selectors:Lowest"]
    assert_one_line(run(*command), message)


def test_edited_code_trains_again() -> None:
    def fingerprint(text: str) -> str:
        rewrite("mine.py", text)
        model = importlib.import_module("mine").Mine(TrainConfig(8, 8, 1e-3))
        return training_fingerprint(model, "ab", "cpu")

    text = "from my_models import CaptionLength\n\n\nclass Mine(CaptionLength):\n    depth = 1\n"
    sys.path.append(str(Path.cwd()))
    first = fingerprint(text)
    assert fingerprint(f"{text}    # longer\n") == first
    assert fingerprint(text.replace("= 1", "= 22")) != first


def test_the_working_folder_is_searched_last(run: Run, folder: Path) -> None:
    (folder / "random.py").write_text("raise SystemExit('imported')\n")
    assert_one_line(run("filter=random:Mine"), "random.py) has no 'Mine'")
    assert sys.path[-1] == str(folder)


def test_a_metric_with_a_taken_name_is_refused(run: Run, folder: Path) -> None:
    names = ("CIDEr", "label", "BLEU_1-grams")
    code = "from my_metrics import Words\n" + "".join(
        f"class Taken{number}(Words):\n    names = ({name!r},)\n" for number, name in enumerate(names)
    )
    (folder / "taken.py").write_text(code)
    sys.modules.pop("taken", None)
    for number, name in enumerate(names):
        metrics = f"metrics=[cider,taken:Taken{number}]"
        done = run(metrics, "pool=img2dataset", "pool.url=my_pool", "models=demo", "plan=true")
        assert f"error: {name!r} is the name of other scores; rename" in done.stderr


def test_arguments_of_the_constructor_are_settings(run: Run, folder: Path) -> None:
    """`seed` is the run's; a default that YAML cannot write stays the constructor's."""
    arguments = "path=Path('x'), words=('a', 'b'), limit=None, seed=1, *more, **options"
    (folder / "odd.py").write_text(
        "from pathlib import Path\nfrom filters.random import Random\n\n"
        f"class Odd(Random):\n    def __init__(self, {arguments}): super().__init__()\n"
    )
    done = run("filter=odd:Odd", "seed=7", "--cfg", "job", "--resolve", "--package", "filter")
    bounds = ["minimum: null", "maximum: null", "rank: true"]
    settings = ["_target_: odd.Odd", "words:", "- a", "- b", "limit: null", "seed: 7"]
    assert done.stdout.splitlines()[1:] == bounds + settings


def test_other_arguments_stay_as_they_are() -> None:
    arguments = ["filter=random,clip", "filter.path=a:B", "pool.url=s3://a:b", "filter@filter.filters.a=icc"]
    assert name_own_parts(arguments) == arguments
    with pytest.raises(UserError, match="no module nosuch"):
        name_own_parts(["filter=choice(random,nosuch:A)"])
