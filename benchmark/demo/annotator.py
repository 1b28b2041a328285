"""Captions graded as ICC's authors graded theirs: 0, highly abstract, to 3, highly concrete."""

import hashlib

import numpy as np

from benchmark.demo.draws import pair
from benchmark.demo.training.data import pool_shares
from benchmark.studies.concreteness.rated_texts import DEMO, DEMO_START, RatedTexts

TOP = 3
DISAGREEMENT = 0.5  # grades by which one person's judgement of a caption strays (standard deviation)


def annotated_captions(count: int, seed: int) -> RatedTexts:
    """Return `count` captions of the `annotation` draw with the grades of a simulated person, shape (count,).

    A grade is three times the planted concreteness and a normal error, rounded and kept within 0 to 3. These
    captions come from the draw's beginning; what `task=concreteness` judges by lies behind them.
    """
    if count > DEMO_START:
        raise ValueError(f"{count} annotated captions reach into those that scorers are judged by")
    pairs = [pair("annotation", index, seed, pool_shares()) for index in range(count)]
    texts = [p.caption for p in pairs]
    error = np.random.default_rng([seed, count]).normal(0, DISAGREEMENT, count)
    grades = np.clip(np.round(TOP * np.array([p.concreteness for p in pairs]) + error), 0, TOP)
    digest = hashlib.sha256("\n".join(texts).encode() + grades.tobytes()).hexdigest()
    return RatedTexts(DEMO, "a simulated annotator", digest, texts, grades, count)
