"""Progress bars on a terminal, elsewhere lines in the log; and the interface of trackers that log metrics."""

from __future__ import annotations

import atexit
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from benchmark.core.launch import is_main_process
from benchmark.core.paths import remote_paths
from benchmark.core.sanitize import redact, visible

if TYPE_CHECKING:
    from PIL import Image
    from rich.console import Console
    from rich.progress import Progress

log = logging.getLogger(__name__)
T = TypeVar("T")
LOG_EVERY_SECONDS = 10.0
SHOW_AFTER_SECONDS = 2.0


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
    for package in ("benchmark", "filters", "downstream", "pairsift"):
        logging.getLogger(package).setLevel(logging.INFO if is_main_process() else logging.WARNING)


def _publish(record: logging.LogRecord) -> bool:
    """Write the record as one line without credentials, and with the URLs of remote folders."""
    record.msg, record.args = visible(redact(remote_paths(record.getMessage()))), ()
    return True


@contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Append the log to a file, each line with date and time."""
    root = logging.getLogger()
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.addFilter(_publish)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    before = list(root.handlers)
    root.handlers = [*before, handler]
    try:
        yield
    finally:
        root.handlers = before
        handler.close()


@contextmanager
def progress(title: str, total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    """Yield ``advance(amount, text)``, which moves a bar of `total` and shows `text`, such as a loss, at its end.

    A terminal shows the bar once the block has taken `SHOW_AFTER_SECONDS`. Elsewhere the log gets a line at most
    every `LOG_EVERY_SECONDS`. Only the main process of a launch shows anything.
    """
    started = last = time.monotonic()
    done = 0
    bars: Progress | None = None

    def advance(amount: int, text: str) -> None:
        nonlocal done, last
        done, now = done + amount, time.monotonic()
        line = f"{title}: {_status(done, total, unit, now - started, text)}"
        if bars:
            if now - started >= SHOW_AFTER_SECONDS:
                bars.start()
            bars.update(bars.task_ids[0], description=line[:room], total=total, completed=done)
        elif now - last >= LOG_EVERY_SECONDS:
            last = now
            log.info("%s", line)

    if not (is_main_process() and sys.stderr.isatty() and _console().is_interactive):
        yield advance
        return
    from rich import progress as rich

    columns = rich.BarColumn(10), rich.TextColumn("{task.description}", markup=False)
    bars = rich.Progress(*columns, console=_console(), transient=True)
    room = _console().width - 12  # rich would hide the bar if the line were longer
    bars.add_task(f"{title}: 0 of {total:,} {unit}", total=None)  # the bar pulses until it is moved
    atexit.register(bars.live.stop)  # an error may end the process before it closes a generator with a bar
    try:
        yield advance
    finally:
        atexit.unregister(bars.live.stop)
        bars.live.stop()


def tracked(title: str, items: Iterable[T], total: int, unit: str) -> Iterator[T]:
    """Yield `items`, `total` of them, and move a bar by one after each."""
    with progress(title, total, unit) as advance:
        for item in items:
            yield item
            advance(1, "")


def _status(done: int, total: int, unit: str, seconds: float, text: str) -> str:
    """Return such as ``25%, 0:03:20 left (1,000 of 4,000 images, 15 images/s)``; of an unknown total only `text`."""
    if not 0 < done <= total:
        return text or f"{done:,} of {total:,} {unit}"
    left = timedelta(seconds=round(seconds * (total - done) / done))
    rates = [f"{done / seconds:,.0f} {unit}/s"] if 0 < seconds <= done else []
    counts = ", ".join([f"{done:,} of {total:,} {unit}", *rates, *([text] if text else [])])
    return f"{100 * done // total}%, {left} left ({counts})"


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
