"""Which heavy libraries each kind of command imports, in a process of its own: no line waits for torch in vain."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from benchmark.run.config import CONF
from tests.benchmark.results.report.made_results import result
from tests.command_line import Run
from tests.demos import SMALL_RUN
from tests.pools import rows, write_pool

HEAVY = {
    "torch", "transformers", "sklearn", "torchvision", "open_clip", "timm", "matplotlib", "ray", "wandb", "faiss",
    "spacy", "accelerate", "diffusers", "pandas", "scipy.stats", "pyarrow.dataset",
}  # fmt: skip
LIGHT = {
    "numpy",
    "pyarrow",
    "PIL",
    "pydantic",
    "rich",
    "fsspec",
    "jinja2",
    "plotly",
    "cv2",
    "scipy",
    "huggingface_hub",
}
AT_EXIT = """
import atexit, json, sys
libraries = json.loads(sys.argv.pop(1))
atexit.register(lambda: print("\\n" + json.dumps([name for name in libraries if name in sys.modules])))
from benchmark.__main__ import main
main()
"""


def imported(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT, json.dumps([*HEAVY, *LIGHT]), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["filter=iccc"], set()),
        (["filter=random", "seed=x"], {"pydantic", "numpy"}),
        pytest.param(["--help"], set(), marks=pytest.mark.slow),
        pytest.param(["fliter=icc"], set(), marks=pytest.mark.slow),
        pytest.param(["filter=random,iccc"], set(), marks=pytest.mark.slow),
        pytest.param(["--cfg", "job"], {"numpy"}, marks=pytest.mark.slow),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_help_and_mistakes_import_nothing_heavy(arguments: Sequence[str], allowed: set[str]) -> None:
    assert imported(*arguments) <= allowed


def test_a_selection_from_cached_scores_imports_no_torch(run: Run, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(20)])
    select = ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=5"]
    assert run(*select).returncode == 0
    assert not imported(*select) & HEAVY
    assert not imported(*select, "plan=true") & HEAVY


@pytest.mark.parametrize(
    "command",
    [
        ["filter=random", "size=9m"],
        pytest.param(["filter=random", "size=9m", "plan=true"], marks=pytest.mark.slow),
        pytest.param(["filter=score_file", "filter.path=/nowhere"], marks=pytest.mark.slow),
        pytest.param(["filter=random", "size=9m", "task=train"], marks=pytest.mark.slow),
        pytest.param(["filter=random", "size=200k", "models=paper"], marks=pytest.mark.slow),
        pytest.param(["task=evaluate", "task.captions=FILE", "evalset=paper"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_a_mistake_of_a_run_imports_no_torch(command: list[str], tmp_path: Path) -> None:
    assert not imported(*command, f"results_dir={tmp_path}") & HEAVY


@pytest.mark.parametrize(
    "settings",
    [
        ["filter=icc"],
        pytest.param(["filter=icc", "downstream=captioner"], marks=pytest.mark.slow),
        pytest.param(["filter=icc,random", "seed=0,1"], marks=pytest.mark.slow),
        pytest.param(["filter=icc", "task=train", "validate_every=2000"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_a_plan_of_a_run_imports_no_torch(settings: list[str], tmp_path: Path) -> None:
    assert not imported(*settings, "size=200k", "plan=true", f"results_dir={tmp_path}") & HEAVY


@pytest.mark.slow
def test_a_plan_finds_trainings_and_results_without_torch(
    run: Run, small_demo: list[str], tmp_path: Path
) -> None:
    command = ["filter=random", *small_demo, *SMALL_RUN[:-1], f"results_dir={tmp_path}"]
    assert run(*command).returncode == 0
    again = "is there; a single run is made again, and replaces it."
    for seeds, lines in (("seed=0", ["dual_encoder cached", again]), ("seed=0,1", ["cached cached cached"])):
        plan = " ".join(run(*command, seeds, "plan=true").stdout.split())
        assert [line for line in lines if line not in plan] == []
        assert not imported(*command, seeds, "plan=true") & HEAVY


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clip", "icc", "normsim"])
def test_cached_scores_of_a_model_import_no_torch(name: str, run: Run, small_demo: list[str]) -> None:
    select = ["task=select", *small_demo, f"filter={name}", "size.samples=20000", "engine.workers=1"]
    assert run(*select).returncode == 0
    assert not imported(*select) & HEAVY


@pytest.mark.slow
def test_a_plan_imports_no_torch_whatever_the_filter(small_demo: list[str], tmp_path: Path) -> None:
    """It looks for the scores of each, by its key, and for what it needs."""
    needs_a_setting = {"aesthetics", "image_based", "image_based_clip", "lexicon", "llm_rating", "score_file"}
    needs_a_setting |= {"text_based", "uid_list"}
    names = {path.stem for path in (CONF / "filter").glob("*.yaml")} - needs_a_setting
    assert len(names) >= 30
    plan = ["task=select", *small_demo, f"filter={','.join(sorted(names))}", "size.samples=20000"]
    assert not imported(*plan, "plan=true", f"results_dir={tmp_path}") & HEAVY


def test_a_report_imports_no_torch(tmp_path: Path) -> None:
    write_record(tmp_path, result("random"))
    for seed in (1, 2):  # three seeds have an interval
        write_record(tmp_path, result("random", seed=seed))
    assert not imported("task=report", f"results_dir={tmp_path}") & HEAVY
