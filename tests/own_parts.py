"""The parts of docs/own_parts.md as a user has them: files in the working folder, and an installed package."""

import re
import sys
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore

from benchmark.run.config import BASES, CONF
from tests.pools import jpeg

PAGE = (CONF.parent / "docs" / "own_parts.md").read_text()
# The examples of CONTRIBUTING.md, by the modules that the page calls them.
EXAMPLES = {
    "my_selectors": "benchmark/selection/lowest.py",
    "my_metrics": "downstream/metrics/words.py",
    "my_models": "downstream/models/caption_length.py",
    "my_sets": "downstream/evaluation/csv_captions.py",
    "my_tasks": "benchmark/run/count.py",
}
MODULES = ["my_filters", *EXAMPLES]


def write_own_parts(folder: Path) -> Path:
    """Write a module of each kind of part, to be imported again; return the path of ``my_filters.py``."""
    for group in BASES:
        ConfigStore.instance().repo.pop(group, None)  # the parts of other tests
    contributing = (CONF.parent / "CONTRIBUTING.md").read_text()
    for module in MODULES:
        page, title = (contributing, EXAMPLES[module]) if module in EXAMPLES else (PAGE, f"{module}.py")
        (code,) = re.findall(rf"^`{title}`\n\n```python\n(.*?)^```$", page, re.M | re.S)
        (folder / f"{module}.py").write_text(code)
        sys.modules.pop(module, None)
    return folder / "my_filters.py"


def own_run(folder: Path) -> list[str]:
    """Return the settings of a run with a part of each kind but the task; write the images of the evaluation set."""
    names = [f"{number}.jpg" for number in range(4)]
    for number, name in enumerate(names):
        (folder / name).write_bytes(jpeg(number))
    (folder / "birds.csv").write_text("image,caption\n" + "".join(f"{name},a bird\n" for name in names))
    evalset = {"path": folder / "birds.csv", "captioning": "true", "retrieval": "true"}
    training = {"batch_size": 20, "lr": 1e-2, "samples_seen": 40}
    return [
        "filter=my_filters:NearLength", "selector=my_selectors:Lowest", "metrics=[my_metrics:Words]",
        "downstream=[captioner,my_models:CaptionLength]", "downstream.captioner.training.samples_seen=40",
        "downstream.captioner.training.lr=2e-4",  # at the demo's rate these steps teach it to write nothing
        *(f"downstream.caption_length.training.{name}={value}" for name, value in training.items()),
        "evalset=my_sets:csv_captions", *(f"evalset.csv_captions.{name}={evalset[name]}" for name in evalset),
        "engine.workers=1", "results_dir=results",
    ]  # fmt: skip


def assert_all_kinds(result: dict[str, Any]) -> None:
    """Check that the result of `own_run` has an output of each part."""
    assert result["selection"]["selector"] == "Lowest"
    own = {name for name in result["protocol"]["facts"] if name.startswith("code.")}
    assert own == {"code.caption_length", "code.Words"}
    for model, name in (("captioner", "Words"), ("caption_length", "length_error")):
        evaluations = result["downstream"][model]["evaluations"]["csv_captions"]
        assert {metric["name"]: metric["value"] for metric in evaluations}[name] > 0


def install_own_parts(folder: Path, package: str = "package", target: str = "my_filters:NearLength") -> None:
    """Write the metadata of an installed package with the page's entry points, or with another class."""
    (table,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    filters = table.replace('project.entry-points."pairsift.filters"', "pairsift.filters").replace('"', "")
    others = "[pairsift.metrics]\nwords = my_metrics:Words\n[pairsift.tasks]\ncount = my_tasks:count\n"
    information = folder / f"{package}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    points = filters.replace("my_filters:NearLength", target) + others
    (information / "entry_points.txt").write_text(points)
