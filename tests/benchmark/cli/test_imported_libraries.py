"""Which heavy libraries each kind of command imports, in a new process: no line waits for torch in vain."""

import json
import subprocess
import sys
from collections.abc import Sequence, Set
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from benchmark.run.config import CONF
from tests.benchmark.results.report.made_families import family
from tests.command_line import Run
from tests.demos import SMALL_RUN

HEAVY = {
    "torch", "transformers", "sklearn", "torchvision", "open_clip", "timm", "matplotlib", "ray", "wandb", "faiss",
    "spacy", "accelerate", "diffusers", "pandas", "scipy.stats", "pyarrow.dataset",
}  # fmt: skip
AFTER_EACH = """
import json, sys
from tests.command_line import run_main
libraries, commands = json.loads(sys.stdin.read())
found = []
for command in commands:
    run_main(*command)
    found.append([name for name in libraries if name in sys.modules])
print("\\n" + json.dumps(found))
"""


def imported(libraries: Set[str], *commands: Sequence[str]) -> list[set[str]]:
    """The `libraries` that one new process has imported after each of the commands."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER_EACH],
        input=json.dumps([[*libraries], commands]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return [set(names) for names in json.loads(done.stdout.splitlines()[-1])]


@pytest.mark.slow
def test_a_plan_finds_trainings_and_results_without_torch(
    run: Run, small_demo: list[str], tmp_path: Path
) -> None:
    command = ["filter=random", *small_demo, *SMALL_RUN[:-1], f"results_dir={tmp_path}"]
    assert run(*command).returncode == 0
    for seeds, line in (("seed=0", "dual_encoder cached"), ("seed=0,1", "cached cached cached")):
        assert line in " ".join(run(*command, seeds, "plan=true").stdout.split())
    assert not imported(HEAVY, *([*command, seeds, "plan=true"] for seeds in ("seed=0", "seed=0,1")))[-1]


def test_advice_imports_no_heavy_library(tmp_path: Path) -> None:
    made = family(tmp_path, {1_000_000: {"random": {200_000: 0.1}, "clip": {200_000: 0.2}}, 2_000_000: {
        "random": {200_000: 0.1}, "clip": {100_000: 0.2, 200_000: 0.3}}})  # fmt: skip
    for run in made.results:
        write_record(tmp_path, run)
    assert not imported(HEAVY, ["task=advise", f"results_dir={tmp_path}", "budget=8m"])[-1]
    assert list((tmp_path / "advice").iterdir())


@pytest.mark.slow
def test_scoring_by_icc_imports_no_compiler_of_torch(small_demo: list[str], tmp_path: Path) -> None:
    """It takes longer than scoring thousands of captions."""
    command = ["task=score", "filter=icc", *small_demo, "engine.workers=1", f"results_dir={tmp_path}"]
    assert imported({"torch", "torch._dynamo", "torchvision"}, command) == [{"torch"}]


@pytest.mark.full
def test_cached_scores_of_a_model_import_no_torch(run: Run, small_demo: list[str]) -> None:
    select = ["task=select", *small_demo, "size.samples=20000", "engine.workers=1"]
    commands = [[*select, f"filter={name}"] for name in ("clip", "icc", "normsim")]
    assert [command for command in commands if run(*command).returncode] == []
    assert not imported(HEAVY, *commands)[-1]


@pytest.mark.full
def test_a_plan_imports_no_torch_whatever_the_filter(small_demo: list[str], tmp_path: Path) -> None:
    """It looks for the scores of each, by its key, and for what it needs."""
    needs_a_setting = {"aesthetics", "image_based", "image_based_clip", "lexicon", "llm_rating", "score_file"}
    needs_a_setting |= {"dfn", "published", "text_based", "uid_list"}
    names = {path.stem for path in (CONF / "filter").glob("*.yaml")} - needs_a_setting
    assert len(names) >= 30
    plan = ["task=select", *small_demo, f"filter={','.join(sorted(names))}", "size.samples=20000"]
    assert not imported(HEAVY, [*plan, "plan=true", f"results_dir={tmp_path}"])[-1]
