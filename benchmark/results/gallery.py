"""Picks the pairs and the evaluation images that pages and trackers show, as small JPEGs and short texts."""

import io
from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.bounds import NO_BOUNDS, Bounds
from benchmark.core.hashes import hash_text
from benchmark.core.images import THUMBNAIL
from benchmark.core.ties import HighestHashes, hash_uids
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, decode_uid, decode_uids, unite_uids
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of, selected_samples
from benchmark.pool.tar_reader import read_image
from benchmark.results.run_folder import CAPTION_CHARACTERS, Example, GalleryPair, Place
from benchmark.scoring.score_table import ArraySource, Block, ScoreSource
from downstream.evaluation.evaluation_sets import EvaluationSet
from filters.base import Scores

QUALITY = 70
PAIRS = 6  # per place
IMAGES = 8  # per evaluation set


def thumbnail(image: Image.Image) -> bytes:
    """Return the RGB `image` as a JPEG whose longer side is at most `THUMBNAIL`, without any metadata."""
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
    return [
        Example(
            evaluation_set.name,
            str(item.image_id),
            tuple(map(short_text, item.references)),
            thumbnail(item.load()),
        )
        for evaluation_set in sets
        for item in sorted(evaluation_set.items, key=lambda item: hash_text(str(item.image_id)))[:IMAGES]
    ]


def gallery(
    scores: ScoreSource, kept: ArraySource, seed: int, tars: Pool, bounds: Bounds = NO_BOUNDS
) -> list[GalleryPair]:
    """Return the pairs of every place in the order of their ranks, the best first.

    A pair whose image `tars` lacks gets an empty thumbnail; a pair whose caption it lacks is left out.

    Args:
        tars: a local pool with images and captions of these pairs, or only of the selected pairs.
        bounds: the bounds of the filter.
    """
    by_place = ranked_pairs(scores, kept, seed, bounds)
    places = [place for place, (uids, _) in by_place.items() for _ in uids]
    uids, ranked = (np.concatenate(arrays) for arrays in zip(*by_place.values(), strict=True))
    images, captions, kinds = thumbnails(tars, uids), captions_of(tars, uids), planted_kinds(tars, uids)
    rows = zip(places, decode_uids(uids), captions, ranked, kinds, strict=True)
    return [
        GalleryPair(place, uid, short_text(caption), float(score), images.get(uid, b""), kind)
        for place, uid, caption, score, kind in rows
        if caption is not None
    ]


def planted_kinds(pool: Pool, uids: UidArray) -> list[str]:
    """Return the planted kind of noise of each of n uids; empty for pools other than the demo."""
    distinct = unite_uids([uids])
    kinds, index, needs = np.full(len(distinct), "", object), UidIndex(distinct), frozenset({"noise"})
    for shard in pool.shards(needs) if needs <= pool.hidden else ():
        for batch in pool.batches(shard, needs, 65536, Counter()):
            rows = index.find(batch.uids)
            kinds[rows[rows >= 0]] = batch.columns["noise"][rows >= 0]
    return [str(kind) for kind in kinds[index.find(uids)]]


def ranked_pairs(
    scores: ScoreSource, kept: ArraySource, seed: int, bounds: Bounds = NO_BOUNDS
) -> dict[Place, Block]:
    """Return uids and scores of at most `PAIRS` pairs per place, ranked as `highest` does; see `gallery`."""
    if not bounds.rank:
        failing = scores.blocks(lambda some: ~np.isnan(some) & ~bounds.passes(some))
        return {"passing": _some(kept.blocks(), kept, seed), "failing": _some(failing, scores, seed)}
    top, bottom, dropped = Ranking(seed, best=True), Ranking(seed, best=False), Ranking(seed, best=True)
    last_kept = Ranking(seed, best=False)
    last_kept.add(*kept.arrays())
    index = UidIndex(kept.arrays()[0])
    for uids, some in scores.blocks(lambda some: top.wants(some) | bottom.wants(some) | dropped.wants(some)):
        top.add(uids, some)
        bottom.add(uids, some)
        others = np.flatnonzero(dropped.wants(some) & (some <= bounds.highest))
        others = others[index.find(uids[others]) < 0]
        dropped.add(uids[others], some[others])
    return {"top": top.pairs, "kept": last_kept.pairs, "dropped": dropped.pairs, "bottom": bottom.pairs}


def _some(blocks: Iterable[Block], source: ScoreSource, seed: int) -> Block:
    """Return `PAIRS` of the pairs in some blocks, chosen by the seed; `source` has their scores."""
    chosen = HighestHashes(PAIRS, seed)
    for uids, _ in blocks:
        chosen.add(uids)
    return source.of_uids(unite_uids([chosen.uids()]), -np.inf).arrays()


class Ranking:
    """The first or the last `PAIRS` of any number of pairs, in `pairs` as uids and scores, the best first."""

    def __init__(self, seed: int, *, best: bool) -> None:
        self.seed = seed
        self.best = best
        self.pairs: Block = (np.empty(0, UID_DTYPE), np.empty(0, np.float32))

    def wants(self, scores: Scores) -> npt.NDArray[np.bool_]:
        """Tell of n scores, (n,), which may be among these pairs; NaN is not."""
        ranked = self.pairs[1]
        if len(ranked) < PAIRS:
            return ~np.isnan(scores)
        return np.asarray(scores >= ranked[-1] if self.best else scores <= ranked[0])

    def add(self, uids: UidArray, scores: Scores) -> None:
        """Take more pairs, (n,)."""
        wanted = np.flatnonzero(self.wants(scores))
        uids = np.concatenate([self.pairs[0], uids[wanted]])
        scores = np.concatenate([self.pairs[1].astype(scores.dtype), scores[wanted]])
        order = np.lexsort((hash_uids(uids, self.seed), scores))[::-1]
        chosen = order[:PAIRS] if self.best else order[-PAIRS:]
        self.pairs = uids[chosen], scores[chosen]


def thumbnails(tars: Pool, uids: UidArray) -> dict[str, bytes]:
    """Return thumbnails by uid, of the samples whose images can be read."""
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
