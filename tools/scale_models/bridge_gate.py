"""``python -m tools.scale_models.bridge_gate``: does SBA's language model read its input vector?

Trains SBA's bridge as the demo's ICC build does and reconstructs held-out descriptions. The margin measures how much
nearer a caption's beams are to it than the beams of another caption. The last line on stdout says whether the margin
suffices.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from benchmark.core.devices import resolve_device
from filters.icc.autoencoder import Beams
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.similarity import EditSimilarity
from pairsift.studies.icc.building.bridge_training import train_bridge
from tools.demo_world.mix import CLEAN
from tools.scale_models.data import HELD_OUT, captions
from tools.scale_models.export import MODELS

log = logging.getLogger(__name__)

GATE = 0.2  # minimum margin of a language model that reads the vector
ICC_CONFIG = MODELS.parents[2] / "conf" / "icc" / "demo.yaml"


def margin(texts: Sequence[str], beams: Sequence[Beams]) -> float:
    """Return the mean similarity of captions to their best beams, minus the same for the next caption's beams."""
    measure = EditSimilarity()
    return float(np.mean(measure.best(texts, beams) - measure.best(texts, [*beams[1:], *beams[:1]])))


def descriptions(draw: str, count: int) -> list[str]:
    """Return at most `count` distinct held-out descriptions of `draw`, in random order."""
    return list(dict.fromkeys(captions(draw, 2 * count, 0, HELD_OUT, mix=CLEAN)))[:count]


def reconstruct(
    texts: Sequence[str], models: Path, device: torch.device, training: int | None
) -> list[Beams]:
    """Return the beams of `texts` by an SBA with a bridge trained as in the demo's ICC build, on other captions.

    Args:
        texts: captions to reconstruct.
        models: folder of the models `clip` and `llama`.
        device: device of the training and the reconstruction.
        training: number of captions to train the bridge on; the build's number by default.
    """
    config = OmegaConf.load(ICC_CONFIG)
    others = [text for text in dict.fromkeys(instantiate(config.captions)) if text not in set(texts)]
    others = others[: training or config.training_captions]
    clip = {"model": f"local-dir:{models / 'clip'}", "pretrained": None}
    frozen, recipe = FrozenParts(clip, str(models / "llama")), instantiate(config.bridge)
    with tempfile.TemporaryDirectory() as bridge:
        log.info(
            "bridge: %s", train_bridge(others, frozen, recipe, config.bridge_max_tokens, Path(bridge), device)
        )
        autoencoder = SemanticBottleneck(frozen, bridge)
        autoencoder.setup(device)
        return autoencoder.reconstruct(texts)


def main() -> None:
    """Train the bridge, reconstruct held-out descriptions, and print their margin."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.scale_models.bridge_gate", description=main.__doc__
    )
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of `clip` and `llama`")
    parser.add_argument("--training", type=int, help="captions of the bridge, by default those of the build")
    parser.add_argument("--descriptions", type=int, default=300, help="number of reconstructed descriptions")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    texts = descriptions(OmegaConf.load(ICC_CONFIG).captions.draw, arguments.descriptions)
    beams = reconstruct(texts, arguments.models, resolve_device(arguments.device), arguments.training)
    for text, best in list(zip(texts, beams, strict=True))[:5]:
        log.info("%r is reconstructed as %r", text, best[0])
    value = margin(texts, beams)
    sys.stdout.write(f"margin {value:.3f}, gate {GATE}: {'passed' if value >= GATE else 'missed'}\n")


if __name__ == "__main__":
    main()
