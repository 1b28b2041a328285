"""RSA and RSC (Lin et al. 2023, section 5.1): what of a CLIP score goes when text is painted over."""

import numpy as np
import numpy.typing as npt

from filters.base import Composite, Scores
from filters.clip import Clip
from filters.ocr.spotter import TextSpotter
from filters.text_removal import RandomAreaRemovedClip, TextRemovedClip


class RelativeScore(Composite):
    """The second filter's score less the first's: minus the paper's S(raw) - S(removed), as low is good there."""

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Scores of shape (2, n) to (n,)."""
        return np.asarray(scores[1] - scores[0], np.float32)


def relative_score(
    model: str, pretrained: str | None, ocr: TextSpotter, area: str, control: bool
) -> RelativeScore:
    """Return RSA or RSC as a filter.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        ocr: finds the text, and for RSC reads it.
        area: ``all`` text for RSA, ``co``-embedded text for RSC.
        control: paint over areas of another image's text in its place.
    """
    removal = RandomAreaRemovedClip if control else TextRemovedClip
    removed = removal(model, pretrained, ocr, area, fill="inpaint")
    return RelativeScore({"raw": Clip(model, pretrained), "removed": removed})
