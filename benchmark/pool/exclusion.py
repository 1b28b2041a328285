"""Pairs that are left out of a pool: opt-out lists, removed links, images that must not be used."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.cached_files import intact
from benchmark.core.hashes import hash_json
from benchmark.core.keyed_rows import KeyedRows
from benchmark.core.paths import cache_folder
from benchmark.core.progress import tracked
from benchmark.core.uids import (
    UID_DTYPE,
    UidArray,
    find_uids,
    make_uids,
    read_subset,
    unite_uids,
    write_subset,
)
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool

log = logging.getLogger(__name__)
BATCH = 65536
_HOST = re.compile(r"\s*[\w+.-]+://(?:[^/?#@]*@)?([^/?#:\s]+)")


def excluded_uids(pool: Pool) -> UidArray | None:
    """Return the sorted uids of the pool's pairs that are on a list of `Pool.exclude`; None without a list.

    A domain stands for all hosts below it. MD5 and SHA-256 are compared with the columns of img2dataset and DataComp,
    which are of the file that was downloaded. The pool is read once for the same lists.

    Raises `UserError` for a list that cannot be read or is empty, and for one of keys that the pool has no column of.
    """
    if not pool.exclude:
        return None
    lists, shards = exclusion_lists(pool)
    inputs = [[[shard.name, shard.version] for shard in shards], sorted(rows.identity() for rows in lists)]
    path = cache_folder("excluded", pool.key) / f"{hash_json(inputs, 16)}.npy"
    if not intact(path):
        write_subset(path, _find(pool, shards, lists))
    return read_subset(path)


def exclusion_lists(pool: Pool) -> tuple[list[KeyedRows], list[Shard]]:
    """Return the lists, and the shards that are compared with them. Raises `UserError` as `excluded_uids`."""
    lists = [KeyedRows("pool.exclude", source) for source in pool.exclude]
    for rows in lists:
        rows.check()
    return lists, pool.shards(frozenset[str]().union(*(rows.needs for rows in lists)))


def _find(pool: Pool, shards: Sequence[Shard], lists: Sequence[KeyedRows]) -> UidArray:
    """Return the sorted uids of the pairs that are on one of the lists."""
    needs = frozenset[str]().union(*(rows.needs for rows in lists))
    domains = [_read_keys(rows) if rows.kind == "domain" else None for rows in lists]
    uids = [np.empty(0, UID_DTYPE)]
    found: list[list[npt.NDArray[Any]]] = [
        [] for _ in lists
    ]  # masks of pairs below a domain, or the keys of pairs
    for shard in tracked("exclude", shards, len(shards), "shards"):
        for batch in pool.batches(shard, needs, BATCH, Counter()):
            uids.append(batch.uids)
            for rows, listed, parts in zip(lists, domains, found, strict=True):
                parts.append(rows.keys_of(batch) if listed is None else _below(batch.columns["url"], listed))
    everything = np.concatenate(uids)
    excluded = []
    for rows, listed, parts in zip(lists, domains, found, strict=True):
        matched = np.concatenate(parts) if listed is not None else rows.match(np.concatenate(parts)).listed
        source = ", ".join(rows.sources)
        log.info(
            "pool: %s of %s pairs are on pool.exclude=%s", f"{matched.sum():,}", f"{len(matched):,}", source
        )
        if not matched.any():
            log.warning("pool: no pair has a %s of pool.exclude=%s; is it of this pool?", rows.kind, source)
        excluded.append(everything[matched])
    return unite_uids(excluded)


def _read_keys(rows: KeyedRows) -> UidArray:
    return unite_uids([np.empty(0, UID_DTYPE), *(keys for keys, _ in rows.batches())])


def _below(urls: npt.NDArray[Any], domains: UidArray) -> npt.NDArray[np.bool_]:
    """Return which of n urls, shape (n,), have a host that is one of the domains, or below one."""
    hosts = [match[1].lower().rstrip(".") if (match := _HOST.match(str(url))) else "" for url in urls]
    names = [(host, host.split(".", level)[-1]) for host in {*hosts} for level in range(host.count(".") + 1)]
    rows = find_uids(domains, make_uids(name.encode() for _, name in names))
    listed = {host for (host, _), row in zip(names, rows.tolist(), strict=True) if row >= 0}
    return np.array([host in listed for host in hosts], bool)
