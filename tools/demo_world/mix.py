"""The mix of the demo: the frequency of each kind of caption and of each kind of text in images."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import yaml

from tools.demo_world.sampling import Weighted

CONCRETE = "concrete"
MISMATCHED = "mismatched"
NEAR_DUPLICATE = "near_duplicate"
PARROT = "parrot"
NO_TEXT = "none"
MIX = Path(__file__).parent / "mix.yaml"
CONSISTENCY = 0.5  # of the default pool


@dataclass(frozen=True)
class Mix:
    """The probabilities of the random draws of pairs.

    Args:
        kinds: probability of each kind of caption (`noise.KINDS`).
        texts: probability of each kind of text in images (`embedded_text.KINDS`).
        consistency: probability that the image of a caption with a name shows the look of that name.
        name_shift: shift of Zipf's law for the names that captions are about; a larger shift makes the first names
            rarer (`names.sample_name`). By default the first name is .1% of its category, and more after the cut,
            which favours names that CLIP knows. The most frequent person's name in 10,000 LAION captions is in .06%
            of them, which is .6% of the captions about people.
    """

    kinds: Mapping[str, float]
    texts: Mapping[str, float]
    consistency: float
    name_shift: int = 300

    @cached_property
    def draw_kind(self) -> Weighted:
        """Samples a kind of caption."""
        return Weighted(dict(self.kinds))

    @cached_property
    def draw_text(self) -> Weighted:
        """Samples a kind of text in images."""
        return Weighted(dict(self.texts))

    def without(self, *kinds: str) -> "Mix":
        """Return the mix without these kinds of captions."""
        return replace(self, kinds={kind: p for kind, p in self.kinds.items() if kind not in kinds})

    def only(self, kinds: Mapping[str, float]) -> "Mix":
        """Return the mix with other probabilities of kinds of captions."""
        return replace(self, kinds=kinds)


# Pairs like COCO's: the caption describes the image, and no text is written over it.
CLEAN = Mix({CONCRETE: 1.0}, {NO_TEXT: 1.0}, 0.0)


def pool_mix(consistency: float = CONSISTENCY, path: Path = MIX) -> Mix:
    """Return the mix of the demo pool."""
    return _read(path, "share", consistency)


def drawn_mix() -> Mix:
    """Return the mix of the pairs before the cut."""
    return _read(MIX, "drawn", CONSISTENCY)


@cache
def _read(path: Path, column: str, consistency: float) -> Mix:
    parts = yaml.safe_load(path.read_text())
    kinds, texts = (
        {name: float(row[column]) for name, row in parts[part].items()} for part in ("noise", "text")
    )
    return Mix(kinds, texts, consistency)
