"""METEOR 1.5 (Denkowski and Lavie 2014) through pycocoevalcap's jar, one process for all domains.

pycocoevalcap's own wrapper waits forever for a process that died or got an extra line. Here a timer kills the
process, every answer is checked, and the process never outlives the call.
"""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import IO

from downstream.metrics.base import CaptionMetric, Request, Table
from downstream.metrics.java import Java, failure_reason
from downstream.metrics.metric import Corpus, ImageId, UnavailableError, library
from downstream.metrics.tokenizer import one_line

JAR_NAME = "meteor-1.5.jar"
START_SECONDS, SECONDS_PER_IMAGE = 120.0, 0.1
# Requests sent before their answers are read: few enough that the answers (150 bytes each) fit into any pipe's
# buffer, so that neither side can block the other.
IN_FLIGHT = 24
STATISTICS = 23  # numbers in METEOR's statistics of a segment


class Meteor(CaptionMetric):
    """METEOR 1.5, a fraction, English, all modules."""

    names = ("METEOR",)

    def compute(self, request: Request) -> Table:
        """Return the corpus score of each domain."""
        scores = meteor(request.tokens, request.domains, request.java)
        return {domain: {"METEOR": score} for domain, score in scores.items()}

    def version(self) -> str:
        """Return the library that brings the jar."""
        return library("pycocoevalcap")


def meteor(corpus: Corpus, domains: Mapping[str, Sequence[ImageId]], java: Java) -> dict[str, float]:
    """Return METEOR of a tokenised corpus over each domain's images, a fraction, English, all modules.

    The corpus score is computed from summed statistics; it is not a mean over images. Each image is aligned once,
    even if it is in several domains. Raises `UnavailableError` if the jar is missing, fails or hangs.
    """
    images = list(corpus.candidates)
    requests = [request_line(corpus.candidates[image], corpus.references[image]) for image in images]
    seconds = START_SECONDS + SECONDS_PER_IMAGE * len(images)
    with _Process(java, seconds) as process:
        statistics = dict(zip(images, process.score(requests), strict=True))
        return {name: process.evaluate([statistics[image] for image in ids]) for name, ids in domains.items()}


def request_line(candidate: str, references: Sequence[str]) -> str:
    """Return the protocol's line; captions lose its separator and their line ends."""
    fields = [one_line(text.replace("|||", " ")) for text in (*references, candidate)]
    return " ||| ".join(["SCORE", *fields])


class _Process:
    """The jar's line protocol: SCORE returns a segment's statistics, EVAL the scores of statistics."""

    def __init__(self, java: Java, seconds: float) -> None:
        from pycocoevalcap.meteor import meteor as package

        jar = Path(package.__file__).with_name(JAR_NAME)
        if not jar.is_file():
            raise UnavailableError(f"METEOR's jar is not at {jar}: reinstall pycocoevalcap")
        self._seconds = seconds
        self._command = java.command("-Xmx2G", "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm")

    def __enter__(self) -> "_Process":
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
        )
        self._timed_out = False
        self._timer = Timer(self._seconds, self._stop_late_process)
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._stderr):
            if stream:
                stream.close()

    def score(self, requests: Sequence[str]) -> list[str]:
        """Return one line of statistics per request."""
        answers: list[str] = []
        for start in range(0, len(requests), IN_FLIGHT):
            part = requests[start : start + IN_FLIGHT]
            self._send(part)
            answers += [self._numbers(STATISTICS) for _ in part]
        return answers

    def evaluate(self, statistics: Sequence[str]) -> float:
        """Return the score of all segments together."""
        self._send([" ||| ".join(["EVAL", *statistics])])
        for _ in statistics:  # skip the score of each segment
            self._numbers(1)
        return float(self._numbers(1))

    def _send(self, lines: Sequence[str]) -> None:
        stream: IO[bytes] = _open(self._process.stdin)
        try:
            stream.write("".join(f"{line}\n" for line in lines).encode())
            stream.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def _numbers(self, count: int) -> str:
        line = _open(self._process.stdout).readline().decode("utf-8", "replace").strip()
        try:
            numbers = len([float(field) for field in line.split()])
        except ValueError:
            raise UnavailableError(f"METEOR answered {line[:100]!r}") from None
        if numbers != count:
            raise self._failure() if not line else UnavailableError(f"METEOR answered {line[:100]!r}")
        return line

    def _failure(self) -> UnavailableError:
        if self._timed_out:
            return UnavailableError(f"METEOR did not end in {self._seconds:.0f} s")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)  # until its error output is complete
        self._stderr.seek(0)
        return UnavailableError(f"METEOR failed: {failure_reason(self._stderr.read())}")

    def _stop_late_process(self) -> None:
        self._timed_out = True
        self._process.kill()


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "the process was started with pipes"
    return stream
