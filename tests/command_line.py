"""The command line as a function: what it prints, and its exit code."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hydra.core.global_hydra import GlobalHydra

from benchmark.__main__ import main


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def run_main(*arguments: str) -> int:
    """Run the command line in this process and return its exit code; sys.argv stays as it was."""
    GlobalHydra.instance().clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["benchmark", *arguments])
        try:
            main()
        except SystemExit as stopped:
            return int(stopped.code or 0)
    return 0


def assert_one_line(done: Done, message: str) -> None:
    """A mistake of the user: exit code 2, one line on stderr, nothing on stdout."""
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
