"""Captions graded as ICC's authors graded theirs: 0, highly abstract, to 3, highly concrete."""

import hashlib
from collections.abc import Mapping

import numpy as np

from benchmark.demo.draws import pair
from benchmark.demo.training.data import pool_shares
from benchmark.studies.concreteness.rated_texts import DEMO, RatedTexts

# First index of the `annotation` draw that is only evaluated on: building a scorer uses those below.
DEMO_START = 1_000_000
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


def demo_captions(count: int, seed: int, shares: Mapping[str, float]) -> RatedTexts:
    """Draw captions of the demo world with their planted concreteness, none of which a training step sees.

    Kinds of noise are mixed by the pool's `shares`, without near-duplicates: those are copies of a stock that the
    scorer's training may have drawn from too.
    """
    kinds = {kind: share for kind, share in shares.items() if kind != "near_duplicate"}
    drawn = [pair("annotation", DEMO_START + index, seed, kinds) for index in range(count)]
    texts, ratings = [p.caption for p in drawn], np.array([p.concreteness for p in drawn], np.float64)
    digest = hashlib.sha256("\n".join(texts).encode() + ratings.tobytes()).hexdigest()
    return RatedTexts(DEMO, f"the demo's annotation draw from {DEMO_START:,}", digest, texts, ratings, count)
