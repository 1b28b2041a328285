"""The other side of `measurement`: the processes that do the work and measure it.

``python -m bench.processes command COMMAND ...`` runs a command and prints its usage; ``... serve MODULE``
imports a module once, as this takes longer than most work, and forks for each call of one of its functions.
"""

import ctypes
import inspect
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from bench.measurement import Usage
from benchmark.core.usage import processor_seconds


def serve(module: str) -> None:
    """Call functions of a module, each in a fork of this process; end with the first that fails.

    Reads lines of JSON: function, arguments, environment. Answers each with a line of JSON, its usage. The module's
    `IMPORTS` are names of libraries that its functions would otherwise import in each fork, for seconds. The module
    does not import them at its top, because collecting tests would wait.
    """
    # The work gets an empty input and prints to the standard error; so do imports.
    requests, answers = os.fdopen(os.dup(0)), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for name in getattr(import_module(module), "IMPORTS", ()):
        import_module(name)
    for request in requests:
        if not (child := os.fork()):
            function, arguments, environment = json.loads(request)
            os.environ.update(environment)
            usage = call(getattr(import_module(module), function), arguments)
            os.write(answers, f"{json.dumps(asdict(usage))}\n".encode())
            return
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(1)


def call(function: Callable[..., object], arguments: Sequence[Any]) -> Usage:
    """Call a function in this process; the work of a generator before its first ``yield`` is not."""
    work: Callable[[], object] = partial(function, *arguments)
    if inspect.isgeneratorfunction(function):
        steps = cast("Iterator[object]", work())
        next(steps)
        work = partial(next, steps, None)
    before, read, began = processor_seconds(), _gib_read(), time.monotonic()
    with _peak_anonymous() as anonymous:
        work()
    seconds, cpu_seconds = time.monotonic() - began, processor_seconds() - before
    # Not getrusage: it returns the peak of the parent process if that was larger.
    return Usage(seconds, cpu_seconds, _gib("VmHWM"), max(anonymous), _gib_read() - read)


@contextmanager
def _peak_anonymous() -> Iterator[list[float]]:
    """Note the GiB of this process in no file, fifty times a second."""
    seen, done = [_gib("RssAnon")], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            seen.append(_gib("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


def _gib_read() -> float:
    (count,) = re.findall(r"read_bytes: (\d+)", Path("/proc/self/io").read_text())
    return int(count) / 2**30


def _gib(kind: str) -> float:
    (kilobytes,) = re.findall(rf"{kind}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(kilobytes) / 2**20


def command(*arguments: str) -> Usage:
    """Run a command as a child of this small process, and wait for the fork server that its workers leave behind.

    The memory is that of its largest process.
    """
    adopt_orphans = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h: orphans become children of this process
    ctypes.CDLL(None).prctl(adopt_orphans, 1, 0, 0, 0)
    began = time.monotonic()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    seconds = time.monotonic() - began
    with suppress(ChildProcessError):  # when none is left
        while True:
            os.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Usage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


if __name__ == "__main__":
    kind, *of_kind = sys.argv[1:]
    if kind == "serve":
        serve(*of_kind)
    else:
        sys.stdout.write(json.dumps(asdict(command(*of_kind))))
