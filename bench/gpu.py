"""All GPU work in one command of under 9 minutes: the GPU tests, and the speed of models at their real sizes.

    python -m bench.gpu                       # needs a GPU; writes docs/gpu.json and its table of docs/performance.md
    python -m bench.gpu icc captioner         # only these parts
    python -m bench.gpu --minutes 4           # as many parts, in order of worth, as fit
    python -m bench.gpu --device cpu --tiny   # every part with tiny models, which measures nothing and writes nothing

Weights are random (`tests.paper_checkpoints`). Each part runs in a separate process, for its peak of memory.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from bench.gpu_parts import BERT, CLIPS, GPT2, ICC, PARTS, SWIN, VIT, Row, Setting, score_photos
from bench.measurement import PAGE, ROOT, write_table
from benchmark.core.paths import write_text
from benchmark.results.provenance import provenance

FILE = ROOT / "docs" / "gpu.json"
BEGIN, END = "<!-- gpu: begin -->", "<!-- gpu: end -->"
HEADER = "| work | rate | GPU busy | share of the peak | GPU memory, GiB | |"


def send_rows(connection: Connection, parts: Sequence[str], setting: Setting) -> None:
    """Send the rows of parts, and None at the end; an error as its text."""
    try:
        for part in parts:
            for row in PARTS[part](setting):
                connection.send(row)
        connection.send(None)
    except Exception:
        connection.send(traceback.format_exc())
        raise


def rows_of(parts: Sequence[str], setting: Setting, seconds: float) -> Iterator[Row | str]:
    """Yield the rows of parts, which another process measures, and then the error, if there was one."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=send_rows, args=(sender, parts, setting))
    process.start()
    sender.close()
    end = time.monotonic() + seconds
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            if (sent := receiver.recv()) is None:
                return
            yield sent
            if isinstance(sent, str):
                return
        yield f"{', '.join(parts)}: not finished in the time of the whole command"
    except EOFError:
        process.join()
        yield f"{', '.join(parts)}: the process ended with exit code {process.exitcode}"
    finally:
        process.join(5)
        process.kill()


def make_checkpoints(setting: Setting, folder: Path, parts: Sequence[str]) -> None:
    """Make the checkpoints of the parts, and let their processes find them."""
    from tests.paper_checkpoints import Hub

    clips = CLIPS.values() if score_photos.__name__ in parts else ()
    Hub(folder / "hub", setting.tiny).add([SWIN, GPT2, VIT, BERT, ICC, *clips])
    os.environ |= {
        "HF_HUB_CACHE": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def driver() -> str:
    """The version of NVIDIA's driver, or nothing."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


def write_document(file: Path, rows: Sequence[Row], errors: Sequence[str]) -> None:
    """Write the measurements with machine and date, and the errors of failed parts."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    machine = {"gpu": gpu, "driver": driver(), "cuda": torch.version.cuda}
    measured = {"rows": [asdict(row) for row in rows], "errors": list(errors)}
    write_text(file, json.dumps(provenance() | machine | measured, indent=2) + "\n")


def write_page(file: Path = FILE, page: Path = PAGE) -> None:
    """Write the table of docs/gpu.json, if there is one, into docs/performance.md."""
    lines = ["| `make gpu` was not run yet | | | | | |"]
    if file.is_file():
        measured = json.loads(file.read_text())
        where = f"{measured['gpu']}, driver {measured['driver']}, CUDA {measured['cuda']}"
        where += f", torch {measured['versions']['torch']}; {measured['finished'][:10]}"
        where += f", commit {(measured['git_commit'] or 'unknown')[:8]}"
        rows = [Row(**row) for row in measured["rows"]]
        lines = [row.cells(peak_of(rows)) for row in rows]
        lines += [Row(error.strip().splitlines()[-1], note="failed").cells() for error in measured["errors"]]
        lines += [Row(where).cells()]
    write_table(BEGIN, END, HEADER, lines, page)


def peak_of(rows: Sequence[Row]) -> float | None:
    """The operations per second of the first row that counts them, `gpu_parts.peak`."""
    return next((row.tflops for row in rows if row.tflops), None)


def main(arguments: Sequence[str]) -> int:
    """Measure all parts; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="tiny models: tries the code, measures nothing")
    parser.add_argument("--table", action="store_true", help="only write the table of docs/gpu.json again")
    parser.add_argument("--minutes", type=float, default=9, help="of all parts together")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all of them by default"
    )
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"{min(unknown)} must be one of {', '.join(PARTS)}")
    if given.table:
        write_page()
        return 0
    if given.device == "cuda" and not torch.cuda.is_available():
        print(
            "error: make gpu needs a CUDA device, and torch sees none here; nothing was measured",
            file=sys.stderr,
        )
        return 2
    setting = Setting(given.device, given.tiny)
    end, rows, errors = time.monotonic() + 60 * given.minutes, [], []
    with tempfile.TemporaryDirectory() as folder:
        parts = given.parts or list(PARTS)
        make_checkpoints(setting, Path(folder), parts)
        # Tiny models share a process, because its imports take longer than they do.
        for group in [parts] if given.tiny else [[part] for part in parts]:
            if time.monotonic() > end:
                errors.append(f"{', '.join(group)}: not begun in the {given.minutes:g} minutes")
                continue
            for row in rows_of(group, setting, end - time.monotonic()):
                if isinstance(row, Row):
                    rows.append(row)
                    print(row.cells(peak_of(rows)), flush=True)
                else:
                    errors.append(row)
                    print(row, file=sys.stderr, flush=True)
    if given.device == "cuda" and not given.tiny:
        write_document(FILE, rows, errors)
        write_page()
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
