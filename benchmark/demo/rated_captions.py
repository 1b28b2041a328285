"""Captions of the demo with concreteness ratings: grades of a simulated annotator, or the planted values."""

import hashlib

import numpy as np

from benchmark.core.errors import UserError
from benchmark.demo.draws import sample_draft
from benchmark.demo.mix import NEAR_DUPLICATE, Mix
from benchmark.demo.training.data import pool_mix
from benchmark.studies.concreteness.rated_texts import DEMO, RatedTexts

# In the `annotation` draw, smaller indices are for building scorers; from this one on, samples are for evaluation.
DEMO_START = 1_000_000
MAX_GRADE = 3  # highly concrete; 0 is highly abstract, as in the ICC paper
DISAGREEMENT = 0.5  # standard deviation of the simulated annotator's error, in grades


def annotated_captions(count: int, seed: int) -> RatedTexts:
    """Return the first `count` captions of the `annotation` draw with grades of a simulated annotator.

    A grade is three times the planted concreteness plus a normally distributed error, rounded and clipped to 0..3.
    `task=concreteness` evaluates on later captions of the same draw.

    Raises:
        UserError: if `count` reaches into the captions for evaluation.
    """
    if count > DEMO_START:
        raise UserError(
            f"icc.annotations.count={count} must be at most {DEMO_START:,}; the rest is for evaluation"
        )
    pairs = [sample_draft("annotation", index, seed, pool_mix()) for index in range(count)]
    texts = [p.caption for p in pairs]
    error = np.random.default_rng([seed, count]).normal(0, DISAGREEMENT, count)
    grades = np.clip(np.round(MAX_GRADE * np.array([p.concreteness for p in pairs]) + error), 0, MAX_GRADE)
    digest = hashlib.sha256("\n".join(texts).encode() + grades.tobytes()).hexdigest()
    return RatedTexts(DEMO, "a simulated annotator", digest, texts, grades, count)


def demo_captions(count: int, seed: int, mix: Mix) -> RatedTexts:
    """Return `count` captions of `mix` with their planted concreteness, none of which a scorer is trained on.

    Near-duplicates are left out, because their originals are shared with the samples that scorers are built from.
    """
    mix = mix.without(NEAR_DUPLICATE)
    pairs = [sample_draft("annotation", DEMO_START + index, seed, mix) for index in range(count)]
    texts, ratings = [p.caption for p in pairs], np.array([p.concreteness for p in pairs], np.float64)
    digest = hashlib.sha256("\n".join(texts).encode() + ratings.tobytes()).hexdigest()
    return RatedTexts(DEMO, f"the demo's annotation draw from {DEMO_START:,}", digest, texts, ratings, count)
