"""Two CLIPs that differ in nothing but whether they learned from parrot captions (Lin et al. 2023, section 6).

``python -m benchmark.demo.training.parrots parrots no_text --out FOLDER [--steps 300] [--seed 0]``

The paper trains from scratch. At this size reading does not begin within minutes of that (the loss of parrots alone
stays at chance), so both go on from the demo's CLIP, with the same recipe, steps and seed.
"""

import argparse
import json
import logging
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

from benchmark.demo.draws import generator
from benchmark.demo.noise import Pair
from benchmark.demo.text_rendering import Image, render_text
from benchmark.demo.training.clip import evaluate, learn, load
from benchmark.demo.training.data import Pairs, captions
from benchmark.demo.training.export import save_half
from benchmark.demo.training.loop import Recipe, seeded
from benchmark.demo.training.registry import MODELS

ARMS = ("parrots", "no_text")
START = MODELS / "clip"
BATCH, RATE = 64, 1e-3
CAPTIONS, WORDS = 2000, 300
OTHER_SEED = (
    1  # of the `clip` draw: with the demo's seed 0 the CLIP that both start from would know the pairs
)


class Parrots(Dataset[Pair]):
    """Pictures of one word, of several sizes, whose caption is that word.

    Each is one of the `words` most frequent of the `clip` draw's captions: a slogan, which is what the pool's parrots
    say, can be told from another by the outline of its lines.
    """

    def __init__(self, samples: int, seed: int, words: int = WORDS) -> None:
        self.samples, self.seed = samples, seed
        counts = Counter(word for text in captions("clip", CAPTIONS, seed) for word in text.split())
        self.words = sorted(counts, key=lambda word: (-counts[word], word))[:words]

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Pair:
        rng = generator("clip", index, self.seed)
        word = self.words[int(rng.random() * len(self.words))]
        return Pair(_sized(word, rng), word, "parrot", 0.0, None, word)


def _sized(word: str, rng: np.random.Generator, size: int = 128) -> Image:
    """Return `word` as the pool letters it, 0.5 to 0.8 times as large: it would fill the picture every time."""
    inner = round(size * (0.5 + 0.3 * rng.random()))
    drawn = render_text([word], rng, inner)
    image = np.empty((size, size, 3), np.uint8)
    image[:] = drawn[0, 0]
    start = (size - inner) // 2
    image[start : start + inner, start : start + inner] = drawn
    return image


class NoText(Dataset[Pair]):
    """Pairs of the `clip` draw without text in the image: a sample with some gives way to one of a later index."""

    def __init__(self, samples: int, seed: int) -> None:
        self.samples, self.pairs = samples, Pairs("clip", samples, seed)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Pair:
        while (pair := self.pairs[index]).text:
            index += self.samples
        return pair


def train_arm(arm: str, out: Path, steps: int, seed: int, words: int = WORDS) -> None:
    """Train one of `ARMS` on the CPU and write it to `out`, in open_clip's `local-dir:` format.

    `words`: how many the parrots know.
    """
    recipe = Recipe(steps=steps, batch=BATCH, lr=RATE, seed=seed, workers=0)
    samples, draw_seed = recipe.samples, OTHER_SEED + seed
    pairs = Parrots(samples, draw_seed, words) if arm == "parrots" else NoText(samples, draw_seed)
    shutil.copytree(START, out, dirs_exist_ok=True)
    model, collate = load(out)
    with seeded(seed):
        learn(model, collate, pairs, recipe, torch.device("cpu"))
    save_half(model.state_dict(), out / "open_clip_model.safetensors")


def main() -> None:
    """Train the named arms, and print what each makes of held-out pairs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.demo.training.parrots", description=main.__doc__
    )
    parser.add_argument("arms", nargs="+", choices=ARMS)
    parser.add_argument("--out", type=Path, required=True, help="folder of the models' folders")
    parser.add_argument("--steps", type=int, default=300, help="of 64 pairs")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%X")
    logging.getLogger("benchmark").setLevel(logging.INFO)
    torch.set_num_threads(1)
    for arm in arguments.arms:
        folder = arguments.out / f"{arm}-{arguments.seed}"
        train_arm(arm, folder, arguments.steps, arguments.seed)
        sys.stdout.write(f"{folder}: {json.dumps(evaluate(folder, 500, arguments.seed))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
