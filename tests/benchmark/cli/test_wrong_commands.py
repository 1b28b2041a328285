"""The table of wrong commands: each is answered by one line, before anything is scored."""

import copy
import json
import re
import shlex
import sys
import time
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from benchmark.cli.check_settings import check_settings
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from benchmark.core.records import write_record
from tests.benchmark.results.report.made_results import metric, result, trained
from tests.command_line import Run, assert_one_line
from tests.jobs import compose_config
from tests.own_parts import write_own_parts
from tests.pools import jpeg, rows, write_metadata, write_pool

SETS = " ".join(f"~evalset.{name}" for name in ("coco", "nocaps", "flickr30k"))
SMALL = f"size.samples=5 budget=50 models=demo {SETS} results_dir=results"
SHORT = {
    "RUN": f"pool=img2dataset pool.url=pool {SMALL}",
    "SELECT": "task=select pool=img2dataset pool.url=my_pool size.samples=2",
    "MODELS": str(Path("pairsift/demo/models").resolve()),
    "LONG": "x" * 300,
    "DEEP": ".".join("a" * 200),
}
FILES = {
    "unreadable/a.json": "{",
    "broken.py": "import nosuch_library\n",
    "unclosed.py": "class Mine:\n    x = (1\n",
    "divides.py": "\n\nx = 1 / 0\n",
    "same.py": "from my_filters import NearLength\n",
    "demands.py": """
from filters.base import Filter

class Mine(Filter):
    needs = {"text"}
    def __init__(self, threshold): pass
    def score(self, batch): pass

class Family(Mine):
    def __init__(self, family): pass
""",
    "nameless.py": """
from downstream.models.dual_encoder import DualEncoder
class Tiny(DualEncoder):
    name = None
def three(name):
    return 3
""",
    "synsets.txt": "dog\n",
    "scores.csv": "uid,points\n",
    "dataset_coco.json": json.dumps(
        {
            "images": [
                {"imgid": n, "filename": f"{n}.jpg", "split": "test", "sentences": [{"raw": "a cat"}]}
                for n in (0, 1)
            ]
        }
    ),
}


def commands(kind: str) -> list[tuple[str, str]]:
    """The rows below the titles that end with a kind."""
    table = Path(__file__).with_name("wrong_commands.txt").read_text()
    sections = re.findall(r"^## .*?(?:\((\w+)\))?\n(.*?)(?=^## |\Z)", table, re.M | re.S)
    lines = [line for of, text in sections if of == kind for line in text.splitlines() if line]
    return [(typed, answer) for typed, _, answer in (line.partition(" => ") for line in lines)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder: right and wrong parts of a user, pools, a result, and an image of a set of two."""
    folder = tmp_path_factory.mktemp("wrong")
    write_own_parts(folder)
    write_metadata(folder / "my_pool" / "a.parquet", rows(6))
    write_metadata(folder / "captions" / "a.parquet", rows(12))
    write_pool(folder / "pool", [rows(12)])
    models = {"captioner": trained(coco=[metric("CIDEr", 0.5), metric("METEOR", 0.25)])}
    write_record(folder / "results", result("clip", downstream=models))
    (folder / "0.jpg").write_bytes(jpeg(0))
    (folder / "unreadable").mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def answer(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, line: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])  # where the command appends the folder
    for word, settings in SHORT.items():
        typed = re.sub(rf"\b{word}\b", settings, typed)
    done = run(*shlex.split(typed.replace("{folder}", str(folder))))
    assert_one_line(done, line)
    assert len(done.stderr) < 1_000
    assert line[0] != ";" or line[-1] != "?" or done.stderr.endswith(f"{line}\n")
    assert not cache_folder("scores").exists()


@pytest.mark.parametrize(("typed", "line"), commands(""))
def test_a_wrong_command_is_answered_by_one_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, line: str
) -> None:
    answer(run, folder, monkeypatch, typed, line)


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "line"), [*commands("slow"), *commands("values")[::9]])
def test_the_others_too_within_seconds(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, line: str
) -> None:
    started = time.process_time()
    answer(run, folder, monkeypatch, typed, line)
    assert time.process_time() - started < 3 or "RUN" in typed


@pytest.fixture(scope="module")
def default() -> DictConfig:
    return compose_config()


def check_with(default: DictConfig, *typed: str) -> None:
    """Check the settings that are typed."""
    cfg = copy.deepcopy(default)
    overrides = list(map(OverridesParser.create().parse_override, typed))
    for override in overrides:
        OmegaConf.update(cfg, override.key_or_group, override.value(), merge=False, force_add=True)
    check_settings(cfg, [override.key_or_group for override in overrides])


@pytest.mark.parametrize(("typed", "line"), commands("values"))
def test_a_wrong_value_is_refused_by_its_name(default: DictConfig, typed: str, line: str) -> None:
    with pytest.raises(UserError, match=re.escape(line)) as refused:
        check_with(default, typed)
    assert str(refused.value).count(" must be ") <= 1


def test_all_wrong_values_are_in_one_answer(default: DictConfig) -> None:
    wrong = commands("values")[:4]
    with pytest.raises(UserError) as refused:
        check_with(default, *(typed for typed, _ in wrong))
    assert [line for _, line in wrong if line not in str(refused.value)] == []


def test_settings_of_a_task_from_elsewhere_are_its_own_matter(default: DictConfig) -> None:
    check_with(default, "task.name=mine", "+task.depth=x", "+mine.width=y", "+models.mine.lr=x")
