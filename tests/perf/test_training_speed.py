"""Training in groups of similar length against captions padded to the longest of the batch, on the scale models."""

import time
from statistics import median

import pytest
import torch

from benchmark.config import demo_model
from benchmark.demo.training.data import HELD_OUT, captions
from downstream import batching
from downstream.models.captioner import CaptionCollate, Captioner, CaptionLoss
from downstream.training.trainer import TrainConfig

BATCH, STEPS = 100, 8

pytestmark = pytest.mark.perf


def seconds_a_step(loss: CaptionLoss, collate: CaptionCollate, texts: list[str]) -> float:
    pixels = torch.rand(BATCH, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    taken = []
    for start in range(0, len(texts), BATCH):
        ids, labels = collate.tokens(texts[start : start + BATCH])
        started = time.perf_counter()
        total, tokens = loss({"pixel_values": pixels, "decoder_input_ids": ids, "labels": labels})
        (total / tokens).backward()
        taken.append(time.perf_counter() - started)
    return median(taken)


def test_seconds_of_a_captioner_step(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = TrainConfig(samples_seen=BATCH, batch_size=BATCH, lr=1e-3)
    captioner = Captioner(demo_model("swin"), demo_model("gpt2"), recipe, 64, 3, 32, BATCH)
    captioner.build(torch.device("cpu"))
    loss = CaptionLoss(captioner.model).train()
    collate = CaptionCollate(captioner.processor, captioner.tokenizer, captioner.max_tokens)
    texts = captions("scorer", BATCH * STEPS, 0, HELD_OUT)
    grouped = seconds_a_step(loss, collate, texts)
    monkeypatch.setattr(batching, "CPU_GROUP", BATCH)
    padded = seconds_a_step(loss, collate, texts)
    print(f"\ncaptioner: {padded:.3f} s a step padded, {grouped:.3f} in groups, {grouped / padded:.2f} of it")
    assert grouped < 0.85 * padded
