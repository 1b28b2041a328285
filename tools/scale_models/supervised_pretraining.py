"""Supervised pre-training of the image models: multi-label classification of the tags of scenes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from pairsift.demo.world import Scene
from tools.scale_models.data import HELD_OUT, Image, Scenes
from tools.scale_models.export import save_transformers
from tools.scale_models.loop import Recipe, Tensors, fit, seeded, shuffled
from tools.scale_models.scene_tags import one_hot, r_precision, tag_counts


@dataclass(frozen=True)
class TagCollator:
    """Collates samples into a batch of the processor's `pixel_values` and multi-hot `labels`."""

    processor: Any
    index: dict[str, int]

    def __call__(self, samples: Sequence[tuple[Image, Scene]]) -> Tensors:
        """Return `pixel_values` (n, 3, height, width) and `labels` (n, tags)."""
        pixels = self.processor([image for image, _ in samples], return_tensors="pt")["pixel_values"]
        return {"pixel_values": pixels, "labels": torch.stack([one_hot(s, self.index) for _, s in samples])}


def pretrain(
    build: Any, config: Any, processor: Any, out: Path, scenes: Scenes, recipe: Recipe, device: torch.device
) -> None:
    """Train an image classifier on the tags of `scenes`, and write model and processor to `out`.

    Args:
        build: transformers class for image classification.
        config: transformers config of the model; labels and problem type are set here.
        processor: image processor.
        out: folder to write.
        scenes: training scenes.
        recipe: hyperparameters; the loss is binary cross-entropy, summed over tags.
        device: device to train on.
    """
    counted = min(20_000, len(scenes))
    counts = tag_counts(scenes.scene(i) for i in range(counted))
    config.id2label = dict(enumerate(counts))
    config.label2id = {tag: i for i, tag in config.id2label.items()}
    config.problem_type = "multi_label_classification"
    with seeded(recipe.seed):
        model = build(config)
        # Most tags are rare: initial biases at their frequencies save the steps that would only learn these.
        frequency = torch.tensor(list(counts.values())) / counted
        model.classifier.bias.data.copy_(frequency.logit())
        pixels, labels = rendered(scenes, TagCollator(processor, config.label2id), recipe.workers)
        batches = (
            {"pixel_values": pixels[rows].float(), "labels": labels[rows].float()}
            for rows in shuffled(len(scenes), recipe)
        )
        fit(model, batches, lambda batch: model(**batch).loss * len(counts), recipe, device)
    save_transformers(model, out)
    processor.save_pretrained(out)


def rendered(scenes: Scenes, collate: TagCollator, workers: int) -> tuple[Tensor, Tensor]:
    """Return all images (n, 3, height, width; float16) and labels (n, tags; bool).

    They are kept in memory, because rendering takes as long as training.
    """
    loader = DataLoader(scenes, 500, num_workers=workers, collate_fn=collate)
    batches = [(batch["pixel_values"].half(), batch["labels"].bool()) for batch in loader]
    return torch.cat([pixels for pixels, _ in batches]), torch.cat([labels for _, labels in batches])


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return, per family of tags, the R-precision of the classifier in `folder` on held-out scenes."""
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    model = AutoModelForImageClassification.from_pretrained(folder, local_files_only=True)
    processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
    collate = TagCollator(processor, model.config.label2id)
    scores: list[Tensor] = []
    targets: list[Tensor] = []
    for batch in DataLoader(Scenes(samples, seed, HELD_OUT), 256, collate_fn=collate):
        scores.append(model(batch["pixel_values"]).logits)
        targets.append(batch["labels"])
    names = list(model.config.label2id)
    return r_precision(torch.cat(scores), torch.cat(targets), names)
