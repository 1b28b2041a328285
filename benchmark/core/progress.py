"""Progress bars on a terminal, elsewhere lines in the log; and the interface of trackers that log metrics."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchmark.core.launch import is_main_process
from benchmark.core.paths import remote_paths
from benchmark.core.sanitize import redact, visible

if TYPE_CHECKING:
    from PIL import Image
    from rich.console import Console

log = logging.getLogger(__name__)
LOG_EVERY_SECONDS = 30.0


@cache
def _console() -> Console:
    """Return the console on stderr: stdout is kept for results, its last line is the path of the result."""
    from rich.console import Console

    return Console(stderr=True)


def configure_logging() -> None:
    """Log to stderr: above the progress bars on a terminal, plain lines elsewhere; one process of a launch logs."""
    handler: logging.Handler = logging.StreamHandler()
    if sys.stderr.isatty():
        from rich.logging import RichHandler

        handler = RichHandler(
            console=_console(), show_path=False, show_level=False, show_time=False, highlighter=None
        )
    handler.addFilter(_publish)
    line, time_of_day = "%(asctime)s %(message)s", "%H:%M:%S"
    logging.basicConfig(level=logging.WARNING, format=line, datefmt=time_of_day, handlers=[handler])
    for package in ("benchmark", "filters", "downstream"):
        logging.getLogger(package).setLevel(logging.INFO if is_main_process() else logging.WARNING)


def _publish(record: logging.LogRecord) -> bool:
    """Write the record as one line without credentials, and with the URLs of remote folders."""
    record.msg, record.args = visible(redact(remote_paths(record.getMessage()))), ()
    return True


@contextmanager
def log_to_file(path: Path, *, alone: bool = False) -> Iterator[None]:
    """Append what is logged to a file, each line with date and time; `alone`: and nowhere else."""
    root = logging.getLogger()
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.addFilter(_publish)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    before = list(root.handlers)
    root.handlers = [handler] if alone else [*before, handler]
    try:
        yield
    finally:
        root.handlers = before
        handler.close()


@contextmanager
def progress(title: str, total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    """Yield ``advance(amount, text)``, which moves a bar of `total` and shows `text` (a rate, a loss) beside it."""
    if not sys.stderr.isatty():
        yield _log_lines(title, total, unit)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.fields[text]}", markup=False)
    with Progress(
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        text,
        TimeRemainingColumn(),
        console=_console(),
        transient=True,
    ) as bars:
        bar = bars.add_task(title, total=total, text="")
        yield lambda amount, text: bars.update(bar, advance=amount, text=text)


def _log_lines(title: str, total: int, unit: str) -> Callable[[int, str], None]:
    done = 0
    last = time.monotonic()

    def advance(amount: int, text: str) -> None:
        nonlocal done, last
        done += amount
        if time.monotonic() - last >= LOG_EVERY_SECONDS:
            last = time.monotonic()
            log.info("%s: %d of %d %s%s", title, done, total, unit, f", {text}" if text else "")

    return advance


@dataclass(frozen=True)
class CaptionedImage:
    """A thumbnail in RGB, the caption that a model wrote for the image, and its reference captions."""

    image: Image.Image
    caption: str
    references: tuple[str, ...]


class MetricLogger(Protocol):
    """Logs the numbers of one run."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log `values` (e.g. ``{"captioner/loss": 2.1}``) at `step` samples seen."""

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Log generated captions as `name` (e.g. ``captioner/captions``) at `step` samples seen."""
