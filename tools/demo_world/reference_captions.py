"""The reference captions of an evaluation image: descriptions that agree about as much as COCO's."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pairsift.demo.world import Scene
from tools.demo_world.language.descriptions.descriptions import distinct_descriptions

REFERENCES = 5  # captions per image, as in the originals
MIN_WORDS = 8  # COCO's annotators were told so (Chen et al. 2015, section 3)
# A caption of COCO scored against the four others of its image has a CIDEr of 98 (159 images of COCO 2017), any five
# descriptions 39, and the five of nine that agree best 65. The best five of more than nine descriptions would be less
# varied over all images than COCO's captions.
DRAWN = 9


def reference_captions(scene: Scene, rng: np.random.Generator) -> list[str]:
    """Return `REFERENCES` different descriptions of `scene` in random order."""
    return most_agreeing(distinct_descriptions(scene, rng, DRAWN, MIN_WORDS), REFERENCES)


def most_agreeing(captions: Sequence[str], count: int) -> list[str]:
    """Return the `count` captions with most words and pairs of words in common with all others, in their order."""
    grams = [_grams(caption) for caption in captions]
    agreement = [sum(_overlap(one, other) for other in grams) for one in grams]
    best = sorted(range(len(captions)), key=lambda index: -agreement[index])[:count]
    return [captions[index] for index in sorted(best)]


def _grams(caption: str) -> Counter[tuple[str, ...]]:
    words = caption.lower().rstrip(".").split()
    return Counter([*((word,) for word in words), *pairwise(words)])


def _overlap(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    """Return the fraction of words and pairs of words that two captions have in common, 0 to 1."""
    return 2 * (one & other).total() / (one.total() + other.total())
