"""RSA and RSC (Lin et al. 2023, section 5.1): the CLIP score lost when text is painted over."""

from collections.abc import Sequence

import numpy as np

from benchmark.core.uids import UidArray
from filters.base import Composite, Scores
from filters.clip import Clip
from filters.ocr.spotter import TextSpotter
from filters.text_removal import RandomAreaRemovedClip, TextRemovedClip


class RelativeScore(Composite):
    """S(removed) - S(raw): the paper's relative score with its sign flipped, because there low is good."""

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,) from the raw and the removed ones, (n,) each."""
        return np.asarray(scores[1] - scores[0], np.float32)


def relative_score(
    model: str, pretrained: str | None, ocr: TextSpotter, area: str, control: bool, precision: str = "fp32"
) -> RelativeScore:
    """Return RSA or RSC as a filter.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        ocr: OCR engine.
        area: ``all`` text for RSA, ``co``-embedded text for RSC.
        control: whether to paint over the text areas of another image instead.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """
    removal = RandomAreaRemovedClip if control else TextRemovedClip
    removed = removal(model, pretrained, ocr, area, fill="inpaint", precision=precision)
    return RelativeScore({"raw": Clip(model, pretrained, precision), "removed": removed})
