"""The rules of CI find a planted fault, and a shared folder is built once."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ci_rules import fail_if_not_installed, limit_of_processor_time, skip_without_pairsift


def report(outcome: str, text: str) -> pytest.TestReport:
    place = ("tests/test_x.py", 1, "x")
    failure = ("tests/test_x.py", 1, f"Skipped: {text}") if outcome == "skipped" else text
    return pytest.TestReport("x", place, {}, outcome, failure, "call")


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("could not import 'ray': No module named 'ray'", "failed"),
        ("pip install 'pairsift[joblib]'", "failed"),
        ("no WordNet in /usr/share/wordnet; apt install wordnet-base", "failed"),
        ("no shared data in /shared/data; set PAIRSIFT_SHARED_DATA", "skipped"),
        ("no CUDA device", "skipped"),
    ],
)
def test_a_skip_for_an_absent_extra_fails_in_ci(
    reason: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAIRSIFT_EVERY_EXTRA", raising=False)
    assert fail_if_not_installed(report("skipped", reason)).outcome == "skipped"
    monkeypatch.setenv("PAIRSIFT_EVERY_EXTRA", "1")
    assert fail_if_not_installed(report("skipped", reason)).outcome == outcome


@pytest.mark.parametrize(
    ("absent", "failure", "outcome"),
    [
        (True, "ModuleNotFoundError: No module named 'pairsift.demo'", "skipped"),
        (True, "error: the package pairsift, which has these files, is not installed", "skipped"),
        (True, "AssertionError: assert 1 == 2", "failed"),
        (False, "ModuleNotFoundError: No module named 'pairsift.demo'", "failed"),
    ],
)
def test_a_test_of_the_demo_skips_without_pairsift(
    absent: bool, failure: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.ci_rules.find_spec", lambda name: None if absent else object())
    assert skip_without_pairsift(report("failed", failure)).outcome == outcome


WORK = "sum(range(2 * 10**7))"


@pytest.mark.parametrize(
    ("body", "marks", "fails"),
    [
        (lambda: eval(WORK), [], True),
        (lambda: subprocess.run([sys.executable, "-c", WORK], check=True), [], True),
        (lambda: eval(WORK), [pytest.mark.slow], False),
        (lambda: importlib.import_module("long_import"), [], False),
        (lambda: None, [], False),
    ],
)
def test_a_long_default_test_fails_in_ci(
    body: Callable[[], object], marks: list[Any], fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRSIFT_TEST_SECONDS", "0.1")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "long_import.py").write_text(WORK)
    item = SimpleNamespace(iter_markers=lambda: [mark.mark for mark in marks])
    refused = pytest.raises(pytest.fail.Exception, match="make it faster, or mark it slow")
    with refused if fails else nullcontext(), limit_of_processor_time(item):
        body()


def test_a_shared_folder_is_built_once(build_once: Callable[..., Path]) -> None:
    built: list[Path] = []
    folders = {build_once("of this test", built.append) for _ in range(3)}
    assert folders == set(built)
    assert len(built) == 1
    assert built[0].is_dir()
