"""One filter's scores compared with the ratings of one set of texts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from benchmark.core.batch import Batch, model_text
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.progress import tracked
from benchmark.core.records import Schema
from benchmark.core.uids import encode_uids, make_uid
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.results.provenance import Provenance, provenance
from benchmark.scoring.score_pool import fit_filter
from filters.base import Composite, Filter, Scores
from filters.score_file import FromRows
from pairsift.studies.icc.concreteness.correlation import Correlation, correlate
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts

CAPTIONS_ONLY = frozenset({"text"})


@dataclass(frozen=True)
class ConcretenessEvaluation(Provenance):
    """Correlations of one filter's scores with the ratings of one benchmark."""

    SCHEMA: ClassVar[Schema] = Schema(
        "concreteness", 2, "concreteness", "python -m benchmark task=concreteness"
    )

    benchmark: str
    source: str
    sha256: str
    filter: str
    config: dict[str, Any]
    key: str  # the filter's cache key, which covers class, settings and weights
    total: int
    count: int  # texts that were scored; fewer than `total` for a sample
    unscored: int  # texts among them without a finite score
    correlations: dict[str, Correlation]
    seed: int
    seconds: float

    @property
    def run_id(self) -> str:
        """A readable name and a hash of all that the correlations depend on."""
        identity = [self.filter, self.key, self.config, self.sha256, self.count, self.seed]
        digest = hash_json(identity, 8)
        return f"{self.benchmark}-{self.filter}-{digest}"


def check_needs(scorer: Filter) -> None:
    """Raise `UserError` when a filter reads more than captions."""
    more = sorted(scorer.sources - CAPTIONS_ONLY)
    if more:
        raise UserError(
            f"filter {scorer.display_name} reads {more[0]!r} beside the caption; this task needs one of captions only"
        )


def fit(scorer: Filter, pool: Callable[[], Pool], engine: Engine) -> None:
    """Fit the filter, or the parts of a composite, to the pool if it needs corpus statistics; most do not."""
    for leaf in scorer.leaves():
        if leaf.corpus_dependent and not isinstance(leaf, FromRows):  # these look up the texts themselves
            fit_filter(pool(), leaf, engine)


def set_up(scorer: Filter, device: Device) -> None:
    """Load the models of a filter and of its features."""
    for part in (scorer, *scorer.all_features().values()):
        part.setup(device)


def score_texts(scorer: Filter, texts: list[str]) -> Scores:
    """Return the scores of n texts, shape (n,), by a filter that is `set_up`, in batches of its batch size.

    Each part of a composite has its own batch size; the composite combines the scores of all texts at once.
    """
    uids = encode_uids([make_uid("", text) for text in texts])
    if isinstance(scorer, Composite):
        return scorer.combine([score_texts(part, texts) for part in scorer.filters.values()], uids)
    scores: list[Scores] = [np.empty(0, np.float32)]
    starts = range(0, len(texts), scorer.batch_size)
    for start in tracked("score", starts, len(starts), "batches"):
        part = slice(start, start + scorer.batch_size)
        batch = Batch(uids[part], list(map(model_text, texts[part])))
        for of in scorer.all_features().values():
            extracted: dict[str, Any] = {**batch.features, **of.extract(batch)}
            batch = replace(batch, features=extracted)
        scores.append(scorer.score(batch))
    return np.concatenate(scores)


def evaluate(
    scorer: Filter, rated: RatedTexts, *, name: str, config: dict[str, Any], seed: int
) -> ConcretenessEvaluation:
    """Score the texts and correlate; texts without a finite score are left out and counted.

    `name` and `config` are the name and the settings of the filter's config.
    """
    started = time.monotonic()
    scores = score_texts(scorer, rated.texts)
    seconds = time.monotonic() - started
    scored = np.isfinite(scores)
    return ConcretenessEvaluation(
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
