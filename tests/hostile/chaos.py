"""A whole run that is killed, stopped and starved of disk, and an undisturbed one.

``python -m tests.hostile.chaos FOLDER --strikes 100`` (`make chaos`) disturbs runs until they were struck so often.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from benchmark.core.temporaries import is_temporary
from tests.hostile.damage import mounted

ROOT = Path(__file__).resolve().parents[2]
# 2,000 pairs and tiny models through every stage; checkpoints often enough that a training is resumed from one.
RUN = [
    "pool.demo.pairs=2000", "pool.demo.shard_size=250", "pool.demo.evaluation={coco: 12, nocaps: 4, flickr30k: 8}",
    "downstream.captioner.training.samples_seen=300", "downstream.captioner.training.checkpoint_every=50",
    "downstream.captioner.max_new_tokens=12", "downstream.dual_encoder.training.samples_seen=512",
    "downstream.dual_encoder.training.checkpoint_every=128", "evalset.classes.drawn.train=1",
    "evalset.classes.drawn.test=2", "metrics=[rouge_l,cider]", "engine.workers=2", "filter=clip",
    "size.samples=20000",
]  # fmt: skip
# What is logged when a stage begins, in the order of a run.
STAGES = (
    r"pool: drawing the demo", r"score: clip on", r"select: \d", r"protocol: ", r"evaluate: captioner$",
    r"evaluate: .*/captioner$", r"evaluate: dual_encoder$", r"evaluate: .*/dual_encoder$",
)  # fmt: skip
FAULTS = ("kill", "kill all", "terminate", "interrupt", "pause", "full disk")
ENDS = {"terminate": 143, "interrupt": 130, "full disk": 2}  # exit codes; of the others, that of SIGKILL
DISK = "disk"
DEADLINE = 900.0  # seconds; a run of this size takes a minute
LONGEST_WAIT = 3.0  # seconds after the begin of a stage, if it takes so long
# Names of files that end with the time of a tar; fields and folders that differ between two runs of one command.
OF_A_TIME = re.compile(r"(?<=demo)-[0-9a-f]{12}|(?<=/\d{8})-[0-9a-f]{12}")
TIMES = re.compile(
    r"seconds$|_per_second$|peak_rss_bytes$|^finished$|^reused$|^resumed_from$|^checksum$|^crc32$"
)
UNCOMPARED = {
    "locks",
    "sweeps",
    "digests",
    "tar_index",
    "content",
    "readable",
    "evaluation_images",
    "same_bytes",
}


def artefacts(folder: Path) -> dict[str, str]:
    """Return a digest of each file that a run left in ``cache`` and ``results`` below `folder`, by its path.

    Half-written files of killed runs are left out; a file that was made twice, of tars drawn again, counts twice.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*/**/*")):
        parts = path.relative_to(folder).parts
        left_out = path.name.endswith(".seal") or any(map(is_temporary, parts)) or UNCOMPARED & {*parts}
        if path.is_file() and not left_out:
            name = OF_A_TIME.sub("", "/".join(parts))
            found[name + " again" * (name in found)] = hashlib.sha256(_lasting(path, folder)).hexdigest()
    return found


