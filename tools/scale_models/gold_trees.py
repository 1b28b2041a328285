"""Captions of the demo of several kinds with their gold dependency trees, to train and evaluate the parser."""

import numpy as np

from tools.demo_world.language.trees import Tree, respell, to_tree
from tools.demo_world.mix import CLEAN
from tools.demo_world.noise import draw_caption
from tools.demo_world.sampling import Weighted

# Relative frequencies of kinds of captions, and of their case: mostly sentences, as in en_core_web_sm's corpus.
KIND = Weighted({"concrete": 8, "abstract": 4, "news": 4, "title": 2, "person": 2, "event": 1, "product": 1})
CASE = Weighted({"unchanged": 8, "lower": 1, "title": 1})


def sample_tree(rng: np.random.Generator) -> Tree:
    """Return a random caption as a tree."""
    tree = to_tree(draw_caption(KIND(rng), rng, CLEAN)[1])
    case = CASE(rng)
    return tree if case == "unchanged" else respell(tree, str.lower if case == "lower" else str.title)
