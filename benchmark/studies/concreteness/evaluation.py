"""One filter judged on one set of rated texts, and the typed JSON that says so."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.progress import progress
from benchmark.core.records import read_records, write_record
from benchmark.core.uids import encode_uids, make_uid
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.results.result import provenance
from benchmark.scoring.score_pool import fit_filter
from benchmark.studies.concreteness.correlation import Correlation, correlate
from benchmark.studies.concreteness.rated_texts import RatedTexts
from filters.base import Composite, Filter, Scores

SCHEMA_VERSION = 1
FOLDER = "concreteness"  # within the results
CAPTIONS_ONLY = frozenset({"text"})


@dataclass(frozen=True)
class Evaluation:
    """How one filter's scores follow the ratings of one benchmark.

    Of `count` texts (drawn from `total`), `unscored` got no score; `correlations` are by coefficient.
    """

    benchmark: str
    source: str
    sha256: str
    filter: str
    config: dict[str, Any]
    key: str  # the filter's class, settings and weights
    total: int
    count: int
    unscored: int
    correlations: dict[str, Correlation]
    seed: int
    seconds: float
    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def run_id(self) -> str:
        """A readable name and a hash of everything that the correlations depend on."""
        identity = [self.filter, self.key, self.config, self.sha256, self.count, self.seed]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.benchmark}-{self.filter}-{digest}"


def check_needs(scorer: Filter, name: str) -> None:
    """Raise `UserError` when a filter reads more than captions."""
    more = sorted(scorer.sources - CAPTIONS_ONLY)
    if more:
        raise UserError(
            f"filter={name} reads {more[0]!r} beside the caption; task=concreteness takes filters of captions alone"
        )


def fit(scorer: Filter, pool: Callable[[], Pool], engine: Engine) -> None:
    """Gather corpus statistics from the pool, for a filter or the parts of a composite; most need none."""
    for part in scorer.filters.values() if isinstance(scorer, Composite) else ():
        fit(part, pool, engine)
    if scorer.corpus_dependent:
        fit_filter(pool(), scorer, engine)


def score_texts(scorer: Filter, texts: list[str]) -> Scores:
    """Return the scores of n texts, shape (n,), in batches of the filter's own size.

    The parts of a composite score in theirs, and it combines all of their scores at once.
    """
    if isinstance(scorer, Composite):
        return scorer.combine(np.stack([score_texts(part, texts) for part in scorer.filters.values()]))
    uids = encode_uids([make_uid("", text) for text in texts])
    scores = [np.empty(0, np.float32)]
    with progress("score", len(texts), "texts") as advance:
        for start in range(0, len(texts), scorer.batch_size):
            part = slice(start, start + scorer.batch_size)
            scores.append(scorer.score(Batch(uids[part], texts[part])))
            advance(len(scores[-1]), "")
    return np.concatenate(scores)


def evaluate(
    scorer: Filter, rated: RatedTexts, *, name: str, config: dict[str, Any], seed: int
) -> Evaluation:
    """Score the texts and correlate; texts without a finite score are left out and counted."""
    started = time.monotonic()
    scores = score_texts(scorer, rated.texts)
    seconds = time.monotonic() - started
    scored = np.isfinite(scores)
    return Evaluation(
        benchmark=rated.name,
        source=rated.source,
        sha256=rated.sha256,
        filter=name,
        config=config,
        key=scorer.key(),
        total=rated.total,
        count=len(scores),
        unscored=int((~scored).sum()),
        correlations=correlate(scores[scored], rated.ratings[scored], seed),
        seed=seed,
        seconds=round(seconds, 3),
        **provenance(),
    )


def write_evaluation(results: Path, evaluation: Evaluation) -> Path:
    """Write ``results/concreteness/<run_id>.json``, whole or not at all, and return its path."""
    return write_record(results / FOLDER, evaluation)


def read_evaluations(results: Path) -> list[Evaluation]:
    """Read all evaluations, in the order of their names; files of another schema are left out."""
    found = []
    for data in read_records(results / FOLDER, SCHEMA_VERSION, "correlations"):
        data["correlations"] = {n: Correlation(**c) for n, c in data["correlations"].items()}
        found.append(Evaluation(**data))
    return found
