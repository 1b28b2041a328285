"""Run by a test as its own process: two ranks train a bridge and a scorer. Usage: launched.py BASE FOLDER

The second rank is forked from the first, which has imported the libraries: that takes longer than to train.
"""

import json
import os
import socket
import sys
from pathlib import Path

import numpy as np
import open_clip  # noqa: F401, for both ranks, as the next line
import torch
from transformers import AutoTokenizer, LlamaForCausalLM, RobertaForSequenceClassification  # noqa: F401

from filters.icc.sba import FrozenParts
from pairsift.studies.icc.building.bridge_training import train_bridge
from pairsift.studies.icc.building.training import Recipe, distill
from tests.demos import demo_model

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
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ranks = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    rank = "0" if (other := os.fork()) else "1"
    os.environ.update(ranks, RANK=rank, LOCAL_RANK=rank)
    losses = train(sys.argv[1], Path(sys.argv[2]))
    if rank == "0":
        _, ended = os.waitpid(other, 0)
        print(json.dumps(losses))
        sys.exit(os.waitstatus_to_exitcode(ended))
