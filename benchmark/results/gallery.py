"""Picks the pairs of `GalleryPair`: what a filter ranks first, around its threshold and last."""

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import SampleError
from benchmark.core.ties import hash_uids, highest
from benchmark.core.uids import UidArray, decode_uid, decode_uids
from benchmark.pool.pool import Pool
from benchmark.pool.tar_reader import read_image
from benchmark.results.pictures import GalleryPair, Place
from benchmark.results.thumbnails import short_text, thumbnail
from benchmark.subset.subset import captions_of, selected_samples

PAIRS = 6  # per place
Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.floating[Any]]


def gallery(
    uids: UidArray, scores: Scores, kept: npt.NDArray[np.bool_], seed: int, tars: Pool
) -> list[GalleryPair]:
    """Return the pairs of every place in the order of their ranks, the best first.

    A pair that `tars` lacks has no thumbnail; one whose caption it lacks too is left out.

    Args:
        uids: the n scored pairs.
        scores: their scores, shape (n,); a pair whose score is NaN has no rank.
        kept: which of them are selected, shape (n,).
        seed: seed of the run, which ranks equal scores.
        tars: a local pool with images and captions of these pairs, or of the selected ones only.
    """
    by_place = ranked_rows(uids, scores, kept, seed)
    places = [place for place, rows in by_place.items() for _ in rows]
    rows = np.concatenate(list(by_place.values()))
    thumbnails, captions = _thumbnails(tars, uids[rows]), captions_of(tars, uids[rows])
    return [
        GalleryPair(place, uid, short_text(caption), float(score), thumbnails.get(uid, b""))
        for place, uid, caption, score in zip(
            places, decode_uids(uids[rows]), captions, scores[rows], strict=True
        )
        if caption is not None
    ]


def ranked_rows(uids: UidArray, scores: Scores, kept: npt.NDArray[np.bool_], seed: int) -> dict[Place, Rows]:
    """Return the rows of at most `PAIRS` pairs per place, ranked as `highest` does; see `gallery`."""

    def ranked(rows: Rows, *, best: bool) -> Rows:
        """Return the first or last rows of the ranking."""
        count = min(PAIRS, len(rows))
        inside = np.zeros(len(rows), bool)
        inside[highest(scores[rows], uids[rows], count if best else len(rows) - count, seed)] = True
        chosen = rows[inside == best]
        return np.asarray(chosen[np.lexsort((hash_uids(uids[chosen], seed), scores[chosen]))[::-1]])

    scored = np.flatnonzero(~np.isnan(scores))
    return {
        "top": ranked(scored, best=True),
        "kept": ranked(scored[kept[scored]], best=False),
        "dropped": ranked(scored[~kept[scored]], best=True),
        "bottom": ranked(scored, best=False),
    }


def _thumbnails(tars: Pool, uids: UidArray) -> dict[str, bytes]:
    """Return thumbnails by uid, of the samples whose images can be read."""
    thumbnails = {}
    for part in selected_samples(tars, uids):
        with tars.local(part.shard) as path, path.open("rb") as file:
            samples = part.samples
            for uid, offset, size in zip(samples.uids, samples.offsets, samples.sizes, strict=True):
                try:
                    thumbnails[decode_uid(uid)] = thumbnail(read_image(file, int(offset), int(size)))
                except SampleError:
                    continue
    return thumbnails
