"""Pairs of a pool whose image is close to an evaluation image by CLIP, where the pool's embeddings are cached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmark.core.hashes import hash_json
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.seals import intact
from benchmark.core.uids import UidArray, decode_uids, encode_uids, unite_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import load_features
from benchmark.scoring.shard_reader import features_path
from downstream.evaluation.evaluation_sets import Item
from downstream.evaluation.image_digests import digest_images
from downstream.evaluation.image_files import ImageFile
from filters.clip import ClipFeatures

if TYPE_CHECKING:
    import torch

    from benchmark.models.clip_models import ClipModel

ROWS = 1024  # images that are compared at a time
EMBEDDED_AT_ONCE = 256
Embeddings = npt.NDArray[np.float32]


@dataclass(frozen=True)
class NearImages:
    """Finds images whose embeddings by one CLIP model have a cosine above `similarity`, which depends on the model.

    Args:
        features: the pool's embeddings.
        similarity: cosine above which two images are near-duplicates.
        device: where evaluation images are embedded.
    """

    features: ClipFeatures
    similarity: float
    device: torch.device

    def find(self, pool: Pool, sets: Mapping[str, Sequence[ImageFile]]) -> dict[str, UidArray] | None:
        """Return the uids of pairs near to an image of each evaluation set, by its name.

        None where the pool's embeddings are not all in the cache.
        """
        paths = [features_path(pool, shard, self.features) for shard in pool.tars]
        if not paths or not all(intact(path) for path in paths):
            return None
        digests = {name: [digest.sha256 for digest in digest_images(images)] for name, images in sets.items()}
        inputs = [[path.name for path in paths], self.features.key(), self.similarity, digests]
        key = hash_json(inputs, 16)
        cached = cache_folder("near_images", pool.key) / f"{key}.json"
        if not intact(cached):
            from benchmark.models.clip_models import load_clip

            clip = load_clip(
                self.features.model, self.features.pretrained, self.device, self.features.precision
            )
            targets = {name: _embed(clip, images) for name, images in sets.items()}
            near: dict[str, list[str]] = {name: [] for name in sets}
            for path in paths:
                table = load_features(path)
                for name, target in targets.items():
                    near[name] += decode_uids(table.uids[self._near(table.columns["image"], target)])
            write_text(cached, json.dumps(near))
        return {
            name: unite_uids([encode_uids(uids)]) for name, uids in json.loads(cached.read_text()).items()
        }

    def _near(self, images: Embeddings, targets: Embeddings) -> npt.NDArray[np.bool_]:
        """Return which of n images (n, d) are near to one of m others (m, d), shape (n,)."""
        near = np.zeros(len(images), bool)
        for start in range(0, len(images), ROWS):
            near[start : start + ROWS] = (images[start : start + ROWS] @ targets.T).max(
                axis=1
            ) > self.similarity
        return near


def _embed(clip: ClipModel, images: Sequence[ImageFile]) -> Embeddings:
    from downstream.batching import StoredImages, pixel_batches, stack_pixels

    stored = StoredImages([Item(image.path.name, image, []) for image in images])
    batches = pixel_batches(stored, partial(stack_pixels, clip.preprocess), EMBEDDED_AT_ONCE, clip.device)
    return np.concatenate([clip.embed_pixels(pixels) for pixels in batches])
