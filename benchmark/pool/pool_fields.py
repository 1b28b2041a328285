"""The fields that a pool's files have: columns of the metadata parquet, or fields of a tar's JSON."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.storage import open_file
from benchmark.pool.layout import Shard
from benchmark.pool.sample_fields import known_names, pick_column
from benchmark.pool.tar_samples import field_names

log = logging.getLogger(__name__)


class PoolFields:
    """The fields of the files of a pool.

    Args:
        pool: name of the pool, for messages.
        columns: our column names to the file's.
        metadata: the parquet files.
        tar: a local tar, whose first sample's JSON is read; None if there is none.
    """

    def __init__(
        self, pool: str, columns: Mapping[str, str], metadata: Sequence[Shard], tar: Path | None
    ) -> None:
        self._pool = pool
        self._columns = columns
        self._metadata = metadata
        self._tar = tar

    @cached_property
    def keyed(self) -> bool:
        """Whether keys tell samples apart that have neither uid nor url: not if the metadata has no keys."""
        names = next(self._schemas(), None)
        if names is None:
            return True
        present = [ours for ours in ("uid", "url", "key") if pick_column(ours, self._columns, names)]
        if not present:
            log.warning(
                "pool %s has no column uid, url or key: captions tell its pairs apart, and those with the same"
                " caption count as one; its columns are %s (name that of urls with pool.columns.url=NAME)",
                self._pool,
                ", ".join(names),
            )
        return "key" in present

    def check_names(self) -> None:
        """Raise `UserError` for a name in ``pool.columns`` that neither the files nor other data sets have."""
        named = {ours: name for ours, name in self._columns.items() if name not in known_names(ours)}
        if not named:
            return
        present = set[str]()
        for names in self._all_fields():
            present.update(names)
            if present.issuperset(named.values()):
                return
        if present:
            ours, name = next((ours, name) for ours, name in named.items() if name not in present)
            raise UserError(
                f"pool.columns.{ours}={name}: pool {self._pool} has no such column; {did_you_mean(name, present)}"
            )

    def check_columns(self, columns: Collection[str]) -> None:
        """Raise `UserError` for one of our columns that no parquet has; opens them until all columns are found."""
        present = set[str]()
        for names in self._schemas():
            present.update(names)
            missing = sorted(c for c in columns if pick_column(c, self._columns, present) is None)
            if not missing:
                return
        if present:
            hint = did_you_mean(missing[0], present)
            if missing[0] == "nsfw":
                hint = "name it with pool.columns.nsfw, or set pool.nsfw=[] to keep all samples"
            if missing[0] == "text":
                hint = self.naming_hint()
            raise UserError(f"pool {self._pool} has no column {missing[0]!r} in its metadata; {hint}")

    def naming_hint(self) -> str:
        """Return the fields of the first file that can be read, and how to name that of the captions."""
        names = next(self._all_fields(), [])
        columns = f"the columns {', '.join(names)}" if names else "no columns"
        return f"it has {columns}; name that of the captions with pool.columns.text=NAME"

    def _all_fields(self) -> Iterator[list[str]]:
        yield from self._schemas()
        if self._tar is not None:
            yield field_names(self._tar)

    def _schemas(self) -> Iterator[list[str]]:
        """Yield the columns of each metadata parquet that can be opened."""
        for shard in self._metadata:
            try:
                with open_file(shard.url) as file:
                    names = pq.ParquetFile(file).schema_arrow.names
            except DAMAGE:
                continue  # a broken file; the next one shows the columns
            yield names
