"""Compare two states of the code: the selections, trainings and metrics of a command, and texts that users see.

In each checkout ``python -m tests.same_results write FILE`` runs ``filter=icc,random,clip,oracle size=200k`` (ten
minutes on two cores), the report, an export, doctor and the helps; ``python -m tests.same_results compare OLD NEW``
prints the differences, and ends with exit code 1 if there are any. Texts are compared without times, sizes in memory,
temporary paths, and hashes of fingerprints; ``--hashes`` compares these too.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
FILTERS = "icc,random,clip,oracle"
SHOWN = {
    "help": ["--help"],
    "help filter": ["--help", "filter"],
    "help filter=icc": ["--help", "filter=icc"],
    "help task": ["--help", "task"],
    "doctor": ["task=doctor", "filter=icc"],
    "doctor of an own pool": ["task=doctor", "pool=img2dataset", "pool.url=POOL", "filter=clip"],
    "misspelt": ["filter=cilp"],
    "wrong value": ["size=0"],
    "plan": ["plan=true", f"filter={FILTERS}"],
}
RECORDED = ("run_id", "protocol", "selection", "downstream", "kept", "contamination", "overrides", "k")
HASH = r"\b[0-9a-f]{8,64}\b"
CHANGING = [
    (r"\d+(\.\d+)? ?(s|seconds|min|h|hours|GB|MB|GiB|MiB|kB|u)\b", "#"),
    (r"\d+:\d\d(:\d\d)?", "#"),
    (r"\d{4}-\d\d-\d\d", "#"),
    (r"\b(benchmark|pairsift)/demo/", "demo/"),
    (r"benchmark\.(demo|studies)", "pairsift.demo"),
]


def main() -> None:
    """Write the facts of this checkout, or compare two files of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write").add_argument("file", type=Path)
    compared = commands.add_parser("compare")
    compared.add_argument("files", type=Path, nargs=2)
    compared.add_argument("--hashes", action="store_true", help="fingerprints too")
    args = parser.parse_args()
    if args.command == "write":
        with TemporaryDirectory() as folder:
            args.file.write_text(json.dumps(facts(Path(folder)), indent=1, sort_keys=True))
        return
    before, after = (lines(json.loads(path.read_text()), args.hashes) for path in args.files)
    differences = [line for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:2] != "@@"]
    print("\n".join(differences) or "the same")
    sys.exit(bool(differences))


def facts(folder: Path) -> dict[str, Any]:
    """Return the selections and metrics of the runs, and the texts that users see."""

    def call(*arguments: str) -> str:
        command = [
            sys.executable,
            "-m",
            "benchmark",
            *(a.replace("POOL", str(folder / "pool")) for a in arguments),
        ]
        variables = os.environ | {"HF_HUB_OFFLINE": "1", "COLUMNS": "120"}
        ran = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        text = f"{ran.stdout}\n{ran.stderr}\nexit code {ran.returncode}"
        log = re.sub(r"^\d\d:\d\d:\d\d ", "", text, flags=re.MULTILINE)
        for path in (str(folder), str(ROOT), os.environ.get("XDG_CACHE_HOME", "~/.cache")):
            log = log.replace(path, "FOLDER")
        return log

    results = f"results_dir={folder / 'results'}"
    call(f"filter={FILTERS}", "size=200k", results)
    records = [json.loads(path.read_text()) for path in sorted((folder / "results").glob("*.json"))]
    runs = {r["filter"]: {key: r[key] for key in RECORDED} for r in records if "downstream" in r}
    (folder / "pool").mkdir()
    shown = {name: call(*arguments) for name, arguments in SHOWN.items()}
    shown["report"] = call("task=report", results, "task.full=true")
    for file in ("report.md", "report.csv", "report.json"):
        shown[file] = (folder / "results" / file).read_text().replace(str(folder), "FOLDER")
    export = folder / "export"
    shown["export"] = call("task=export", "filter=clip", "size=200k", f"task.output={export}", results)
    files = sorted(path for path in export.rglob("*") if path.suffix in (".md", ".jsonl", ".yaml"))
    shown |= {f"export/{file.name}": file.read_text() for file in files}
    return {"runs": runs, "shown": {name: text.splitlines() for name, text in shown.items()}}


def lines(value: Any, hashes: bool, path: str = "") -> list[str]:
    """Return a line for each fact, with its place."""
    if isinstance(value, dict):
        return [line for key in sorted(value) for line in lines(value[key], hashes, f"{path}/{key}")]
    if isinstance(value, list):
        return [line for item in value for line in lines(item, hashes, path)]
    text = str(value)
    for pattern, sign in CHANGING if hashes else [*CHANGING, (HASH, "HASH")]:
        text = re.sub(pattern, sign, text)
    # Hashes of uids name the training pairs: they always count.
    return [f"{path}: {value if path.endswith('sha256') else text}"]


if __name__ == "__main__":
    main()
