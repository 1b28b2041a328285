"""Mutation tests: how many small changes of the code the default tests notice.

``make mutants`` draws 120 single changes with a seed (an operator, a comparison, a condition, a number), runs against
each the default tests that import its module or mirror its path, and writes them with their outcomes to
``build/mutants.json``; a run that was stopped goes on. ``MUTANTS="--replay FILE"`` repeats the changes of such a file
in the code of today, wherever their lines are now, and compares the outcomes; lines that are gone are left out.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.without_pairsift import ROOT, copy_checkout

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
        copy_checkout(Path(folder))
        for change in changes:
            if "killed" not in change:
                change["killed"] = is_killed(change, Path(folder))
                args.to.write_text(json.dumps(changes, indent=1))
                outcome = "killed" if change["killed"] else "ALIVE "
                print(outcome, change["module"], change["text"], flush=True)
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


def possible_changes(path: Path) -> Iterator[dict]:
    """Yield the single changes of a module: a line, a column of it, and the token that replaces another one there."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if swap := token_swap(node, source):
            number, begin, old, new = swap
            line = lines[number - 1]
            at = line.find(old, len(line.encode()[:begin].decode()))
            if at >= 0:  # else the operator is on another line
                yield {
                    "module": str(path.relative_to(ROOT)), "line": number, "before_line": lines[number - 2].strip(),
                    "text": line.strip(), "column": at - indent(line), "old": old, "new": new,
                }  # fmt: skip


def token_swap(node: ast.AST, source: str) -> tuple[int, int, str, str] | None:
    """Return the line and the byte at which to look for a token, that token, and another one."""
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return node.lineno, node.col_offset, "not ", ""
        case ast.Constant(value=bool(value)):
            return node.lineno, node.col_offset, str(value), str(not value)
        case ast.Constant(value=int() | float()):
            text = ast.get_source_segment(source, node) or ""
            return node.lineno, node.col_offset, text, f"({text} + 1)"
        case ast.BinOp(left=ast.Constant()):
            return None
        case (
            ast.Compare(left=left, ops=[operator, *_])
            | ast.BinOp(left=left, op=operator)
            | ast.BoolOp(values=[left, *_], op=operator)
        ) if type(operator) in SWAPS:
            old, new = SWAPS[type(operator)]
            return left.end_lineno, left.end_col_offset, f" {old} ", f" {new} "
    return None


def moved(changes: list[dict]) -> list[dict]:
    """Return the changes whose line, and the line before it, still occur; in the module that has them today."""
    here = []
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    sources = {path: [line.strip() for line in path.read_text("utf-8").splitlines()] for path in paths}
    for change in changes:
        places = [
            (p, n) for p, lines in sources.items() for n, line in enumerate(lines) if line == change["text"]
        ]
        same = [(path, n) for path, n in places if sources[path][n - 1] == change["before_line"]]
        named = [p for p in same or places if p[0].name == Path(change["module"]).name] or same
        if named and (len(named) == 1 or len({path for path, _ in named}) == 1):
            path, n = min(named, key=lambda place: abs(place[1] + 1 - change["line"]))
            place = {"module": str(path.relative_to(ROOT)), "line": n + 1, "before": change["killed"]}
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
    tests = tests_of(change["module"])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-x", "--no-header", *tests]
    # Compiled changes are not kept: the next one could be taken for it.
    variables = {"PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        ran = subprocess.run(
            command,
            cwd=checkout,
            env=os.environ | variables,
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
        return ran.returncode not in (0, 5) and bool(tests)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(source, encoding="utf-8")


def tests_of(module: str) -> list[str]:
    """Return the test files that import the module or mirror its path, its own first; else its folder."""
    path = Path(module)
    name = re.compile(rf"\b{re.escape(module.removesuffix('.py').replace('/', '.'))}\b|import {path.stem}\b")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    mirror = [p for p in files if p.parent.relative_to(ROOT / "tests") == path.parent and path.stem in p.stem]
    importers = [p for p in files if p not in mirror and name.search(p.read_text(encoding="utf-8"))]
    folder = ROOT / "tests" / path.parent
    return [str(p.relative_to(ROOT)) for p in [*mirror, *importers] or ([folder] if folder.is_dir() else [])]


def indent(line: str) -> int:
    """Return the number of spaces at the beginning of a line."""
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    main()
