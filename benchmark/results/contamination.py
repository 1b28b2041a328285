"""Evaluation images that are among the pairs of a pool, and among the kept ones."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from benchmark.core.uids import UidArray, encode_uids, find_uids
from benchmark.pool.pool import Pool
from benchmark.pool.same_bytes import find_images
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_digests import digest_images

log = logging.getLogger(__name__)
FACT = "counted by their bytes, not excluded"  # what the protocol says of evaluation images in the pool


@dataclass(frozen=True)
class Contamination:
    """How many pairs have an image with the bytes of an evaluation image.

    Args:
        pool: pairs of the pool; None for a remote pool, whose images are not all read.
        kept: pairs of the selection.
    """

    pool: int | None
    kept: int


def contamination(
    pool: Pool, kept: UidArray, tars: Pool, sets: Iterable[EvaluationSet | ClassificationSet]
) -> dict[str, Contamination]:
    """Count the pairs whose image is in each of the evaluation sets, by its name; warn of kept ones.

    Args:
        pool: the pool.
        kept: uids of the selection.
        tars: the local pool that holds the images of the selection.
        sets: the evaluation sets.
    """
    digests = {evaluation_set.name: digest_images(evaluation_set.image_files()) for evaluation_set in sets}
    every = [digest for of_set in digests.values() for digest in of_set]
    images = find_images(tars, {digest.size for digest in every}, {digest.sha256 for digest in every})
    counts = {}
    for name, of_set in digests.items():
        hashes = {digest.sha256 for digest in of_set}
        uids = encode_uids([uid for uid, sha256 in images.items() if sha256 in hashes])
        in_selection = int((find_uids(kept, uids) >= 0).sum())
        counts[name] = Contamination(len(uids) if pool.is_local else None, in_selection)
        if in_selection:
            log.warning(
                "contamination: %d of %s kept pairs have an image of evaluation set %s",
                in_selection,
                f"{len(kept):,}",
                name,
            )
    return counts
