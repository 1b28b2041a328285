"""Evaluation images that are among the pairs of a pool, and among the kept pairs."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.cached_files import intact, read_cached
from benchmark.core.hashes import hash_json
from benchmark.core.paths import cache_folder, write_cached
from benchmark.core.pixel_workers import expect_images
from benchmark.core.uids import UID_DTYPE, UidArray, decode_uids, encode_uids, find_uids, unite_uids
from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.pool.content import find_images
from benchmark.pool.pool import Pool
from benchmark.results.result import Contamination
from benchmark.scoring.feature_cache import load_features
from benchmark.scoring.shard_reader import features_path
from downstream.batching import StoredImages, pixel_batches, to_pixels
from downstream.evaluation.classification_sets import ClassificationSet, LabelledImage
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.evaluation.image_files import ImageFile, digest_images
from filters.clip import ClipFeatures

log = logging.getLogger(__name__)
ROWS = 1024  # images that are compared at a time
EMBEDDED_AT_ONCE = 256
Embeddings = npt.NDArray[np.float32]


@dataclass(frozen=True)
class NearImages:
    """Finds images with a cosine above `similarity` between their embeddings by one CLIP model."""

    features: ClipFeatures  # of the pool
    similarity: float  # depends on the model
    device: torch.device  # embeds evaluation images

    def find(self, pool: Pool, sets: Mapping[str, Sequence[ImageFile]]) -> dict[str, UidArray] | None:
        """Return the uids of pairs near to each set's images, by its name; None unless all embeddings are cached."""
        paths = [features_path(pool, shard, self.features) for shard in pool.tars]
        if not paths or not all(intact(path) for path in paths):
            return None
        digests = {name: [digest.sha256 for digest in digest_images(images)] for name, images in sets.items()}
        inputs = [[path.name for path in paths], self.features.key(), self.similarity, digests]
        key = hash_json(inputs, 16)
        cached = cache_folder("near_images", pool.key) / f"{key}.json"
        if (near := read_cached(cached)) is None:
            expect_images(max(map(len, sets.values()), default=0))
            clip = load_clip(
                self.features.model, self.features.pretrained, self.device, self.features.precision
            )
            targets = {
                name: embed_images(
                    clip, [Item(i.path.name, i, []) for i in images], "embed evaluation images"
                )
                for name, images in sets.items()
            }
            near = {name: [] for name in sets}
            for path in paths:
                table = load_features(path)
                for name, target in targets.items():
                    images = table.half("image")
                    parts = np.split(images, range(ROWS, len(images), ROWS))
                    closest = [(part.astype(np.float32) @ target.T).max(axis=1) for part in parts]
                    near[name] += decode_uids(table.uids[np.concatenate(closest) > self.similarity])
            write_cached(cached, near)
        return {name: unite_uids([encode_uids(uids)]) for name, uids in near.items()}


def embed_images(clip: ClipModel, images: Sequence[Item | LabelledImage], title: str) -> Embeddings:
    """Return the unit vectors of images, (m, d); progress is shown with a title."""
    batches = pixel_batches(
        StoredImages(images, title), partial(to_pixels, clip.processor), EMBEDDED_AT_ONCE, clip.device
    )
    return np.concatenate([clip.embed_pixels(pixels) for pixels in batches])


def contaminated(pool: Pool, sets: Iterable[EvaluationSet | ClassificationSet]) -> UidArray:
    """Return the sorted uids of the pairs of a local pool with the bytes of an evaluation image."""
    found = _same_bytes(pool, {of_set.name: of_set.image_files() for of_set in sets})
    return unite_uids([np.empty(0, UID_DTYPE), *found.values()])


def contamination(
    pool: Pool,
    kept: UidArray,
    tars: Pool,
    sets: Iterable[EvaluationSet | ClassificationSet],
    near: NearImages | None,
) -> dict[str, Contamination]:
    """Count the pairs with an image of each evaluation set by its name; warn of kept pairs.

    `kept` are the uids of the selection, `tars` the local pool that holds its images; without `near` only equal
    bytes count.
    """
    images = {of_set.name: files for of_set in sets if (files := of_set.image_files())}
    similar = near.find(pool, images) if near else None
    counts = {}
    for name, uids in _same_bytes(tars, images).items():
        counts[name] = Contamination(len(uids) if pool.is_local else None, _count(kept, uids))
        if similar is not None:
            near_uids = similar[name]
            counts[name] = replace(counts[name], near_pool=len(near_uids), near_kept=_count(kept, near_uids))
        same = counts[name].kept
        if most := max(same, counts[name].near_kept or 0):
            log.warning(
                "contamination: %d of %s kept pairs have an image of %s (%s with the same bytes)",
                most, f"{len(kept):,}", name, "all" if most == same else same,
            )  # fmt: skip
    return counts


def _same_bytes(tars: Pool, images: Mapping[str, Sequence[ImageFile]]) -> dict[str, UidArray]:
    """Return the uids of pairs with the bytes of an image of each evaluation set, by its name."""
    wanted = {name: {d.sha256: d.size for d in digest_images(of_set)} for name, of_set in images.items()}
    sizes = {size for of_set in wanted.values() for size in of_set.values()}
    hashes = find_images(tars, sizes, {sha256 for of_set in wanted.values() for sha256 in of_set})
    return {
        name: encode_uids([uid for uid, sha256 in hashes.items() if sha256 in of_set])
        for name, of_set in wanted.items()
    }


def _count(kept: UidArray, uids: UidArray) -> int:
    return int((find_uids(kept, uids) >= 0).sum())
