"""Paths of the scores of a filter: a folder of the cache with one part per shard."""

from contextlib import nullcontext
from pathlib import Path

from benchmark.core.cached_files import intact, remove_cached
from benchmark.core.hashes import hash_bytes, hash_text
from benchmark.core.locks import locked
from benchmark.core.paths import cache_folder
from benchmark.core.uids import UidArray, write_subset
from benchmark.pool.layout import Shard, identify
from benchmark.pool.pool import Pool
from benchmark.scoring.shard_reader import features_path
from filters.base import Composite, Filter


def score_folder(pool: Pool, scorer: Filter, survivors: Path | None = None) -> Path:
    """Return the folder that holds the score parts of a filter on `pool`, see `score_paths`."""
    folder, key = cache_folder("scores", pool.key), scorer.key()
    # Under another name it is the same filter.
    folder = min(folder.glob(f"*-{key.rpartition('-')[2]}"), default=folder / key)
    # Ranks and corpus statistics belong to the whole pool: never reuse them for other shards.
    if _of_whole_pool(scorer):
        folder /= shards_key(pool, scorer)
    if scorer.corpus_dependent and survivors is not None:
        folder /= f"among-{survivors.stem}"
    return folder


def score_paths(pool: Pool, scorer: Filter, survivors: Path | None = None) -> dict[Shard, Path]:
    """Return the path of the score part of every shard that the filter reads.

    A composite has a part for every shard that one of its filters reads: tars, metadata parquet, or both. Scores that
    depend on the corpus have other parts for every choice of `survivors`; all others have the whole pool's.
    """
    folder = score_folder(pool, scorer, survivors)
    return {s: folder / f"{s.name}-{s.fingerprint}.parquet" for s in identify(scored_shards(pool, scorer))}


def save_survivors(pool: Pool, uids: UidArray) -> Path:
    """Write the sorted uids that a cascade's earlier filters keep, for the statistics of later filters, to the cache.

    Returns the path; its name is their hash.
    """
    path = cache_folder("survivors", pool.key) / f"{hash_bytes(uids.tobytes(), 16)}.npy"
    if not intact(path):
        write_subset(path, uids)
    return path


def fit_folder(pool: Pool, scorer: Filter, survivors: Path | None) -> Path:
    """Return the folder of a filter's fit: named as the folder of its score parts."""
    return cache_folder("fits") / score_folder(pool, scorer, survivors).relative_to(cache_folder("scores"))


def remove_scores(pool: Pool, scorer: Filter, sweep: Path | None = None) -> None:
    """Remove all cached scores and fits of a filter and of its parts on `pool`, and the features under them.

    In a `sweep`, given by its folder, each is removed once: another job may be using what it has made in its place.
    """
    for part in scorer.filters.values() if isinstance(scorer, Composite) else ():
        remove_scores(pool, part, sweep)
    made = [fit_folder(pool, scorer, None)]
    made += [score_folder(pool, scorer)] if _of_whole_pool(scorer) else score_paths(pool, scorer).values()
    features = scorer.all_features().values()
    for paths in (made, *([features_path(pool, s, of) for s in pool.shards(of.sources)] for of in features)):
        removed = sweep and sweep / f"removed-{hash_text(' '.join(map(str, paths)), 16)}"
        with locked(removed) if removed else nullcontext():
            if removed and removed.exists():
                continue
            for path in paths:
                remove_cached(path)
            if removed:
                removed.touch()


def scored_shards(pool: Pool, scorer: Filter) -> list[Shard]:
    """Return the shards that a filter, or one of its parts, reads."""
    if not isinstance(scorer, Composite):
        return pool.shards(scorer.sources)
    return list(dict.fromkeys(s for part in scorer.filters.values() for s in scored_shards(pool, part)))


def shards_key(pool: Pool, scorer: Filter) -> str:
    """Return a hash of the content of all shards that a filter reads."""
    shards = identify(scored_shards(pool, scorer))
    return hash_text(" ".join(f"{shard.name}-{shard.fingerprint}" for shard in shards), 12)


def _of_whole_pool(scorer: Filter) -> bool:
    return scorer.corpus_dependent or isinstance(scorer, Composite)
