"""Pairs that are left out of a pool: opt-out lists, removed links, images that must not be used."""

import logging
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.keyed_rows import KeyedRows
from benchmark.core.paths import cache_folder
from benchmark.core.progress import tracked
from benchmark.core.uids import (
    UID_DTYPE,
    UidArray,
    UidIndex,
    make_uids,
    read_subset,
    unite_uids,
    write_subset,
)
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool

log = logging.getLogger(__name__)
BATCH = 1 << 18  # keys that are looked up at once: sorted, many are found faster in a long list
_HOST = re.compile(r"\s*[\w+.-]+://(?:[^/?#@]*@)?([^/?#:\s]+)")


def excluded_uids(pool: Pool, scored: Sequence[Shard]) -> UidArray | None:
    """Return the sorted uids of the pool's pairs that are on a list of `Pool.exclude`; None without a list.

    The shards to be `scored` are compared, too: tars may hold pairs that the metadata lacks. A domain includes all
    hosts below it. MD5 and SHA-256 are compared with the columns of img2dataset and DataComp, which are of the file
    that was downloaded. The pool is read once for the same lists.

    Raises `UserError` for a list that cannot be read or is empty, or if the pool has no column for its keys.
    """
    if not pool.exclude:
        return None
    lists, listed = exclusion_lists(pool)
    shards = list(dict.fromkeys([*listed, *scored]))
    inputs = [[[shard.name, shard.version] for shard in shards], sorted(rows.identity() for rows in lists)]
    path = cache_folder("excluded", pool.key) / f"{hash_json(inputs, 16)}.npy"
    if not intact(path):
        write_subset(path, _find(pool, shards, lists, listed))
    return read_subset(path)


def refuse_exclusions(pool: Pool) -> None:
    """Raise `UserError` if the pool has lists, for tasks that read pairs without scoring them."""
    if pool.exclude:
        raise UserError(
            "this task would read pairs on pool.exclude, too; first write the pool without them, by the same settings"
            " and task=reshard filter=no_filter size=all task.output=FOLDER"
        )


def exclusion_lists(pool: Pool) -> tuple[list[KeyedRows], list[Shard]]:
    """Return the lists, and the shards that are compared with them. Raises `UserError` as `excluded_uids`."""
    lists = [KeyedRows("pool.exclude", source) for source in pool.exclude]
    for rows in lists:
        rows.check()
    return lists, pool.shards(frozenset[str]().union(*(rows.needs for rows in lists)))


def _find(
    pool: Pool, shards: Sequence[Shard], lists: Sequence[KeyedRows], listed: Sequence[Shard]
) -> UidArray:
    """Return the sorted uids of the pairs that are on one of the lists, whose keys are in memory.

    Raises `UserError` if a tar that is not among the `listed` shards has neither urls nor uids: its pairs have other
    uids than in the metadata.
    """
    needs = frozenset[str]().union(*(rows.needs for rows in lists))
    indices = [UidIndex(_read_keys(rows)) for rows in lists]
    found, known = [[np.empty(0, UID_DTYPE)] for _ in lists], set(listed)
    for shard in tracked("exclude", shards, len(shards), "shards"):
        named = frozenset[str]() if shard in known else frozenset({"url", "uid"})
        for batch in pool.batches(shard, needs | named, BATCH, Counter()):
            if named and not any(of is not None for name in named for of in batch.columns[name]):
                raise UserError(
                    f"pool.exclude: {shard.name} has neither url nor uid in the JSON of its pairs, so they cannot be"
                    f" found in the metadata of pool {pool.name}; write one of them, as img2dataset does"
                )
            for uids, rows, index in zip(found, lists, indices, strict=True):
                uids.append(batch.uids[_listed(batch, rows, index)])
    excluded = [unite_uids(uids) for uids in found]
    for rows, on_list in zip(lists, excluded, strict=True):
        source = ", ".join(rows.sources)
        log.info("pool: %s pairs are on pool.exclude=%s", f"{len(on_list):,}", source)
        if not len(on_list):
            log.warning("pool: no pair has a %s of pool.exclude=%s; is it of this pool?", rows.kind, source)
    return unite_uids(excluded)


def _read_keys(rows: KeyedRows) -> UidArray:
    keys = np.concatenate([np.empty(0, UID_DTYPE), *(keys for keys, _, _ in rows.batches())])
    if not len(keys):
        raise UserError(f"pool.exclude={', '.join(rows.sources)} is empty; give a file with rows")
    return keys


def _listed(batch: Batch, rows: KeyedRows, index: UidIndex) -> npt.NDArray[np.bool_]:
    """Return which of n pairs, shape (n,), are on a list, or have a host that is one of its domains or below one."""
    if rows.kind != "domain":
        return np.asarray(index.find(rows.keys_of(batch)) >= 0)
    urls = map(str, batch.columns["url"].tolist())
    hosts = [match[1].lower().rstrip(".") if (match := _HOST.match(url)) else "" for url in urls]
    names = [(host, host.split(".", level)[-1]) for host in {*hosts} for level in range(host.count(".") + 1)]
    found = index.find(make_uids(name.encode() for _, name in names)).tolist()
    listed = {host for (host, _), row in zip(names, found, strict=True) if row >= 0}
    return np.array([host in listed for host in hosts], bool)
