"""Both models in bf16 on a GPU: they learn, and embed as on a CPU."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset, Recorder, draw

from downstream.captioner import Captioner
from downstream.dual_encoder import DualEncoder
from downstream.trainer import TrainConfig

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
IMAGES = [draw(caption) for caption in CAPTIONS]
TRAINING = TrainConfig(samples_seen=2400, batch_size=8, lr=3e-3, workers=2, log_every=1)


def test_captioner(checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path) -> None:
    captioner, tracker = Captioner(checkpoints.swin, checkpoints.gpt2, TRAINING, 16, 3, 12, 5), Recorder()
    captioner.train(eight_pairs, tmp_path, torch.device("cuda"), tracker, "f")
    assert tracker.losses()[-1] < 0.2 < tracker.losses()[0]
    assert captioner.caption(IMAGES) == CAPTIONS


def test_dual_encoder(checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path) -> None:
    encoder = DualEncoder(checkpoints.vit, checkpoints.bert, TRAINING, True, True, 16, 5, UNLOCKED)
    tracker = Recorder()
    encoder.train(eight_pairs, tmp_path, torch.device("cuda"), tracker, "f")
    assert tracker.losses()[-1] < 0.5 * tracker.losses()[0]
    on_gpu = encoder.embed_images(IMAGES)
    encoder.load(tmp_path, torch.device("cpu"))
    assert np.allclose(on_gpu, encoder.embed_images(IMAGES), atol=0.02)
