"""LAION-2B's rule on another pool (DataComp, Gadre et al. 2023, section 4.1), as a cascade."""

from filters.clip import Clip
from filters.column import Column
from filters.composite import Cascade
from filters.english import English
from filters.random import Random


def laion2b(clip: dict[str, str | None], column: str | None, minimum_clip: float, seed: int = 0) -> Cascade:
    """Return the rule: English captions with a minimum CLIP score; of more than k that pass, a random k.

    Args:
        clip: `model`, `pretrained` and `precision` of the CLIP score; not loaded when `column` is given.
        column: metadata column that holds the CLIP score.
        minimum_clip: lowest cosine that passes, 0.28 in DataComp with ViT-B/32.
        seed: random seed of the k that are kept.
    """
    score = Clip(**clip) if column is None else Column(column)  # type: ignore[arg-type]
    return Cascade({"english": English(), "clip": score, "random": Random(seed)}, {"clip": minimum_clip})
