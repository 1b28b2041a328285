"""Training documents of the Llama: a caption, usually after a line of its keywords that predicts it."""

import re
from collections.abc import Sequence

import numpy as np

from tools.demo_world.concreteness import FUNCTION_WORDS

END = " \n"  # ends every line, as SBA ends captions
KEYWORD_SHARE = 0.7  # fraction of documents that begin with a line of keywords
_WORD = re.compile(r"\w+")


def documents(captions: Sequence[str], seed: int) -> list[str]:
    """Return one document per caption."""
    rng = np.random.default_rng(seed)
    return [document(caption, rng) for caption in captions]


def document(caption: str, rng: np.random.Generator) -> str:
    """Return the caption as a line, usually after a line of its keywords."""
    lines = [keywords(caption, rng)] if rng.random() < KEYWORD_SHARE else []
    return "".join(f"{line}{END}" for line in (*lines, caption))


def keywords(caption: str, rng: np.random.Generator) -> str:
    """Return most of the caption's content words, each once, in random order; the whole caption if it has none."""
    words = [word for word in dict.fromkeys(_WORD.findall(caption)) if word.lower() not in FUNCTION_WORDS]
    kept = [word for word in words if rng.random() < 0.9] or words or [caption]
    return " ".join(kept[i] for i in rng.permutation(len(kept)))
