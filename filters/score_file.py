"""Score file: scores computed by another program, looked up by uid, url, hash or caption."""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.keyed_rows import KeyedRows, Kind, Matched
from benchmark.core.ranges import Fraction, checked
from benchmark.core.requirements import NotFetchedError, OnFirstUseError, Requirement, look
from benchmark.core.storage import Entry, StorageError, is_remote
from benchmark.core.uids import UID_DTYPE, UidArray
from filters.base import Filter, Scores, standardize

log = logging.getLogger(__name__)


class FromRows(Filter):
    """Base of filters that look pairs up in rows of others: all rows are read once, for all pairs of the pool.

    Args:
        path: files of rows, see `KeyedRows`: a path, URL or pattern, or a list of them.
        key: what tells pairs apart; by default the first of uid, url, hash and caption that the files have.
    """

    batch_size: ClassVar[int] = 65536
    light = True

    def __init__(self, path: str | Sequence[str], key: Kind | None = None) -> None:
        self.path = path if isinstance(path, str) else [str(part) for part in path]
        self.key_column = key
        self._rows = KeyedRows("filter.path", self.path, key)
        self._scored: tuple[Matched, Scores] | None = None
        self._terms: str = ""
        self._bytes: int | None = None

    def published(self, terms: str, size: int | None) -> None:
        """Take the licence of published rows, and the bytes of their download as far as they are known."""
        self._terms, self._bytes = terms, size

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """What the keys are made of."""
        return self._rows.needs

    def identity(self) -> dict[str, Any]:
        """Identify the files by their content, not their paths."""
        return super().identity() | {"path": self._rows.identity()}

    def content(self) -> str:
        """Return a hash of the rows."""
        return self._rows.identity()

    def requirements(self) -> Iterator[Requirement]:
        """Yield the files; remote ones are read where they are, or copied first by task=fetch."""
        yield look("filter.path", self._locate)

    def _locate(self) -> str:
        name, size = self._terms or self._rows.sources[0], self._bytes or 0
        try:
            first = self._check()
        except StorageError as error:
            known = f"; {name}, {size / 1e6:,.0f} MB" if size else ""
            later = OnFirstUseError(name, size, self._rows.copies, self._fetch)
            raise NotFetchedError(f"{error}{known}; where there is a network run task=fetch", later) from None
        if not is_remote(first.url):
            return first.url.removeprefix("file://")
        size = sum(file.size or 0 for file in self._rows.files) or size
        detail = f"{name}: {len(self._rows.files):,} files, {size / 1e6:,.0f} MB"
        raise OnFirstUseError(detail, size, self._rows.copies, self._fetch)

    def _fetch(self) -> None:
        self._name_terms()
        self._rows.fetch()

    def _name_terms(self) -> None:
        if self._terms and is_remote(self._rows.files[0].url):
            log.warning("download of %s", self._terms)

    def fit(self, batches: Iterable[Batch]) -> None:
        """Look up all pairs, and log how many have a score. Raises `UserError` if none has."""
        keys, example = [], ""
        for batch in batches:
            keys.append(self._rows.keys_of(batch))
            example = example or self._rows.example(batch)
        self._scored = self._look_up(np.concatenate([np.empty(0, UID_DTYPE), *keys]))
        matched, scores = self._scored
        if len(scores) and np.isnan(scores).all():
            raise UserError(
                f"filter.path={self.path}: none of the {len(scores):,} pairs is scored: by {self._rows.kind}, pairs"
                f" such as {example} were looked for among rows such as {matched.first}; give the rows of this pool,"
                " or another filter.key"
            )
        if len(scores):
            self._report(matched, scores)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,); without `fit` those of the batch as if it were the whole pool."""
        keys = self._rows.keys_of(batch)
        if self._scored is None:
            return self._look_up(keys)[1]
        matched, scores = self._scored
        rows = matched.index.find(keys)
        return np.where(rows < 0, scores.dtype.type(np.nan), scores[rows])

    def _look_up(self, keys: UidArray) -> tuple[Matched, Scores]:
        self._check()
        self._name_terms()
        matched = self._rows.match(keys, self._columns())
        return matched, self._scores(matched)

    def _columns(self) -> Sequence[str]:
        return ()

    def _check(self) -> Entry:
        """Return the first file. Raises `UserError` for wrong files."""
        return self._rows.check(self._columns(), "filter.column")[0]

    @abstractmethod
    def _scores(self, matched: Matched) -> Scores:
        """Return the scores of the m pairs that were looked up, (m,)."""

    @abstractmethod
    def _report(self, matched: Matched, scores: Scores) -> None:
        """Log how many pairs of the pool, or rows of the files, were found."""


@checked
class ScoreFile(FromRows):
    """Score of the files; NaN for pairs that they lack.

    The score of several columns is the weighted sum of each standardised over the pairs of the pool (see
    `standardize`), NaN for a pair that one of them lacks. A single column without a weight is the score as it is: no
    number is rounded (see `numeric_scores`).

    Args:
        path, key: see `FromRows`.
        column: name of the numeric column with the scores, or several.
        weights: of each column; by default 1, and negative where low is good.
        coverage: fraction of the pool's pairs that must have a score; None for any but 0.
        standardized: whether columns with weights are standardised; else they are summed as they are.
    """

    def __init__(
        self,
        path: str | Sequence[str],
        column: str | Sequence[str],
        key: Kind | None = None,
        weights: Sequence[float] | None = None,
        coverage: Fraction | None = None,
        standardized: bool = True,
    ) -> None:
        super().__init__(path, key)
        self.column = [column] if isinstance(column, str) else [str(name) for name in column]
        self.weights = None if weights is None else [float(weight) for weight in weights]
        if weights is not None and len(weights) != len(self.column):
            raise UserError(
                f"filter.weights={self.weights} must be one number per column of filter.column={self.column}"
            )
        self.coverage = coverage
        self.standardized = standardized

    def _columns(self) -> Sequence[str]:
        return self.column

    def _scores(self, matched: Matched) -> Scores:
        columns = np.where(np.isinf(matched.values), np.nan, matched.values).T
        if len(columns) == 1 and self.weights is None:
            return np.asarray(columns[0])
        weights = self.weights or [1.0] * len(columns)
        terms = map(standardize, columns) if self.standardized else columns
        return np.asarray(np.add.reduce([w * of for w, of in zip(weights, terms, strict=True)]))

    def _report(self, matched: Matched, scores: Scores) -> None:
        """Log the coverage. Raises `UserError` if it is below the bound."""
        covered = 1 - float(np.isnan(scores).mean())
        text = (
            f"{covered:.1%} of the {len(scores):,} pairs have a score in filter.path={self.path} (by"
            f" {self._rows.kind}); {1 - covered:.1%} have none and are never kept"
        )
        if self.coverage is not None and covered < self.coverage:
            raise UserError(f"{text}; filter.coverage={self.coverage:g} demands more")
        log.info("score: %s", text)
