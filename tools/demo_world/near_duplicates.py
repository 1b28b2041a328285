"""Near-duplicates: copies of an image, and of its caption with small changes."""

import numpy as np

from pairsift.demo.draws import pick
from tools.demo_world.sampling import Weighted

# Groups of near-duplicates before the cut, with Zipf-like frequencies as the web's most copied images have.
GROUPS = 3000
_GROUP = Weighted({str(group): 1 / (group + 100) for group in range(GROUPS)})


def draw_group(rng: np.random.Generator) -> int:
    """Return the number of a random group; lower numbers are more frequent."""
    return int(_GROUP(rng))


def vary_caption(caption: str, rng: np.random.Generator) -> str:
    """Return `caption` changed as on the web's copies of an image: another case, no full stop, or an addition."""
    bare = caption.rstrip(".")
    choices = (
        caption, caption, caption.lower(), caption.title(), bare, f"{bare} stock photo", f"{bare}...",
        f"{bare} #{int(rng.random() * 900) + 100}",
    )  # fmt: skip
    return pick(rng, choices)
