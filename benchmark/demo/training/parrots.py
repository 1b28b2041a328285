"""CLIPs that differ in nothing but how much of what they learn from is parrot captions (Lin et al. 2023, section 6).

``python -m benchmark.demo.training.parrots random|no_text|parrots --out FOLDER [--steps 400] [--pairs 40000]``
"""

import argparse
import json
import logging
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch.utils.data import Dataset

from benchmark.demo.noise import Pair
from benchmark.demo.training.clip import ClipTraining, evaluate, train
from benchmark.demo.training.data import Pairs

# Curation I of section 6.2, but for its images with text: here all of those have captions that repeat it.
ARMS = ("random", "no_text", "parrots")


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


def arm_pairs(arm: str, samples: int, seed: int) -> Dataset[Pair]:
    """Return `samples` pairs of one of `ARMS`: as the pool mixes them, without text, or parrots alone."""
    if arm == "no_text":
        return NoText(samples, seed)
    return Pairs("clip", samples, seed, shares={"parrot": 1.0} if arm == "parrots" else None)


def train_arm(arm: str, out: Path, config: ClipTraining, device: torch.device) -> None:
    """Train one CLIP into `out`, in open_clip's `local-dir:` format; tokenizer and recipe are every arm's."""
    train(out, config, device, arm_pairs(arm, config.pairs, config.recipe.seed))


def main() -> None:
    """Train the named arms on one thread, and print what each makes of held-out pairs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.demo.training.parrots", description=main.__doc__
    )
    parser.add_argument("arms", nargs="+", choices=ARMS)
    parser.add_argument("--out", type=Path, required=True, help="folder of the models' folders")
    parser.add_argument("--steps", type=int, default=400, help="of the optimiser")
    parser.add_argument("--batch", type=int, default=192, help="pairs of a step")
    parser.add_argument("--pairs", type=int, default=40_000, help="that the steps go through again and again")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%X")
    torch.set_num_threads(1)
    recipe = replace(
        ClipTraining().recipe, steps=arguments.steps, batch=arguments.batch, seed=arguments.seed, workers=0
    )
    config = replace(ClipTraining(), pairs=arguments.pairs, recipe=recipe)
    for arm in arguments.arms:
        folder = arguments.out / f"{arm}-{arguments.seed}"
        folder.mkdir(parents=True, exist_ok=True)
        train_arm(arm, folder, config, torch.device("cpu"))
        figures = evaluate(folder, 500, arguments.seed)
        sys.stdout.write(f"{folder}: {json.dumps(figures)}\n")


if __name__ == "__main__":
    main()
