import os
import time

import pytest

from downstream.metrics import meteor as module
from downstream.metrics.java import Java, find_java
from downstream.metrics.meteor import meteor_counts
from downstream.metrics.metric import Corpus, UnavailableError
from tests.downstream.metrics.test_java import fake_java

CORPUS = Corpus({i: f"a cat {i}" for i in range(60)}, {i: ["a cat", "a dog"] for i in range(60)})


# A jar in one line, whose counts are 1, one of them 0.
SCRIPT = "while read -r line; do echo 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1; done"


@pytest.fixture(autouse=True)
def _idle_machine(monkeypatch):
    """Limits do not grow with the load of this machine."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exec sleep 60", r"did not end in 0 s"),
        ("echo 'Could not reserve heap' >&2; exit 1", "METEOR failed: Could not reserve heap"),
        ("read l; echo 'java.lang.OutOfMemoryError: heap' >&2; exit 1", "METEOR failed: .*OutOfMemoryError"),
        ("echo Error: bad line", "METEOR answered 'Error: bad line'"),
        ("echo 1.0 2.0", "METEOR answered '1.0 2.0'"),
        ("read line; echo 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1", "METEOR gave 1 lines for 60"),
    ],
)
def test_a_misbehaving_process_is_a_reason_and_is_killed(tmp_path, monkeypatch, script, reason):
    monkeypatch.setattr(module, "START_SECONDS", 0.4)
    monkeypatch.setattr(module, "SECONDS_PER_IMAGE", 0.0)
    process = tmp_path / "pid"
    java = Java(fake_java(tmp_path, f"echo $$ > {process}; {script}"))
    started = time.monotonic()
    with pytest.raises(UnavailableError, match=reason):
        meteor_counts(CORPUS, java)
    assert time.monotonic() - started < 15
    with pytest.raises(ProcessLookupError):
        os.kill(int(process.read_text()), 0)


def test_every_answer_is_read(tmp_path):
    counts = meteor_counts(CORPUS, Java(fake_java(tmp_path, SCRIPT)))
    assert counts == dict.fromkeys(CORPUS.candidates, [1.0] * 21 + [0.0, 1.0])


def test_a_missing_jar_is_a_reason(monkeypatch):
    monkeypatch.setattr(module, "JAR_NAME", "gone.jar")
    with pytest.raises(UnavailableError, match=r"gone\.jar: reinstall pycocoevalcap"):
        meteor_counts(CORPUS, find_java())


def test_nothing_in_a_caption_can_end_the_request_or_add_a_field():
    request = module.request_line("a ||| b\nEVAL", ["c\r|||", ""])
    assert request == "SCORE ||| c |||  ||| a b EVAL"
