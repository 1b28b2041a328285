"""SPICE (Anderson et al. 2016) through pycocoevalcap's jar, if Stanford CoreNLP 3.6.0 is on this machine.

No run downloads it: CoreNLP and its models are 400 MB under the GPL. task=fetch does.
"""

import json
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark.core.errors import UserError
from benchmark.core.fetched_files import fetch_members
from benchmark.core.paths import cache_folder
from benchmark.core.requirements import NotFetchedError, OnFirstUseError, Requirement
from downstream.metrics.base import CaptionMetric, Request, Table, without_unless
from downstream.metrics.java import JARS, java_command, run_jar
from downstream.metrics.metric import Corpus, ImageId, UnavailableError

SPICE = JARS / "spice"  # the class in pycocoevalcap.spice would download CoreNLP
CORENLP = "stanford-corenlp-full-2015-12-09"
CORENLP_URL = f"https://nlp.stanford.edu/software/{CORENLP}.zip"
CORENLP_JARS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
START_SECONDS, SECONDS_PER_IMAGE = 600.0, 2.0
# Its serialiser reads private fields of these JDK packages, which Java 17 forbids; Java 8 lacks the option.
OPENED_PACKAGES = ("lang", "math", "util", "util.concurrent", "net", "text", "io")


def corenlp_folder() -> Path:
    """Return the folder of both CoreNLP jars, cached or pycocoevalcap's. Raises `UnavailableError` without them."""
    cached = cache_folder("corenlp")
    for folder in (cached, SPICE / "lib"):
        if all((folder / jar).is_file() for jar in CORENLP_JARS):
            return folder
    line = "SPICE needs Stanford CoreNLP; run task=fetch with the same settings"
    jars = {cached / jar: f"{CORENLP}/{jar}" for jar in CORENLP_JARS}
    later = OnFirstUseError("CoreNLP", 0, cached, lambda: fetch_members(CORENLP_URL, jars))
    raise UnavailableError(line) from NotFetchedError(line, later)


BEST = ("SPICE-1", "SPICE-1 precision", "SPICE-1 recall")
Tuples = tuple[float, ...]  # of the scene graphs of a candidate and its references: F, precision, recall


class Spice(CaptionMetric):
    """SPICE, a fraction, and SPICE-1 from the same run of the jar.

    Args:
        best_reference: also compute SPICE-1, S-1 of AVA-Captions: SPICE against the best-matching reference.
        precision_recall: also give the precision and recall of SPICE-1, as Table 1 (b) of the paper has.
    """

    unit = "fraction"
    library = "pycocoevalcap"
    reads_tokens = True

    def __init__(self, best_reference: bool, precision_recall: bool = False) -> None:
        if precision_recall and not best_reference:
            raise UserError("metrics.spice.precision_recall=true needs metrics.spice.best_reference=true")
        self.best_reference = best_reference
        self.precision_recall = precision_recall
        self.names = ("SPICE", *(BEST if precision_recall else BEST[:1] if best_reference else ()))

    def compute(self, request: Request) -> Table:
        """Return the means of each domain's images."""
        f_scores, of_best = spice(request.tokens, self.best_reference)
        table = request.means("SPICE", f_scores)
        for number, name in enumerate(self.names[1:]):
            best = request.means(name, {image: of[number] for image, of in of_best.items()})
            table = {domain: row | best[domain] for domain, row in table.items()}
        return table

    def requirements(self) -> Iterator[Requirement]:
        """Yield Java and CoreNLP."""
        yield from super().requirements()
        yield without_unless("CoreNLP", corenlp_folder)


def spice(corpus: Corpus, each_reference: bool = False) -> tuple[dict[ImageId, float], dict[ImageId, Tuples]]:
    """Return each image's SPICE, and its (F, precision, recall) of SPICE-1; their means are the metrics.

    With `each_reference` a candidate is also scored against each single reference, and the best score counts:
    S-1 of AVA-Captions, section 6.3.1 (Chang et al. 2017). Without it the second is empty.
    Raises `UnavailableError` if CoreNLP is missing or the jar fails.
    """
    images = list(corpus.candidates)
    pairs = [(image, list(corpus.references[image])) for image in images]
    if each_reference:  # in the same run: starting the jar and loading its models takes a minute
        pairs += [(image, [text]) for image in images for text in corpus.references[image]]
    entries = [
        {"image_id": index, "test": corpus.candidates[image], "refs": references}
        for index, (image, references) in enumerate(pairs)
    ]
    scores = _score(entries)
    best: dict[ImageId, Tuples] = {}
    for (image, _), score in zip(pairs[len(images) :], scores[len(images) :], strict=True):
        if math.isnan(best.setdefault(image, score)[0]) or score[0] > best[image][0]:
            best[image] = score
    f_scores = [score[0] for score in scores[: len(images)]]
    return dict(zip(images, f_scores, strict=True)), best


def _score(entries: Sequence[dict[str, Any]]) -> list[Tuples]:
    """Run the jar on `entries`, numbered from 0; return (F, precision, recall) of each, NaN if the jar gives none."""
    classpath = os.pathsep.join(
        [str(SPICE / "spice-1.0.jar"), str(SPICE / "lib" / "*"), str(corenlp_folder() / "*")]
    )
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED_PACKAGES]
    with tempfile.TemporaryDirectory(prefix="spice-") as folder:
        source, target = Path(folder, "captions.json"), Path(folder, "scores.json")
        source.write_text(json.dumps(entries))
        command = java_command(*opened, "-Xmx8G", "-cp", classpath, "edu.anu.spice.SpiceScorer")
        command += [str(source), "-out", str(target), "-silent"]
        run_jar("SPICE", command, START_SECONDS + SECONDS_PER_IMAGE * len(entries), cwd=folder)
        rows: list[dict[str, Any]] = json.loads(target.read_text())
    tuples = {row["image_id"]: row["scores"]["All"] for row in rows}
    return [
        tuple(
            math.nan if (value := tuples[n].get(part)) is None else float(value) for part in ("f", "pr", "re")
        )
        for n in range(len(entries))
    ]
