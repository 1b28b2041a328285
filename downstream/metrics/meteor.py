"""METEOR 1.5 (Denkowski and Lavie 2014) through pycocoevalcap's jar, one run for all domains.

pycocoevalcap's wrapper waits forever for a process that died or got an extra line. Here the jar gets all lines at
once, its time is limited, and every answer is checked.
"""

from collections.abc import Sequence

import numpy as np

from downstream.metrics.base import CaptionMetric, Request, Table
from downstream.metrics.corpus_scores import METEOR_COUNTS, Doubles, meteor_of_sums
from downstream.metrics.java import JARS, java_command, run_jar
from downstream.metrics.metric import Corpus, ImageId, UnavailableError
from downstream.metrics.tokenizer import one_line

JAR = JARS / "meteor" / "meteor-1.5.jar"
START_SECONDS, SECONDS_PER_IMAGE = 120.0, 0.1


class Meteor(CaptionMetric):
    """METEOR 1.5, a fraction, English, all modules."""

    names = ("METEOR",)
    unit = "fraction"
    library = "pycocoevalcap"
    reads_tokens = True

    def compute(self, request: Request) -> Table:
        """Return the corpus score of each domain."""
        counts = meteor_counts(request.tokens)
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


def meteor_counts(corpus: Corpus) -> dict[ImageId, list[float]]:
    """Return `METEOR_COUNTS` of each candidate of a tokenised corpus, by the reference that it matches best.

    Raises `UnavailableError` if the jar is missing or fails.
    """
    requests = [request_line(text, corpus.references[image]) for image, text in corpus.candidates.items()]
    counts = list(map(_counts, run_meteor(requests)))
    if len(counts) != len(requests):
        raise UnavailableError(f"METEOR gave {len(counts)} lines for {len(requests)} captions")
    return dict(zip(corpus.candidates, counts, strict=True))


def run_meteor(requests: Sequence[str]) -> list[str]:
    """Return the lines that the jar answers to `requests` in one run: English, all matchers."""
    command = java_command("-Xmx2G", "-jar", str(JAR), "-", "-", "-stdio", "-l", "en", "-norm")
    seconds = START_SECONDS + SECONDS_PER_IMAGE * len(requests)
    output = run_jar("METEOR", command, seconds, input="".join(f"{line}\n" for line in requests).encode())
    return output.decode("utf-8", "replace").splitlines()


def request_line(candidate: str, references: Sequence[str]) -> str:
    """Return the protocol's line; captions lose its separator and their line ends."""
    fields = [one_line(text.replace("|||", " ")) for text in (*references, candidate)]
    return " ||| ".join(["SCORE", *fields])


def _counts(answer: str) -> list[float]:
    """Return the counts in the jar's answer to one request. Raises `UnavailableError` for any other answer.

    A caption that matches all of a reference has no chunk: the jar sums them so.
    """
    try:
        counts = dict(zip(METEOR_COUNTS, map(float, answer.split()), strict=True))
    except ValueError:
        raise UnavailableError(f"METEOR answered {answer[:100]!r}") from None
    whole = counts["METEOR_matches"] == counts["METEOR_length"]
    whole_reference = counts["METEOR_reference_matches"] == counts["METEOR_reference_length"]
    if whole and whole_reference and counts["METEOR_chunks"] == 1:
        counts["METEOR_chunks"] = 0.0
    return list(counts.values())
