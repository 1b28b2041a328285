"""Supervised pre-training of the image models on the tags of clean scenes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from benchmark.demo.training.data import HELD_OUT, Picture, Scenes
from benchmark.demo.training.export import save_transformers
from benchmark.demo.training.loop import Recipe, Tensors, fit, seeded, shuffled
from benchmark.demo.training.scene_tags import one_hot, r_precision, tag_counts
from benchmark.demo.world import Scene


@dataclass(frozen=True)
class Labelled:
    """Turns samples into a batch: the processor's `pixel_values` and one-hot `labels`."""

    processor: Any
    index: dict[str, int]

    def __call__(self, samples: Sequence[tuple[Picture, Scene]]) -> Tensors:
        """Return `pixel_values` (n, 3, height, width) and `labels` (n, tags)."""
        pixels = self.processor([picture for picture, _ in samples], return_tensors="pt")["pixel_values"]
        return {"pixel_values": pixels, "labels": torch.stack([one_hot(s, self.index) for _, s in samples])}


def pretrain(
    build: Any, config: Any, processor: Any, out: Path, scenes: Scenes, recipe: Recipe, device: torch.device
) -> None:
    """Train `build(config)` to name what clean `scenes` show, and write model and processor to `out`.

    `build` is a transformers class for image classification; the loss is its multi-label one, summed over tags.
    """
    counted = min(20_000, len(scenes))
    counts = tag_counts(scenes.scene(i) for i in range(counted))
    config.id2label = dict(enumerate(counts))
    config.label2id = {tag: i for i, tag in config.id2label.items()}
    config.problem_type = "multi_label_classification"
    with seeded(recipe.seed):
        model = build(config)
        # A tag is rare: starting at its frequency saves the steps that would only learn that.
        share = torch.tensor(list(counts.values())) / counted
        model.classifier.bias.data.copy_(share.logit())
        pixels, labels = rendered(scenes, Labelled(processor, config.label2id), recipe.workers)
        batches = (
            {"pixel_values": pixels[rows].float(), "labels": labels[rows].float()}
            for rows in shuffled(len(scenes), recipe)
        )
        fit(model, batches, lambda batch: model(**batch).loss * len(counts), recipe, device)
    save_transformers(model, out)
    processor.save_pretrained(out)


def rendered(scenes: Scenes, collate: Labelled, workers: int) -> tuple[Tensor, Tensor]:
    """Return all pictures, as the processor prepares them, and labels: drawing takes as long as learning."""
    loader = DataLoader(scenes, 500, num_workers=workers, collate_fn=collate)
    batches = [(batch["pixel_values"].half(), batch["labels"].bool()) for batch in loader]
    return torch.cat([pixels for pixels, _ in batches]), torch.cat([labels for _, labels in batches])


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return, per family of tags, the R-precision of the classifier in `folder` on held-out scenes."""
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    model = AutoModelForImageClassification.from_pretrained(folder, local_files_only=True)
    processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
    collate = Labelled(processor, model.config.label2id)
    scores: list[Tensor] = []
    targets: list[Tensor] = []
    for batch in DataLoader(Scenes(samples, seed, HELD_OUT), 256, collate_fn=collate):
        scores.append(model(batch["pixel_values"]).logits)
        targets.append(batch["labels"])
    names = list(model.config.label2id)
    return r_precision(torch.cat(scores), torch.cat(targets), names)
