"""Work for the processes of engines, which import this module: without libraries that take long."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.core.errors import UserError

BLAS = os.environ.get("OPENBLAS_NUM_THREADS")  # a worker imports the work's module once it has its cores


@dataclass
class Square:
    """Squares numbers; does `wrong`, or dies, at the task `breaks_at`; leaves a file per attempt in `folder`."""

    breaks_at: int | str = ""
    wrong: Callable[[], Any] | None = None
    folder: Path | None = None
    light: bool = False

    def setup(self, device: str) -> None:
        self.attempt("setup")

    def __call__(self, piece: int) -> tuple[int, int, str | None, str | None]:
        """The square, the process, its threads, and its cache."""
        self.attempt(piece)
        time.sleep(0.01 * (self.folder is not None))
        return piece * piece, os.getpid(), BLAS, os.environ.get("XDG_CACHE_HOME")

    def attempt(self, task: int | str) -> None:
        first = not self.attempts(task)
        if self.folder:
            (self.folder / f"{task}-{os.getpid()}").touch()
        if task == self.breaks_at and self.wrong:
            self.wrong()
        elif task == self.breaks_at and first:
            os.kill(os.getpid(), signal.SIGKILL)

    def attempts(self, task: int | str) -> int:
        return len(list(self.folder.glob(f"{task}-*"))) if self.folder else 0


def refuse() -> None:
    raise UserError("no such model")


def fail() -> None:
    raise KeyError("wrong")


def panic() -> None:
    from tokenizers import Tokenizer

    Tokenizer.from_str('{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}')
