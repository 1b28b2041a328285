"""Run by a test under torchrun: trains a bridge and a scorer. Usage: launched.py BASE FOLDER"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch

from benchmark.config import demo_model
from filters.icc.distill import distill
from filters.icc.sba import FrozenParts
from filters.icc.sba_training import train_bridge
from filters.icc.training import Recipe

CPU = torch.device("cpu")
CAPTIONS = [
    f"{thing} number {n}" for n in range(5) for thing in ("a red boat", "hope", "two trees and a dog")
]
RECIPE = Recipe(epochs=2, batch=4, lr=1e-2)  # 15 captions: the last batch of an epoch is not full


def train(base: str, folder: Path) -> dict[str, float]:
    """Return the last loss of each training."""
    frozen = FrozenParts(
        {"model": f"local-dir:{demo_model('clip')}", "pretrained": None}, demo_model("llama")
    )
    bridge = train_bridge(CAPTIONS, frozen, RECIPE, 128, folder / "bridge", CPU)
    targets = np.linspace(0, 1, len(CAPTIONS), dtype=np.float32)
    return {
        "bridge": bridge["loss"],
        "scorer": distill(CAPTIONS, targets, base, RECIPE, folder / "scorer", CPU)["loss"],
    }


if __name__ == "__main__":
    losses = train(sys.argv[1], Path(sys.argv[2]))
    if os.environ["RANK"] == "0":
        print(json.dumps(losses))
