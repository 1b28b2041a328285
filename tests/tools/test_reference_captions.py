"""The reference captions of evaluation images, beside COCO's (docs/demo_world.md)."""

import numpy as np
import pytest

from pairsift.studies.profile.web_likeness.statistics import measure_likeness
from pairsift.studies.profile.web_likeness.tables import COCO
from tools.demo_world.draws import generator
from tools.demo_world.reference_captions import REFERENCES, most_agreeing, reference_captions
from tools.demo_world.scenes import sample_scene


def test_captions_that_agree_are_kept_in_their_order() -> None:
    drawn = ["A zebra", "A red ball rolls.", "the crimson orb", "a red ball", "a RED ball rolls"]
    assert most_agreeing(drawn, 3) == ["A red ball rolls.", "a red ball", "a RED ball rolls"]


def test_references_differ_and_repeat_with_the_seed() -> None:
    scene = sample_scene(np.random.default_rng(0))
    references = reference_captions(scene, np.random.default_rng(1))
    assert len(set(references)) == REFERENCES
    assert references == reference_captions(scene, np.random.default_rng(1))


@pytest.mark.slow
def test_references_are_as_varied_as_coco_captions() -> None:
    captions: list[str] = []
    for index in range(1600):
        rng = generator("evaluation", index, 0)
        captions += reference_captions(sample_scene(rng), rng)
    likeness = measure_likeness(captions, None)
    for name in ("trigram_perplexity", "heaps_exponent", "words_per_caption"):
        assert getattr(likeness, name) == pytest.approx(getattr(COCO, name), rel=0.25), name
