"""The examples of CONTRIBUTING.md, run as they stand: three files each, and nothing to register."""

import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hydra
import pytest
import torch
import yaml
from hydra import compose, initialize_config_dir

from benchmark.results.page.leaderboard_page import leaderboard_page
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.frame import choose_metrics
from benchmark.results.report.leaderboard import FAMILIES, leaderboards
from benchmark.results.report.leaderboard_tables import leaderboard
from benchmark.results.report.report_data import leaderboards_csv
from benchmark.results.report.run_tables import run_table
from benchmark.run.config import CONF, make_filter, register_resolvers
from benchmark.selection.selection import Selector
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.metrics.base import CaptionMetric
from downstream.metrics.suite import score_captions
from downstream.models.base import Downstream
from downstream.training.trainer import TrainConfig
from filters.base import Filter
from tests.benchmark.results.report.made_results import metric, result, trained
from tests.downstream.tiny_models import CAPTIONS, draw
from tests.filters.test_every_filter import check_header

ROOT = CONF.parent
BLOCK = re.compile(r"^`(?P<path>[\w/]+\.(?:py|yaml))`\n\n```(?:python|yaml)\n(?P<text>.*?)^```$", re.M | re.S)
BLOCKS = {match["path"]: match["text"] for match in BLOCK.finditer((ROOT / "CONTRIBUTING.md").read_text())}
CODE = [path for path in BLOCKS if path.endswith(".py") and not path.startswith("tests/")]
TESTS = [path for path in BLOCKS if path.startswith("tests/")]
CONFIGS = {path.split("/")[1]: path for path in BLOCKS if path.startswith("conf/")}
CONTRACTS = {"filter": Filter, "selector": Selector, "downstream": Downstream, "metrics": CaptionMetric}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of conf with the examples in it, and the examples' modules importable where they claim to be."""
    root = tmp_path_factory.mktemp("examples")
    shutil.copytree(CONF, root / "conf")
    for path, text in BLOCKS.items():
        assert not (ROOT / path).exists(), f"{path} exists: the example needs another name"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        for path in CODE:
            package = importlib.import_module(str(Path(path).parent).replace("/", "."))
            patch.setattr(package, "__path__", [*package.__path__, str((root / path).parent)])
        yield root
    for path in CODE:
        sys.modules.pop(path.removesuffix(".py").replace("/", "."), None)


def example_tests(root: Path, path: str) -> list[Callable[..., None]]:
    spec = importlib.util.spec_from_file_location(f"example_{Path(path).stem}", root / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [function for name, function in vars(module).items() if name.startswith("test_")]


def test_every_kind_has_code_config_and_test() -> None:
    assert set(CONFIGS) == {"filter", "selector", "downstream", "evalset", "metrics", "task"}
    assert len(CODE) == len(TESTS) == len(CONFIGS)
    names = {Path(path).stem for path in CODE}
    assert {Path(path).stem.removeprefix("test_") for path in TESTS} == names


def test_three_files_keep_the_conventions_of_filters(written: Path) -> None:
    """What tests demand of every filter's config is in the example; nothing else names a filter."""
    check_header("filter", "short", written / "conf")
    assert yaml.safe_load(BLOCKS[CONFIGS["filter"]])["family"] in FAMILIES


@pytest.mark.parametrize("path", TESTS)
def test_an_examples_test_passes(path: str, written: Path, request: pytest.FixtureRequest) -> None:
    functions = example_tests(written, path)
    assert functions
    for function in functions:
        function(*(request.getfixturevalue(name) for name in inspect.signature(function).parameters))


@pytest.mark.usefixtures("written")
def test_numbers_of_the_examples_show_in_every_table(tmp_path: Path) -> None:
    words, model = (
        importlib.import_module(f"downstream.{name}") for name in ("metrics.words", "models.caption_length")
    )
    draw(CAPTIONS[0]).save(tmp_path / "image.png")
    sets = [EvaluationSet("coco", [Item(1, ImageFile(tmp_path / "image.png"), ["a dog"])], True, True)]
    length = model.CaptionLength(TrainConfig(samples_seen=8, batch_size=8, lr=0.1))
    length.build(torch.device("cpu"))
    captioned = [metric("CIDEr", 0.2), *score_captions({1: "a dog"}, {1: ["a"]}, [words.Words()])]
    models = {
        "captioner": trained(coco=captioned),
        "caption_length": trained(**length.evaluate(sets, [], tmp_path, torch.device("cpu"))),
    }
    made = result("clip", downstream=models)
    assert run_table(made, []).header[3:] == ["CIDEr", "Words", "length_error (words²) ↓"]
    headers = [table.header for table in leaderboard([made], RunFolders({}))]
    assert ["filter", "C", "Words"] in headers
    assert ["filter", "length_error (words²) ↓"] in headers
    page = leaderboard_page([made], RunFolders({}), [])
    assert "Words" in page
    assert "length_error (words²) ↓" in page
    assert choose_metrics(["words", "length_error"], [made]) == {"Words", "length_error"}
    (length_row,) = [
        line for line in leaderboards_csv(leaderboards([made])).splitlines() if "length_e" in line
    ]
    assert ",words²,False," in length_row


@pytest.mark.parametrize("group", list(CONFIGS))
def test_an_examples_command_composes(group: str, written: Path) -> None:
    (command,) = re.findall(r"^#   python -m benchmark (.*)$", BLOCKS[CONFIGS[group]], re.M)
    name = Path(CONFIGS[group]).stem
    register_resolvers()
    with initialize_config_dir(str(written / "conf"), version_base="1.3"):
        cfg = compose("config", shlex.split(command))
    node: Any = cfg[group] if group in ("filter", "selector", "task") else cfg[group][name]
    if group == "task":
        assert node.name == name
        assert hydra.utils.get_method(node._target_)
    elif group == "evalset":
        assert inspect.signature(hydra.utils.get_method(node._target_)).return_annotation is EvaluationSet
    else:
        made = make_filter(cfg) if group == "filter" else hydra.utils.instantiate(node, _convert_="all")
        assert isinstance(made, CONTRACTS[group])
