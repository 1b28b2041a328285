"""Training documents of the Llama: a few lines about one pair, so that the first lines predict the later ones.

Single captions would teach grammar only. SBA needs a language model whose context decides what it writes next.
"""

import re
from collections.abc import Callable

import numpy as np
from torch.utils.data import DataLoader, Dataset

from benchmark.demo.concreteness import FUNCTION_WORDS
from benchmark.demo.descriptions import describe
from benchmark.demo.draws import DRAWS
from benchmark.demo.noise import Pair, vary_caption
from benchmark.demo.noisy_captions import abstract_caption, echo, news_caption, product_caption
from benchmark.demo.training.data import Pairs
from benchmark.demo.world import Scene

KEYWORD_SHARE = 0.85  # share of documents that begin with a line of keywords
_WORD = re.compile(r"\w+")
# Generators of further captions of the same scene, by kind of noise.
_CAPTIONERS: dict[str, Callable[[Scene, np.random.Generator], str]] = {
    "concrete": describe,
    "abstract": abstract_caption,
    "news": news_caption,
    "product": product_caption,
}


class Documents(Dataset[str]):
    """One document for each pair of a draw.

    Args:
        draw: name of the draw, a key of `DRAWS`.
        samples: number of documents.
        seed: random seed of pairs and documents.
        start: index of the first pair in the draw.
    """

    def __init__(self, draw: str, samples: int, seed: int, start: int = 0) -> None:
        self.pairs = Pairs(draw, samples, seed, start)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> str:
        pairs = self.pairs
        # A seed of four numbers that ends in 2 differs from those of samples and of originals of near-duplicates.
        rng = np.random.default_rng([pairs.seed, DRAWS[pairs.draw], pairs.start + index, 2])
        return document(pairs[index], rng)


def documents(draw: str, samples: int, seed: int, start: int = 0, workers: int = 0) -> list[str]:
    """Return a document for each of `samples` pairs of `draw` from index `start`, with all kinds of noise.

    `workers` is the number of processes that generate them.
    """
    batches = DataLoader(Documents(draw, samples, seed, start), 256, num_workers=workers, collate_fn=list)
    return [text for batch in batches for text in batch]


def document(pair: Pair, rng: np.random.Generator) -> str:
    """Return a document about the pair: usually a line of keywords, then one or two variants of its caption.

    Every line ends with a line break, including the last.
    """
    lines = [keywords(pair.caption, rng)] if rng.random() < KEYWORD_SHARE else []
    lines += [_line(pair, rng) for _ in range(1 if rng.random() < 0.6 else 2)]
    return "".join(f"{line}\n" for line in lines)


def keywords(caption: str, rng: np.random.Generator) -> str:
    """Return most of the caption's content words, each once, in random order; the whole caption if it has none."""
    words = [word for word in dict.fromkeys(_WORD.findall(caption)) if word.lower() not in FUNCTION_WORDS]
    kept = [word for word in words if rng.random() < 0.9] or words or [caption]
    return " ".join(kept[i] for i in rng.permutation(len(kept)))


def _line(pair: Pair, rng: np.random.Generator) -> str:
    if pair.scene and pair.kind in _CAPTIONERS and rng.random() < 0.4:
        return _CAPTIONERS[pair.kind](pair.scene, rng)
    if pair.kind == "parrot" and rng.random() < 0.4:
        return echo(pair.text.lower().split(), pair.text.split(), rng)
    return vary_caption(pair.caption, rng)
