"""Evaluation images that are among the pairs of a pool, and among the kept ones."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from benchmark.core.uids import UidArray, encode_uids, find_uids
from benchmark.pool.content import find_images
from benchmark.pool.pool import Pool
from benchmark.results.contamination_counts import Contamination
from benchmark.results.near_images import NearImages
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_digests import digest_images
from downstream.evaluation.image_files import ImageFile

log = logging.getLogger(__name__)
# What the protocol says of evaluation images in the pool. Whether embeddings were cached changes no metric.
FACT = "counted by bytes, and by CLIP embeddings where these are cached; not excluded"


def contamination(
    pool: Pool,
    kept: UidArray,
    tars: Pool,
    sets: Iterable[EvaluationSet | ClassificationSet],
    near: NearImages | None,
) -> dict[str, Contamination]:
    """Count the pairs whose image is in each of the evaluation sets with images, by its name; warn of kept ones.

    Args:
        pool: the pool.
        kept: uids of the selection.
        tars: the local pool that holds the images of the selection.
        sets: the evaluation sets.
        near: finds near-duplicates; None counts equal bytes alone.
    """
    images = {
        evaluation_set.name: files for evaluation_set in sets if (files := evaluation_set.image_files())
    }
    same = _same_bytes(tars, images)
    similar = near.find(pool, images) if near else None
    counts = {}
    for name, uids in same.items():
        counts[name] = Contamination(len(uids) if pool.is_local else None, _among(kept, uids))
        if similar is not None:
            of_set = similar[name]
            counts[name] = replace(counts[name], near_pool=len(of_set), near_kept=_among(kept, of_set))
        _warn(name, counts[name], len(kept))
    return counts


def _same_bytes(tars: Pool, images: Mapping[str, Sequence[ImageFile]]) -> dict[str, UidArray]:
    """Return the uids of pairs with the bytes of an image of each evaluation set, by its name."""
    digests = {name: digest_images(of_set) for name, of_set in images.items()}
    every = [digest for of_set in digests.values() for digest in of_set]
    hashes = find_images(tars, {digest.size for digest in every}, {digest.sha256 for digest in every})
    same = {}
    for name, of_set in digests.items():
        wanted = {digest.sha256 for digest in of_set}
        same[name] = encode_uids([uid for uid, sha256 in hashes.items() if sha256 in wanted])
    return same


def _among(kept: UidArray, uids: UidArray) -> int:
    return int((find_uids(kept, uids) >= 0).sum())


def _warn(name: str, counted: Contamination, kept: int) -> None:
    count = max(counted.kept, counted.near_kept or 0)
    if count:
        same = "all with the same bytes" if count == counted.kept else f"{counted.kept} with the same bytes"
        log.warning(
            "contamination: %d of %s kept pairs have an image of %s (%s)", count, f"{kept:,}", name, same
        )
