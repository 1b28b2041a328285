"""Pages as a language model reads them: a few lines about one thing, so that the first tell what the others say.

A line alone teaches grammar; what comes before it decides its content only where text goes on about one subject.
"""

import re
from collections.abc import Callable

import numpy as np
from torch.utils.data import DataLoader, Dataset

from benchmark.demo.concreteness import FUNCTION_WORDS
from benchmark.demo.descriptions import describe
from benchmark.demo.draws import DRAWS
from benchmark.demo.noise import Pair, retouch
from benchmark.demo.noisy_captions import abstract_caption, echo, news_caption, product_caption
from benchmark.demo.training.data import Pairs
from benchmark.demo.world import Scene

TAGGED = 0.85  # share of pages that begin with keywords
_WORD = re.compile(r"\w+")
# What else a page says of the scene that its first caption is about.
_RETOLD: dict[str, Callable[[Scene, np.random.Generator], str]] = {
    "concrete": describe,
    "abstract": abstract_caption,
    "news": news_caption,
    "product": product_caption,
}


class Documents(Dataset[str]):
    """Pages about the captions of a draw from index `start`, lines separated by line breaks."""

    def __init__(self, draw: str, samples: int, seed: int, start: int = 0) -> None:
        self.pairs = Pairs(draw, samples, seed, start)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> str:
        pairs = self.pairs
        # Four words and the last is 2: neither a sample's own stream nor that of a stock of near-duplicates.
        rng = np.random.default_rng([pairs.seed, DRAWS[pairs.draw], pairs.start + index, 2])
        return document(pairs[index], rng)


def documents(draw: str, samples: int, seed: int, start: int = 0, workers: int = 0) -> list[str]:
    """Return the pages about `samples` pairs of `draw`, all kinds of noise mixed."""
    pages = Documents(draw, samples, seed, start)
    return [page for batch in DataLoader(pages, 256, num_workers=workers, collate_fn=list) for page in batch]


def document(pair: Pair, rng: np.random.Generator) -> str:
    """Return a page about the pair: mostly keywords, then its caption and often once more, retouched or retold.

    Every line ends with a line break, the last one too.
    """
    lines = [keywords(pair.caption, rng)] if rng.random() < TAGGED else []
    lines += [_line(pair, rng) for _ in range(1 if rng.random() < 0.6 else 2)]
    return "".join(f"{line}\n" for line in lines)


def keywords(caption: str, rng: np.random.Generator) -> str:
    """Return most of the caption's words of content, each once and in any order; all of it if it has none."""
    words = [word for word in dict.fromkeys(_WORD.findall(caption)) if word.lower() not in FUNCTION_WORDS]
    kept = [word for word in words if rng.random() < 0.9] or words or [caption]
    return " ".join(kept[i] for i in rng.permutation(len(kept)))


def _line(pair: Pair, rng: np.random.Generator) -> str:
    if pair.scene and pair.kind in _RETOLD and rng.random() < 0.4:
        return _RETOLD[pair.kind](pair.scene, rng)
    if pair.kind == "parrot" and rng.random() < 0.4:
        return echo(pair.text.lower().split(), pair.text.split(), rng)
    return retouch(pair.caption, rng)
