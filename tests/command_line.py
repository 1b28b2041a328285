"""The command line as a function: its output, and its exit code."""

import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hydra.errors
import omegaconf.errors
import pytest
from hydra.core.global_hydra import GlobalHydra

from benchmark.__main__ import main
from benchmark.cli.process import raise_if_stopped


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]
ROOT = Path(__file__).resolve().parents[1]
# Classes of ours, Hydra and OmegaConf; users of a command never have to know one.
CLASSES = {name for errors in (hydra.errors, omegaconf.errors) for name in vars(errors)} | {
    name
    for package in ("benchmark", "filters", "downstream", "pairsift")
    for path in (ROOT / package).rglob("*.py")
    for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)
}


def run_main(*arguments: str) -> int:
    """Run the command line in this process and return its exit code; sys.argv stays as it was.

    A command that is stopped ignores further signals until its process ends, which is pytest here: so stop pytest.
    """
    GlobalHydra.instance().clear()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["benchmark", *arguments])
        try:
            main()
        except SystemExit as stopped:
            raise_if_stopped()
            return int(stopped.code or 0)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return 0


def assert_one_line(done: Done, message: str) -> None:
    """A mistake of the user: exit code 2, one line on stderr, nothing on stdout."""
    assert_lines(done, message)


def assert_lines(done: Done, *messages: str) -> None:
    """Mistakes of the user, each with one line on stderr, which holds its message and no class of the machinery."""
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == len(messages), done.stderr
    for message, line in zip(messages, errors, strict=True):
        assert message in line
        assert not set(re.findall(r"(?<![\w./:])(?:[A-Z][a-z0-9]+){2,}\b(?!:)", line)) & CLASSES, line
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
