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
    "cv2",
    "scipy",
    "huggingface_hub",
}
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
NOTHING: set[str] = set()
# In this order, with the light libraries that each may import.
OF_ANY_COMMAND = [
    (["--help"], NOTHING),
    (["fliter=icc"], NOTHING),
    (["filter=iccc"], NOTHING),
    (["filter=random,iccc"], NOTHING),
    (["--cfg", "job"], {"numpy"}),
    (["filter=random", "seed=x"], {"pydantic", "numpy"}),
    (["filter=random", "size=9m"], LIGHT),
    (["filter=random", "size=9m", "plan=true"], LIGHT),
    (["filter=score_file", "filter.path=/nowhere"], LIGHT),
    (["filter=random", "size=9m", "task=train"], LIGHT),
    (["filter=random", "size=200k", "models=paper"], LIGHT),
    (["task=evaluate", "task.captions=FILE", "evalset=paper"], LIGHT),
    (["filter=icc", "size=200k", "plan=true"], LIGHT),
    (["filter=icc", "size=200k", "plan=true", "downstream=captioner"], LIGHT),
    (["filter=icc,random", "size=200k", "plan=true", "seed=0,1"], LIGHT),
    (["filter=icc", "size=200k", "plan=true", "task=train", "validate_every=2000"], LIGHT),
]


def imported(*commands: Sequence[str]) -> list[set[str]]:
    """The libraries that one new process has imported after each of the commands."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER_EACH],
        input=json.dumps([[*HEAVY, *LIGHT], commands]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return [set(names) for names in json.loads(done.stdout.splitlines()[-1])]


def test_what_needs_no_model_imports_nothing_heavy(run: Run, tmp_path: Path) -> None:
    """Help, mistakes, plans, a report, and a selection from cached scores."""
    write_record(tmp_path, result("random"))
    for seed in (1, 2):  # three seeds have an interval
        write_record(tmp_path, result("random", seed=seed))
    pool = write_pool(tmp_path / "pool", [rows(20)])
    select = ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=5"]
    assert run(*select).returncode == 0
    cases = [*OF_ANY_COMMAND, (["task=report"], LIGHT), (select, LIGHT), ([*select, "plan=true"], LIGHT)]
    commands = [c if c[0].startswith("-") else [*c, f"results_dir={tmp_path}"] for c, _ in cases]
    found = imported(*commands)
    assert [
        (c, names - allowed) for (c, allowed), names in zip(cases, found, strict=True) if names - allowed
    ] == []


@pytest.mark.slow
def test_a_plan_finds_trainings_and_results_without_torch(
    run: Run, small_demo: list[str], tmp_path: Path
) -> None:
    command = ["filter=random", *small_demo, *SMALL_RUN[:-1], f"results_dir={tmp_path}"]
    assert run(*command).returncode == 0
    for seeds, line in (("seed=0", "dual_encoder cached"), ("seed=0,1", "cached cached cached")):
        assert line in " ".join(run(*command, seeds, "plan=true").stdout.split())
    assert not imported(*([*command, seeds, "plan=true"] for seeds in ("seed=0", "seed=0,1")))[-1] & HEAVY


@pytest.mark.slow
def test_cached_scores_of_a_model_import_no_torch(run: Run, small_demo: list[str]) -> None:
    select = ["task=select", *small_demo, "size.samples=20000", "engine.workers=1"]
    commands = [[*select, f"filter={name}"] for name in ("clip", "icc", "normsim")]
    assert [command for command in commands if run(*command).returncode] == []
    assert not imported(*commands)[-1] & HEAVY


@pytest.mark.slow
def test_a_plan_imports_no_torch_whatever_the_filter(small_demo: list[str], tmp_path: Path) -> None:
    """It looks for the scores of each, by its key, and for what it needs."""
    needs_a_setting = {"aesthetics", "image_based", "image_based_clip", "lexicon", "llm_rating", "score_file"}
    needs_a_setting |= {"text_based", "uid_list"}
    names = {path.stem for path in (CONF / "filter").glob("*.yaml")} - needs_a_setting
    assert len(names) >= 30
    plan = ["task=select", *small_demo, f"filter={','.join(sorted(names))}", "size.samples=20000"]
    assert not imported([*plan, "plan=true", f"results_dir={tmp_path}"])[-1] & HEAVY
