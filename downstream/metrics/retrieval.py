"""Text-to-image and image-to-text retrieval: R@1, R@5, R@10 and the median rank.

As in Karpathy's splits, a text matches one image, and an image matches all its texts. Ties count against the model
(see `downstream.metrics.ranks`); ``text_to_image_tied`` and ``image_to_text_tied`` are the shares of queries with a
tie, by which R@k would be higher at most if ties counted otherwise, as they do in CLIP_benchmark.
"""

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric, library
from downstream.metrics.ranks import Array, Indices, Ranks, Ties, pair_ranks, topk_hits

CUTOFFS = (1, 5, 10)


def retrieval_metrics(to_images: Ranks, to_texts: Ranks) -> list[Metric]:
    """Return the retrieval metrics of the ranks of texts among images, and of images among texts."""
    return _metrics("text_to_image", to_images) + _metrics("image_to_text", to_texts)


def retrieval_ranks(
    images: Array, texts: Array, image_of_text: Indices, ties: Ties = "against"
) -> tuple[Ranks, Ranks]:
    """Return the ranks of m texts among n images, and of the images among the texts, by cosine similarity.

    Args:
        images: features (n, d).
        texts: features (m, d).
        image_of_text: index of each text's image, (m,); every image must have a text.
        ties: "against" the model, or by "topk", CLIP_benchmark's rule for R@k: of equal items those count that
            ``torch.topk`` happens to return.

    Raises:
        ValueError: features that are zero or not finite, indices that do not fit.
    """
    images, texts = _normalised(images), _normalised(texts)
    to_images, to_texts = pair_ranks(texts, images, image_of_text)
    if ties == "topk":
        narrow_images, narrow_texts = images.astype(np.float32), texts.astype(np.float32)
        everyone = np.arange(len(images))
        to_images = to_images.by_topk(
            topk_hits(lambda part: narrow_texts[part] @ narrow_images.T, image_of_text, everyone, CUTOFFS)
        )
        to_texts = to_texts.by_topk(
            topk_hits(lambda part: narrow_images[part] @ narrow_texts.T, everyone, image_of_text, CUTOFFS)
        )
    return to_images, to_texts


def _normalised(features: Array) -> npt.NDArray[np.float64]:
    exact: npt.NDArray[np.float64] = features.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError("features must be finite and not zero")
    exact /= lengths
    return exact


def _metrics(direction: str, found: Ranks) -> list[Metric]:
    values = {f"R@{k}": float(np.mean(found.within(k))) for k in CUTOFFS}
    values["median_rank"] = float(np.median(found.ranks))
    values["tied"] = float(np.mean(found.tied))
    return [
        Metric(f"{direction}_{name}", value, None, len(found), library("pairsift"))
        for name, value in values.items()
    ]
