"""The work of test_training_speed.py, in another module so that collecting tests does not wait for these imports."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import BertConfig, BertModel, Seq2SeqTrainer, Seq2SeqTrainingArguments, ViTConfig, ViTModel

from benchmark.core.batch import Sample
from benchmark.core.distributed import make_accelerator
from benchmark.results.trackers import NoTracker
from downstream.models.captioner import Captioner
from downstream.models.networks import CaptionCollate, CaptionLoss, TwoTowers
from downstream.training.stepper import Stepper, checkpoint_activations, make_optimizer
from downstream.training.trainer import TrainConfig
from downstream.training.training_data import SampleOrder, TrainingBatch
from pairsift.demo.settings import demo_model
from tools.scale_models.data import HELD_OUT, captions

BATCH, SIDE, TOKENS = 100, 128, 32
CPU = torch.device("cpu")


class Pairs:
    """Decoded images with captions of the demo."""

    def __init__(self, samples: int) -> None:
        rng = np.random.default_rng(0)
        self.images = [Image.fromarray(rng.integers(0, 255, (SIDE, SIDE, 3), np.uint8)) for _ in range(16)]
        self.texts = captions("scorer", samples, 0, HELD_OUT)
        self.epochs = (np.arange(samples),)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int, /) -> Sample:
        return Sample(f"{index:032x}", self.texts[index], self.images[index % 16])


def built(samples: int, checkpointing: bool = False) -> Captioner:
    torch.set_num_threads(1)
    recipe = TrainConfig(samples, batch_size=BATCH, lr=1e-3, workers=0, checkpointing=checkpointing)
    captioner = Captioner(demo_model("swin"), demo_model("gpt2"), recipe, 64, 3, 32, BATCH)
    captioner.build(CPU)
    return captioner


def collate_of(captioner: Captioner) -> CaptionCollate:
    return CaptionCollate(captioner.processor, captioner.tokenizer, captioner.max_tokens)


def train(samples: int, checkpointing: bool = False) -> None:
    """Train the scale captioner."""
    captioner, pairs = built(samples, checkpointing), Pairs(samples)
    with tempfile.TemporaryDirectory() as folder:
        captioner.fit(pairs, Path(folder), NoTracker(), "f")


def train_with_transformers(samples: int) -> None:
    """Do so with the trainer of transformers, which pads captions to the longest of a batch."""
    captioner, pairs = built(samples), Pairs(samples)
    with tempfile.TemporaryDirectory() as folder:
        arguments = Seq2SeqTrainingArguments(
            folder,
            per_device_train_batch_size=BATCH,
            max_steps=samples // BATCH,
            learning_rate=1e-3,
            lr_scheduler_type="cosine",
            warmup_steps=max(1, round(0.03 * samples / BATCH)),
            remove_unused_columns=False,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        Seq2SeqTrainer(
            captioner.model, arguments, data_collator=collate_of(captioner), train_dataset=pairs
        ).train()  # type: ignore[arg-type]


def batches(pairs: Pairs, collate: CaptionCollate) -> Iterator[dict[str, Any]]:
    """Yield the batches that `train` reads, all with the pixels of one of them."""
    pixels = collate([pairs[index] for index in range(BATCH)])["pixel_values"]
    order = SampleOrder(pairs.epochs, seed=0)
    for start in range(0, len(pairs), BATCH):
        ids, labels = collate.tokens([pairs.texts[i] for i in order.indices(start, start + BATCH)])
        yield {"pixel_values": pixels, "decoder_input_ids": ids, "labels": labels}


def model_alone(samples: int) -> None:
    """Do the forward and backward passes of the same training, and nothing else."""
    captioner, pairs = built(samples), Pairs(samples)
    loss = CaptionLoss(captioner.model).train()
    for inputs in batches(pairs, collate_of(captioner)):
        total, tokens = loss(inputs)
        (total / tokens).backward()
        loss.zero_grad()


def contrastive_step(pairs: int, micro_batch: int | None, checkpointing: bool = False) -> None:
    """Take a step of a locked dual encoder with a BERT of four layers, on cached embeddings of images."""
    torch.set_num_threads(1)
    text_tower = BertModel(
        BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, vocab_size=512)
    )
    model = TwoTowers(ViTModel(ViTConfig(hidden_size=64, num_hidden_layers=1)), text_tower, True, 64).train()
    if checkpointing:
        checkpoint_activations(model, "dual_encoder")
    optimizer = make_optimizer(model, "adamw", 1e-3, 0.0)
    stepper = Stepper(make_accelerator(CPU), model, optimizer, 1.0, 0, "fp32", micro_batch)
    inputs = {
        "image_features": torch.rand(pairs, 64),
        "input_ids": torch.randint(512, (pairs, 1, TOKENS)),
        "attention_mask": torch.ones(pairs, 1, TOKENS, dtype=torch.long),
    }
    stepper.step(0, 1e-3, TrainingBatch(inputs, pairs, {}))
