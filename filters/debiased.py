"""The debiased subset of LAION-2B (Lin et al. 2023, section 8), as a cascade."""

from collections.abc import Iterator

from benchmark.core.ranges import PositiveInt
from benchmark.core.requirements import Requirement, State
from filters.aesthetics import Aesthetics
from filters.base import Filter
from filters.clip import Clip
from filters.composite import Cascade
from filters.near_duplicates import NearDuplicates
from filters.no_text import NoText
from filters.ocr.features import TextSpotter
from filters.random import Random


class Debiased(Cascade):
    """The recipe's cascade, which says before it starts that it lacks the aesthetics step."""

    def requirements(self) -> Iterator[Requirement]:
        """Yield those of the steps, and the head of the aesthetics step if there is none."""
        yield from super().requirements()
        if "aesthetics" not in self.filters:
            yield Requirement(
                "aesthetics",
                State.WITHOUT,
                "the step of aesthetics above 4.5 is left out; filter.aesthetics.head=FILE adds it",
            )


def debiased(
    clip: dict[str, str | None],
    ocr: TextSpotter,
    minimum_clip: float,
    aesthetics: dict[str, str | None],
    minimum_aesthetics: float,
    clusters: PositiveInt,
    duplicate_similarity: float,
    seed: int = 0,
    iterations: PositiveInt = 300,
    restarts: PositiveInt = 10,
) -> Debiased:
    """Return the recipe: no text, CLIP score, aesthetics, one sample per group of near-duplicates in each cluster.

    Duplicates are removed last, among the samples that pass all else. The paper trains on all that are left; of more
    than k, a random k is kept.

    Args:
        clip: `model`, `pretrained` and `precision` of the CLIP score and of the clusters.
        ocr: OCR engine.
        minimum_clip: lowest cosine that passes, 0.3 in the paper.
        aesthetics: `model`, `pretrained`, `head` and `precision`; the step is skipped when `head` is None.
        minimum_aesthetics: lowest rating that passes, 4.5 in the paper's release.
        clusters: number of image clusters, 4,000 in the paper.
        duplicate_similarity: cosine from which two images of one cluster are near-duplicates; the paper names none.
        seed: random seed of k-means and of the k that are kept.
        iterations, restarts: of k-means, 300 and 10 in the paper (section 11).
    """
    steps: dict[str, Filter] = {
        "no_text": NoText(ocr),
        "clip": Clip(**clip),  # type: ignore[arg-type]
    }
    keep: dict[str, float | str | None] = {
        "no_text": -ocr.legible,
        "clip": minimum_clip,
        "distinct": 1 - duplicate_similarity,
    }
    if aesthetics["head"] is not None:
        steps["aesthetics"] = Aesthetics(**aesthetics)  # type: ignore[arg-type]
        keep["aesthetics"] = minimum_aesthetics
    steps["distinct"] = NearDuplicates(
        **clip,  # type: ignore[arg-type]
        clusters=clusters,
        seed=seed,
        iterations=iterations,
        restarts=restarts,
    )
    return Debiased(steps | {"random": Random(seed)}, keep)
