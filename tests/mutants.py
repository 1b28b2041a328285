"""Mutation tests with cosmic-ray: how many small changes of a module's code the default tests notice.

``make mutants MODULES=filters/clip.py`` changes one operator, number or condition at a time in a copy of the checkout
and runs the tests that import it, then those of its folder. Survivors are in ``build/mutants``; a run that was
stopped goes on.
"""

import argparse
import hashlib
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ROOMS = [
    *("filters", "benchmark/scoring", "benchmark/selection", "benchmark/results"),
    *("downstream/metrics", "downstream/training", "downstream/evaluation"),
]
# Left out: changes of `|`, which is mostly in annotations, and of an operator or comparison to all the others.
EXCLUDED = [
    "core/ReplaceBinaryOperator_(?!Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_Mul|BitAnd_BitOr)",
    "core/ReplaceComparisonOperator_(?!Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is)",
    *(
        "core/ReplaceUnaryOperator_(?!USub_UAdd|Delete_Not|Delete_USub)",
        "core/Variable.*",
        "core/RemoveDecorator",
    ),
]
TESTS = "-p no:cacheprovider -q -x --no-header"
COUNT = "SELECT count(*), sum(test_outcome = 'SURVIVED') FROM work_results WHERE worker_outcome = 'NORMAL'"


def main() -> None:
    """Print for each module how many mutants its tests kill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("modules", nargs="*", help="files in the checkout; all of the rooms by default")
    parser.add_argument(
        "--cosmic-ray", required=True, help="command that runs its programs: 'uvx --from cosmic-ray'"
    )
    parser.add_argument(
        "--sample", type=int, default=60, help="mutants per module, drawn at random; 0 for all"
    )
    args = parser.parse_args()
    modules = args.modules or [
        str(path.relative_to(ROOT)) for room in ROOMS for path in sorted((ROOT / room).rglob("[!_]*.py"))
    ]
    total = survived = 0
    with TemporaryDirectory() as checkout:
        copy_checkout(Path(checkout))
        for module in modules:
            count, alive = mutate(module, args.cosmic_ray.split(), args.sample, Path(checkout))
            total, survived = total + count, survived + alive
            print(f"{module}: {count - alive} of {count} killed", flush=True)
    print(
        f"{total - survived} of {total} killed, {(total - survived) / max(total, 1):.0%}; survivors: build/mutants"
    )


def mutate(module: str, cosmic_ray: list[str], sample: int, checkout: Path) -> tuple[int, int]:
    """Test the mutants of `module` in a copy of the checkout; return how many there are, and how many survive."""
    source = (ROOT / module).read_bytes()
    name = f"{module.removesuffix('.py').replace('/', '.')}-{hashlib.sha256(source).hexdigest()[:8]}-{sample}"
    folder = ROOT / "build" / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    session, config = folder / f"{name}.sqlite", folder / f"{name}.toml"

    def call(program: str, *arguments: object) -> str:
        command = [*cosmic_ray, program, *map(str, arguments)]
        return subprocess.run(command, cwd=checkout, check=True, stdout=subprocess.PIPE, text=True).stdout

    command = f"{sys.executable} -m pytest {TESTS} {' '.join(tests_of(module))}"
    if not session.exists():
        # Without a mutant: what a mutant compiles is not kept, or the next one could be taken for it.
        baseline = subprocess.run(command.split(), cwd=checkout, capture_output=True, text=True, check=False)
        if baseline.returncode:
            sys.exit(f"the tests of {module} fail without a mutant:\n{baseline.stdout[-3000:]}")
        lines = {
            "module-path": module,
            "timeout": 300.0,
            "excluded-modules": [],
            "test-command": f"env PYTHONDONTWRITEBYTECODE=1 {command}",
        }
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
        tables = f'distributor.name = "local"\nfilters.operators-filter.exclude-operators = {json.dumps(EXCLUDED)}\n'
        config.write_text(f"[cosmic-ray]\n{text}{tables}")
        new = session.with_suffix(".new")
        new.unlink(missing_ok=True)
        call("cosmic-ray", "init", config, new)
        call("cr-filter-operators", new, config)
        if sample:
            draw(new, sample)
        new.rename(session)
    call("cosmic-ray", "exec", config, session)
    (folder / f"{name}.txt").write_text(call("cr-report", "--surviving-only", "--show-diff", session))
    with closing(sqlite3.connect(session)) as results:
        count, alive = results.execute(COUNT).fetchone()
    return count, alive or 0


def copy_checkout(folder: Path) -> None:
    """Copy the files of the checkout that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def tests_of(module: str) -> list[str]:
    """Return the test files that import the module, then their folder. A mutant ends at its first failure."""
    path = Path("tests") / module
    name = re.compile(rf"\b{re.escape(module.removesuffix('.py').replace('/', '.'))}\b|import {path.stem}\b")
    importers = [p for p in (ROOT / "tests").rglob("test_*.py") if name.search(p.read_text(encoding="utf-8"))]
    ours = sorted(importers, key=lambda test: (test.stem != f"test_{path.stem}", test))
    return [*(str(test.relative_to(ROOT)) for test in ours), str(path.parent)]


def draw(session: Path, sample: int) -> None:
    """Leave `sample` of the mutants that are to be tested, always the same ones."""
    with closing(sqlite3.connect(session)) as specs, specs:
        todo = "SELECT job_id FROM mutation_specs WHERE job_id NOT IN (SELECT job_id FROM work_results)"
        order = "ORDER BY module_path, start_pos_row, start_pos_col, operator_name, occurrence"
        jobs = [job for (job,) in specs.execute(f"{todo} {order}")]
        kept = set(random.Random(0).sample(jobs, min(sample, len(jobs))))
        gone = [(job,) for job in jobs if job not in kept]
        for table in ("mutation_specs", "work_items"):
            specs.executemany(f"DELETE FROM {table} WHERE job_id = ?", gone)


if __name__ == "__main__":
    main()