def _lasting(path: Path, folder: Path) -> bytes:
    """Return the content of a file without times; the metadata of tables has some."""
    if path.suffix in (".parquet", ".arrow"):
        table = pq.read_table(path) if path.suffix == ".parquet" else ipc.open_file(path).read_all()
        sink, table = pa.BufferOutputStream(), table.replace_schema_metadata(None).combine_chunks()
        with ipc.new_stream(sink, table.schema.remove_metadata()) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()
    if path.suffix != ".json":
        return path.read_bytes()
    text = path.read_text().replace(str(folder), "")
    if folder.is_relative_to(ROOT):  # results name what is in the checkout from there
        text = text.replace(str(folder.relative_to(ROOT)), "")
    return json.dumps(_without_times(json.loads(OF_A_TIME.sub("", text))), sort_keys=True).encode()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(inner) for key, inner in value.items() if not TIMES.search(key)}
    return [_without_times(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Moment:
    """Some seconds after a stage has begun."""

    stage: int
    delay: float


@dataclass
class Command:
    """The run in one folder, as a process with a new session; it leaves all but its log in ``disk`` there."""

    folder: Path
    process: subprocess.Popen[bytes] = field(init=False)
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        disk = self.folder / DISK
        disk.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / f"{len(list(self.folder.glob('*.log')))}.log"
        environment = {"XDG_CACHE_HOME": f"{disk}/cache", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmark", *RUN, f"results_dir={disk / 'results'}"],
                cwd=disk,
                env=os.environ | environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def reaches(self, moment: Moment) -> bool:
        """Wait for the moment, or the end of its stage if that comes first; False if the run has ended before."""
        while not self._reached(moment.stage):
            if self.process.poll() is not None:
                return False
            time.sleep(0.05)
        end = time.monotonic() + moment.delay
        while time.monotonic() < end and self.process.poll() is None and not self._reached(moment.stage + 1):
            time.sleep(0.02)
        return self.process.poll() is None

    def _reached(self, stage: int) -> bool:
        """Whether a stage has begun, or one behind it: what an earlier run has done is not done again."""
        log = self.log.read_text(errors="replace")
        return any(re.search(began, log, re.MULTILINE) for began in STAGES[stage:])

    def send(self, number: signal.Signals, everyone: bool = True) -> None:
        """Send a signal to the command, and to its workers."""
        with suppress(ProcessLookupError):
            if everyone:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def end(self) -> int:
        """Wait until the run ends; return its exit code."""
        return self.process.wait(DEADLINE)


@dataclass
class Chaos:
    """A run that is disturbed at some moments, one after the other, until it ends.

    Attributes:
        struck: how often each fault came in time, that is, before the run had ended.
        wrong: in one line each, what a fault led to that it should not.
    """

    folder: Path
    pause: float
    struck: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def disturb(self, faults: Sequence[tuple[str, Moment]]) -> None:
        """Let the faults happen, in their order, and the run end after the last one."""
        command = Command(self.folder)
        for fault, moment in faults:
            if not command.reaches(moment):
                break
            self.struck[fault] += 1
            command = self._strike(command, fault)
        if code := command.end():
            self.wrong.append(f"{command.log}: exit code {code} undisturbed")

    def _strike(self, command: Command, fault: str) -> Command:
        """Return the command that goes on: a new one unless the fault was a pause."""
        if fault == "pause":
            command.send(signal.SIGSTOP)
            time.sleep(self.pause)
            command.send(signal.SIGCONT)
            return command
        if fault == "full disk":
            with full_disk(self.folder / DISK):
                self._check_end(command, fault)
            return Command(self.folder)
        numbers = {"terminate": signal.SIGTERM, "interrupt": signal.SIGINT}
        command.send(numbers.get(fault, signal.SIGKILL), everyone=fault == "kill all")
        self._check_end(command, fault)
        return Command(self.folder)

    def _check_end(self, command: Command, fault: str) -> None:
        """Note how the command ended, unless as such a fault should end it, or as if nothing had happened."""
        code, text = command.end(), command.log.read_text(errors="replace")
        if code not in {ENDS.get(fault, -signal.SIGKILL), 0}:
            self.wrong.append(f"{command.log}: exit code {code} after {fault}")
        if "Traceback" in text:
            self.wrong.append(f"{command.log}: traceback after {fault}")


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Fill the disk that `folder` is on for the time of the block."""
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(folder).free - 4096)
    try:
        yield
    finally:
        ballast.unlink()


def undisturbed(folder: Path) -> dict[str, str]:
    """Let a run end in `folder`; return its artefacts."""
    command = Command(folder)
    assert command.end() == 0, command.log.read_text(errors="replace")
    return artefacts(folder / DISK)


def disturbed(folder: Path, seed: int, number: int, pause: float, whole: dict[str, str]) -> Chaos:
    """Let a run in `folder` end in spite of `number` faults at random moments; compare its artefacts with `whole`."""
    rng, chaos = random.Random(seed), Chaos(folder, pause)
    stages = sorted(rng.choices(range(len(STAGES)), k=number))
    with mounted(folder / DISK, "size=256m") as refused:
        faults = FAULTS[:-1] if refused else FAULTS
        kinds = [kind for _ in range(number) for kind in rng.sample(faults, len(faults))][:number]
        moments = [Moment(stage, rng.uniform(0, LONGEST_WAIT)) for stage in stages]
        chaos.disturb(list(zip(kinds, moments, strict=True)))
        left = artefacts(folder / DISK)
        if wrong := sorted(path for path in left.keys() | whole.keys() if left.get(path) != whole.get(path)):
            chaos.wrong += [f"{folder}: {path} differs" for path in wrong]
            shutil.copytree(folder / DISK, folder / "differs")  # the disk is in memory
    return chaos


def main() -> int:
    """Disturb runs until they were struck often enough; print what was tried, and what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--strikes", type=int, default=100)
    parser.add_argument("--pause", type=float, default=60, help="seconds between SIGSTOP and SIGCONT")
    arguments = parser.parse_args()
    top = arguments.folder.resolve()  # runs have separate working folders
    whole = undisturbed(top / "undisturbed")
    struck: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in count():
        if sum(struck.values()) >= arguments.strikes:
            break
        chaos = disturbed(top / f"disturbed-{seed}", seed, 10, arguments.pause, whole)
        struck += chaos.struck
        wrong += chaos.wrong
        print(f"run {seed}: {sum(struck.values())} strikes, {len(wrong)} of them wrong", flush=True)
    print(f"{dict(struck)} in {seed} runs; {len(whole)} files compared after each", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
