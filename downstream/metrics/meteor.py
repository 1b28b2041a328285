"""METEOR 1.5 (Denkowski and Lavie 2014) through pycocoevalcap's jar, one process for all domains.

The jar takes seconds to load, so its process is started before the captions are tokenised, and works while the other
metrics run. pycocoevalcap's wrapper waits forever for a process that died or got an extra line. Here a timer kills
the process, and every answer is checked.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import IO, Self

import numpy as np

from downstream.metrics.base import CaptionMetric, Request, Table
from downstream.metrics.corpus_scores import METEOR_COUNTS, Doubles, meteor_of_sums
from downstream.metrics.java import JARS, Java, failure_reason, patience
from downstream.metrics.metric import Corpus, ImageId, UnavailableError
from downstream.metrics.tokenizer import one_line

JAR_NAME = "meteor-1.5.jar"
START_SECONDS, SECONDS_PER_IMAGE = 120.0, 0.1
# Requests sent before their answers are read: few enough that the answers (150 bytes each) fit into any pipe's
# buffer, so that neither side can block the other.
IN_FLIGHT = 24


class Meteor(CaptionMetric):
    """METEOR 1.5, a fraction, English, all modules."""

    names = ("METEOR",)
    unit = "fraction"
    library = "pycocoevalcap"
    reads_tokens = True
    in_background = True

    def compute(self, request: Request) -> Table:
        """Return the corpus score of each domain."""
        with MeteorProcess(request.java) as process:  # it loads while the captions are tokenised
            counts = meteor_counts(request.tokens, process)
        columns = np.array(list(counts.values())).T
        for name, column in zip(METEOR_COUNTS, columns, strict=True):
            request.of_images[name] = dict(zip(counts, column.tolist(), strict=True))
        return {
            domain: {"METEOR": meteor(np.array([counts[image] for image in ids]))}
            for domain, ids in request.domains.items()
        }


def meteor(counts: Doubles) -> float:
    """Return METEOR of n images' `METEOR_COUNTS`, (n, 23), as one corpus: a fraction."""
    sums = dict(zip(METEOR_COUNTS, counts.sum(axis=0, keepdims=True).T, strict=True))
    return float(meteor_of_sums(sums)[0])


def meteor_counts(corpus: Corpus, process: "MeteorProcess") -> dict[ImageId, list[float]]:
    """Return `METEOR_COUNTS` of each candidate of a tokenised corpus. Raises `UnavailableError` if the jar fails."""
    requests = [request_line(text, corpus.references[image]) for image, text in corpus.candidates.items()]
    with process.limited(START_SECONDS + SECONDS_PER_IMAGE * len(requests)):
        return dict(zip(corpus.candidates, process.score(requests), strict=True))


def request_line(candidate: str, references: Sequence[str]) -> str:
    """Return the protocol's line; captions lose its separator and their line ends."""
    fields = [one_line(text.replace("|||", " ")) for text in (*references, candidate)]
    return " ||| ".join(["SCORE", *fields])


def without_chunk_if_identical(counts: list[float]) -> list[float]:
    """Return the counts without the chunk of a caption that matches all of a reference: the jar sums them so."""
    by_name = dict(zip(METEOR_COUNTS, counts, strict=True))
    whole = by_name["METEOR_matches"] == by_name["METEOR_length"]
    whole_reference = by_name["METEOR_reference_matches"] == by_name["METEOR_reference_length"]
    if whole and whole_reference and by_name["METEOR_chunks"] == 1:
        by_name["METEOR_chunks"] = 0.0
    return list(by_name.values())


class MeteorProcess:
    """The jar's line protocol: SCORE returns the counts of a segment with the reference that it matches best.

    English, all matchers. Raises `UnavailableError` if the jar is missing.
    """

    def __init__(self, java: Java) -> None:
        jar = JARS / "meteor" / JAR_NAME
        if not jar.is_file():
            raise UnavailableError(f"METEOR's jar is not at {jar}: reinstall pycocoevalcap")
        self._timed_out: float | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, closed at the end
        self._process = subprocess.Popen(
            java.command("-Xmx2G", "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=java.environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            _open(self._process.stdin).close()
        for stream in (_open(self._process.stdout), self._stderr):
            stream.close()

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer, and longer still on a busy machine."""
        timer = Timer(patience(seconds), self._stop_late, [patience(seconds)])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def score(self, requests: Sequence[str]) -> Iterator[list[float]]:
        """Yield `METEOR_COUNTS` of each request."""
        for start in range(0, len(requests), IN_FLIGHT):
            part = requests[start : start + IN_FLIGHT]
            stream = _open(self._process.stdin)
            try:
                stream.write("".join(f"{line}\n" for line in part).encode())
                stream.flush()
            except BrokenPipeError:
                raise self._failure() from None
            for _ in part:
                yield self._counts()

    def _counts(self) -> list[float]:
        line = _open(self._process.stdout).readline().decode("utf-8", "replace").strip()
        try:
            counts = [float(field) for field in line.split()]
        except ValueError:
            raise UnavailableError(f"METEOR answered {line[:100]!r}") from None
        if len(counts) != len(METEOR_COUNTS):
            raise self._failure() if not line else UnavailableError(f"METEOR answered {line[:100]!r}")
        return without_chunk_if_identical(counts)

    def _failure(self) -> UnavailableError:
        if self._timed_out is not None:
            return UnavailableError(f"METEOR did not end in {self._timed_out:.0f} s")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)  # until its error output is complete
        self._stderr.seek(0)
        return UnavailableError(f"METEOR failed: {failure_reason(self._stderr.read())}")

    def _stop_late(self, seconds: float) -> None:
        self._timed_out = seconds
        self._process.kill()


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "the process was started with pipes"
    return stream
