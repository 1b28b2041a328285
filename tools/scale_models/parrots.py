"""Trains two CLIPs that differ only in their data, with or without parrot captions (Lin et al. 2023, section 6).

``python -m tools.scale_models.parrots parrots no_text --out FOLDER [--steps 300] [--seed 0]``

The paper trains from scratch. At this size minutes of training from scratch are not enough to learn to read (the loss
on parrot captions stays at chance), so both start from the demo's CLIP, with the same recipe, steps and seed.
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

from pairsift.demo.text_rendering import Image, render_text
from tools.demo_world.draws import generator
from tools.demo_world.noise import Pair
from tools.scale_models.clip import evaluate, learn, load
from tools.scale_models.data import Pairs, captions
from tools.scale_models.export import MODELS, save_half
from tools.scale_models.loop import Recipe, seeded

ARMS = ("parrots", "no_text")
START = MODELS / "clip"
BATCH, LR = 64, 1e-3
CAPTIONS, WORDS = 2000, 300  # captions to count words in, and number of most frequent words to keep
DRAW_SEED = 1  # seed of the `clip` draw; not 0, because the CLIP that both start from was trained on seed 0


class Parrots(Dataset[Pair]):
    """Pairs of an image of one word, in several sizes, and that word as the caption.

    Single words, the `words` most frequent in captions of the `clip` draw, force the model to read. The outline of
    the lines would be enough to distinguish slogans, as in the pool's parrot captions.
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
        return Pair(word, "word", 0, 0.0, None, text=word, image=_render_word(word, rng))


def _render_word(word: str, rng: np.random.Generator, size: int = 128) -> Image:
    """Return an image of `word` at 0.5 to 0.8 of the pool's text size, because that fills the image with any word."""
    inner = round(size * (0.5 + 0.3 * rng.random()))
    text = render_text([word], rng, inner)
    image = np.empty((size, size, 3), np.uint8)
    image[:] = text[0, 0]
    start = (size - inner) // 2
    image[start : start + inner, start : start + inner] = text
    return image


class NoText(Dataset[Pair]):
    """Pairs of the `clip` draw without text in the image; a pair with text is replaced by a later pair."""

    def __init__(self, samples: int, seed: int) -> None:
        self.samples, self.pairs = samples, Pairs("clip", samples, seed)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Pair:
        while (pair := self.pairs[index]).text:
            index += self.samples
        return pair


def train_arm(arm: str, out: Path, steps: int, seed: int, words: int = WORDS) -> None:
    """Train one of the two CLIPs on the CPU and write it to `out`, in open_clip's `local-dir:` format.

    Args:
        arm: one of `ARMS`.
        out: folder to write.
        steps: optimiser steps of 64 pairs.
        seed: random seed of data and training.
        words: number of different words in the images of the arm "parrots".
    """
    recipe = Recipe(steps=steps, batch=BATCH, lr=LR, seed=seed, workers=0)
    samples, draw_seed = recipe.samples, DRAW_SEED + seed
    pairs = Parrots(samples, draw_seed, words) if arm == "parrots" else NoText(samples, draw_seed)
    shutil.copytree(START, out, dirs_exist_ok=True)
    model, collate = load(out)
    with seeded(seed):
        learn(model, collate, pairs, recipe, torch.device("cpu"))
    save_half(model.state_dict(), out / "open_clip_model.safetensors")


def main() -> None:
    """Train the named arms, and print the figures of each on held-out pairs."""
    parser = argparse.ArgumentParser(prog="python -m tools.scale_models.parrots", description=main.__doc__)
    parser.add_argument("arms", nargs="+", choices=ARMS)
    parser.add_argument("--out", type=Path, required=True, help="parent folder of the model folders")
    parser.add_argument("--steps", type=int, default=300, help="optimiser steps of 64 pairs")
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
