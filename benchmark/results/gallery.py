"""Picks the pairs and the evaluation images that pages and trackers show, as small JPEGs and short texts."""

import io
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.bounds import NO_BOUNDS, Bounds
from benchmark.core.hashes import hash_text
from benchmark.core.images import THUMBNAIL
from benchmark.core.ties import hash_uids, highest
from benchmark.core.uids import UidArray, decode_uid, decode_uids, find_uids, unite_uids
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of, selected_samples
from benchmark.pool.tar_reader import read_image
from benchmark.results.run_folder import CAPTION_CHARACTERS, Example, GalleryPair, Place
from benchmark.scoring.score_table import ScoreTable
from downstream.evaluation.evaluation_sets import EvaluationSet

QUALITY = 70
PAIRS = 6  # per place
IMAGES = 8  # per evaluation set


def thumbnail(image: Image.Image) -> bytes:
    """Return the RGB `image` as a JPEG without metadata; its longer side is at most `THUMBNAIL`."""
    small = image.copy()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    small.info = {}  # Pillow would write a comment in it again
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()


def short_text(text: str) -> str:
    """Return at most `CAPTION_CHARACTERS` of a caption, on one line, without control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:CAPTION_CHARACTERS]


def examples(sets: Iterable[EvaluationSet]) -> list[Example]:
    """Return `IMAGES` images of every set, chosen by a hash of their ids. Raises `UserError` for damage."""
    chosen = [
        (of_set.name, item)
        for of_set in sets
        for item in sorted(of_set.items, key=lambda item: hash_text(str(item.image_id)))[:IMAGES]
    ]
    return [
        Example(name, str(item.image_id), tuple(map(short_text, item.references)), thumbnail(item.load()))
        for name, item in chosen
    ]


def gallery(
    scores: ScoreTable, kept: ScoreTable, seed: int, tars: Pool, bounds: Bounds = NO_BOUNDS
) -> list[GalleryPair]:
    """Return the pairs of every place in the order of their ranks, the best first.

    A pair without its image in `tars` gets an empty thumbnail; a pair without its caption is left out.

    Args:
        tars: a local pool with images and captions of these pairs, or only of the selected pairs.
        bounds: the bounds of the filter.
    """
    by_place = ranked_pairs(scores, kept, seed, bounds)
    places = [place for place, pairs in by_place.items() for _ in pairs.uids]
    uids = np.concatenate([pairs.uids for pairs in by_place.values()])
    ranked = np.concatenate([pairs.scores for pairs in by_place.values()])
    images, captions, kinds = thumbnails(tars, uids), captions_of(tars, uids), planted_kinds(tars, uids)
    rows = zip(places, decode_uids(uids), captions, ranked, kinds, strict=True)
    return [
        GalleryPair(place, uid, short_text(caption), float(score), images.get(uid, b""), kind)
        for place, uid, caption, score, kind in rows
        if caption is not None
    ]


def planted_kinds(pool: Pool, uids: UidArray) -> list[str]:
    """Return the planted kind of noise of each of n uids; empty for pools other than the demo."""
    distinct, needs = unite_uids([uids]), frozenset({"noise"})
    kinds = np.full(len(distinct), "", object)
    for rows, batch in pool.find(distinct, pool.shards(needs), needs) if needs <= pool.hidden else ():
        kinds[rows] = batch.columns["noise"]
    return [str(kind) for kind in kinds[find_uids(distinct, uids)]]


def ranked_pairs(
    scores: ScoreTable, kept: ScoreTable, seed: int, bounds: Bounds = NO_BOUNDS
) -> dict[Place, ScoreTable]:
    """Return at most `PAIRS` pairs per place, ranked as `highest` does; see `gallery`."""
    is_kept = np.zeros(len(scores), bool)
    is_kept[find_uids(scores.uids, kept.uids)] = True
    known = ~np.isnan(scores.scores)
    if not bounds.rank:
        failing = known & ~bounds.passes(scores.scores)
        return {"passing": _some(scores, is_kept, seed), "failing": _some(scores, failing, seed)}
    dropped = known & ~is_kept & (scores.scores <= bounds.highest)
    return {
        "top": _ranked(scores, known, seed),
        "kept": _ranked(scores, is_kept, seed, best=False),
        "dropped": _ranked(scores, dropped, seed),
        "bottom": _ranked(scores, known, seed, best=False),
    }


def _some(table: ScoreTable, among: npt.NDArray[np.bool_], seed: int) -> ScoreTable:
    """Return `PAIRS` of some pairs of the table, chosen by the seed."""
    uids = table.uids[among]
    return table.of_uids(uids[highest(np.zeros(len(uids), np.float32), uids, min(PAIRS, len(uids)), seed)])


def _ranked(table: ScoreTable, among: npt.NDArray[np.bool_], seed: int, *, best: bool = True) -> ScoreTable:
    """Return the first or the last `PAIRS` of some pairs of the table, the best first."""
    uids, scores = table.uids[among], table.scores[among]
    count = min(PAIRS, len(uids))
    inside = np.zeros(len(uids), bool)
    inside[highest(scores, uids, count if best else len(uids) - count, seed)] = True
    chosen = np.flatnonzero(inside == best)
    order = np.lexsort((hash_uids(uids[chosen], seed), scores[chosen]))[::-1]
    return ScoreTable(uids[chosen[order]], scores[chosen[order]])


def thumbnails(tars: Pool, uids: UidArray) -> dict[str, bytes]:
    """Return thumbnails by uid, of the samples with readable images."""
    images = {}
    for part in selected_samples(tars, uids):
        with tars.local(part.shard) as path, path.open("rb") as file:
            samples = part.samples
            for uid, offset, size in zip(samples.uids, samples.offsets, samples.sizes, strict=True):
                try:
                    images[decode_uid(uid)] = thumbnail(read_image(file, int(offset), int(size)))
                except SampleError:
                    continue
    return images
