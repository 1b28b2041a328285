"""Mutation tests: how many small changes of the code the default tests notice.

``make mutants`` draws 120 single changes with a seed (an operator, a comparison, a condition, a number), runs against
each the default tests that import its module or mirror its path, and writes them with their outcomes to
``build/mutants.json``; a run that was stopped goes on. ``MUTANTS="--replay FILE"`` repeats the changes of such a file
in the code of today, wherever their lines are now, and compares the outcomes; a line that is gone is left out.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ROOMS = ("benchmark", "filters", "downstream", "pairsift")
SWAPS = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "*"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
TIMEOUT = 300


def main() -> None:
    """Print each change and whether the tests noticed it, and last how many they did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--replay", type=Path, help="a file of changes with their outcomes")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "mutants.json")
    args = parser.parse_args()
    if args.to.exists():
        changes = json.loads(args.to.read_text())
    else:
        changes = moved(json.loads(args.replay.read_text())) if args.replay else draw(args.count, args.seed)
        args.to.parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        checkout = copy_checkout(Path(folder))
        for change in changes:
            if "killed" not in change:
                change["killed"] = is_killed(change, checkout)
                args.to.write_text(json.dumps(changes, indent=1))
                print(
                    "killed " if change["killed"] else "ALIVE  ", change["module"], change["text"], flush=True
                )
    print(f"{sum(c['killed'] for c in changes)} of {len(changes)} killed")
    if args.replay:
        before = sum(change["before"] for change in changes)
        print(f"{before} of the same changes were killed before")
        worse = [c for c in changes if c["before"] and not c["killed"]]
        print(*(f"no longer killed: {c['module']}:{c['line']} {c['text']}" for c in worse), sep="\n")


def draw(count: int, seed: int) -> list[dict]:
    """Return changes drawn at random among all of the product's code, always the same ones for the same code."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("[!_]*.py"))]
    # Not the demo, with a third of all numbers: colours, and places in pictures.
    paths = [path for path in paths if "demo" not in path.parts]
    every = [change for path in paths for change in possible_changes(path)]
    return random.Random(seed).sample(every, count)


def possible_changes(path: Path) -> Iterator[dict]:  # noqa: C901
    """Yield the single changes of a module: the text of its line, and a column, where one token replaces another."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()

    def change(line: int, begin: int, old: str, new: str) -> dict | None:
        column = lines[line - 1].encode()[:begin].decode()
        at = lines[line - 1].find(old, len(column))
        if at < 0:
            return None  # the operator is on another line
        return {
            "module": str(path.relative_to(ROOT)), "line": line, "before_line": lines[line - 2].strip(),
            "text": lines[line - 1].strip(), "column": at - indent(lines[line - 1]), "old": old, "new": new,
        }  # fmt: skip

    for node in ast.walk(ast.parse(source)):
        made, left = None, None
        if isinstance(node, ast.Compare):
            left, operator = node.left, node.ops[0]
        elif isinstance(node, ast.BinOp) and not isinstance(node.left, ast.Constant):
            left, operator = node.left, node.op
        elif isinstance(node, ast.BoolOp):
            left, operator = node.values[0], node.op
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            made = change(node.lineno, node.col_offset, "not ", "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            made = change(node.lineno, node.col_offset, str(node.value), str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            text = ast.get_source_segment(source, node) or ""
            made = change(node.lineno, node.col_offset, text, f"({text} + 1)")
        if left is not None and type(operator) in SWAPS:
            old, new = SWAPS[type(operator)]
            made = change(left.end_lineno, left.end_col_offset, f" {old} ", f" {new} ")
        if made:
            yield made


def moved(changes: list[dict]) -> list[dict]:
    """Return the changes whose line, and the line before it, still occur; in the module where they occur today."""
    here = []
    sources = {
        p: p.read_text(encoding="utf-8").splitlines() for room in ROOMS for p in (ROOT / room).rglob("*.py")
    }
    for change in changes:
        places = [
            (path, number)
            for path, lines in sources.items()
            for number, line in enumerate(lines, 1)
            if line.strip() == change["text"]
        ]
        same = [p for p in places if sources[p[0]][p[1] - 2].strip() == change["before_line"]]
        named = [p for p in same or places if p[0].name == Path(change["module"]).name] or same
        if len(named) == 1 or (named and len({path for path, _ in named}) == 1):
            path, line = min(named, key=lambda place: abs(place[1] - change["line"]))
            place = {"module": str(path.relative_to(ROOT)), "line": line, "before": change["killed"]}
            here.append({key: value for key, value in change.items() if key != "killed"} | place)
    print(f"{len(here)} of {len(changes)} changes have their lines today")
    return here


def is_killed(change: dict, checkout: Path) -> bool:
    """Return whether the tests of a module fail once it is changed."""
    path = checkout / change["module"]
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    line = lines[change["line"] - 1]
    at = indent(line) + change["column"]
    assert line[at:].startswith(change["old"])
    lines[change["line"] - 1] = line[:at] + change["new"] + line[at + len(change["old"]) :]
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-x", "--no-header"]
        # What a mutant compiles is not kept: the next one could be taken for it.
        variables = os.environ | {
            "PYTHONDONTWRITEBYTECODE": "1",
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        }
        tests = tests_of(change["module"])
        ran = subprocess.run(
            command + tests, cwd=checkout, env=variables, capture_output=True, check=False, timeout=TIMEOUT
        )
        return ran.returncode not in (0, 5) and bool(tests)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(source, encoding="utf-8")


def tests_of(module: str) -> list[str]:
    """Return the test files that import the module or mirror its path, its own first; else those of its folder."""
    path = Path(module)
    name = re.compile(rf"\b{re.escape(module.removesuffix('.py').replace('/', '.'))}\b|import {path.stem}\b")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    mirror = [p for p in files if p.parent.relative_to(ROOT / "tests") == path.parent and path.stem in p.stem]
    importers = [p for p in files if p not in mirror and name.search(p.read_text(encoding="utf-8"))]
    folder = ROOT / "tests" / path.parent
    return [str(p.relative_to(ROOT)) for p in [*mirror, *importers] or ([folder] if folder.is_dir() else [])]


def copy_checkout(folder: Path) -> Path:
    """Copy the files of the checkout that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def indent(line: str) -> int:
    """Return the number of spaces at the beginning of a line."""
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    main()
