"""A whole run that is killed, stopped and starved of disk, and an undisturbed one.

``python -m tests.hostile.chaos FOLDER --strikes 100`` (`make chaos`) disturbs runs until they were struck so often.
"""

import argparse
import os
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
from itertools import count, pairwise
from pathlib import Path

import numpy as np

from tests.hostile.artefacts import artefacts, differences

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
ENDS = {
    "kill": -signal.SIGKILL,
    "kill all": -signal.SIGKILL,
    "terminate": 143,
    "interrupt": 130,
    "full disk": 2,
}
DISK = "disk"
DEADLINE = 900.0  # seconds; a run of this size takes a minute


@dataclass(frozen=True)
class Moment:
    """Some seconds after a stage has begun."""

    stage: int
    delay: float


@dataclass
class Command:
    """The run in one folder, as a process with a session of its own; it leaves all but its log in ``disk`` there."""

    folder: Path
    process: subprocess.Popen[bytes] = field(init=False)
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        disk = self.folder / DISK
        disk.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / f"{len(list(self.folder.glob('*.log')))}.log"
        environment = {
            "XDG_CACHE_HOME": str(disk / "cache"),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
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

    def seconds_of_stages(self) -> list[float]:
        """Run to the end, and return how long each stage took. Raises if the run fails."""
        began: list[float] = []
        while self.process.poll() is None and len(began) < len(STAGES):
            if re.search(STAGES[len(began)], self.log.read_text(errors="replace"), re.MULTILINE):
                began.append(time.monotonic())
            time.sleep(0.02)
        assert self.end() == 0, self.log.read_text(errors="replace")
        return [end - start for start, end in pairwise([*began, time.monotonic()])]


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


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a disk of 256 MB on `folder` for the time of the block; yield whether that is allowed here."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(folder)], capture_output=True
    )
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def planned(
    seed: int, seconds: Sequence[float], faults: Sequence[str], number: int
) -> list[tuple[str, Moment]]:
    """Return `number` faults at random moments, in the order of the stages, which take so many `seconds`.

    Every stage, and every kind of fault, comes up as often as the others.
    """
    rng = np.random.default_rng(seed)
    stages = sorted(_evenly(rng, len(seconds), number))
    kinds = [faults[kind] for kind in _evenly(rng, len(faults), number)]
    return [
        (kind, Moment(stage, rng.uniform(0, seconds[stage])))
        for kind, stage in zip(kinds, stages, strict=True)
    ]


def _evenly(rng: np.random.Generator, kinds: int, number: int) -> list[int]:
    return [int(kind) for _ in range(-(-number // kinds)) for kind in rng.permutation(kinds)][:number]


@dataclass(frozen=True)
class Undisturbed:
    """What a run leaves that is left alone, and how long its stages took."""

    left: dict[str, str]
    seconds: list[float]


def undisturbed(folder: Path) -> Undisturbed:
    """Let a run end in `folder`."""
    seconds = Command(folder).seconds_of_stages()
    return Undisturbed(artefacts(folder / DISK), seconds)


def disturbed(folder: Path, seed: int, number: int, pause: float, whole: Undisturbed) -> Chaos:
    """Let a run in `folder` end in spite of `number` faults; what it leaves otherwise than `whole` is wrong."""
    chaos = Chaos(folder, pause)
    with small_disk(folder / DISK) as small:
        faults = FAULTS if small else FAULTS[:-1]
        chaos.disturb(planned(seed, whole.seconds, faults, number))
        if wrong := differences(artefacts(folder / DISK), whole.left):
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
    print(f"{dict(struck)} in {seed} runs; {len(whole.left)} files compared after each", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
