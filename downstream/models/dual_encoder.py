"""The dual encoder: ViT + BERT under InfoNCE.

The ViT is locked as in LiT (ICC paper, section 4; Zhai et al. 2022), or trained too (DS-CLIP, supplement, section B).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmark.core.batch import Sample
from benchmark.core.distributed import make_accelerator
from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.ranges import PositiveInt
from benchmark.models.checkpoints import load_model, load_pretrained
from downstream.batching import to_pixels
from downstream.evaluation.protocols import LOCKED, FrozenTower
from downstream.models.base import Checkpoint, model_folder, seeded
from downstream.models.pair_encoder import PairEncoder
from downstream.training.trainer import TrainConfig
from downstream.training.training_data import EpochSamples, SampleOrder, Samples

if TYPE_CHECKING:
    import torch

    from downstream.models.networks import ImageAugmentation, TwoTowers


@dataclass(frozen=True)
class Unlocked:
    """Settings of training without a locked image tower (DS-CLIP, supplement, section B).

    Args:
        projection: width of the shared space, into which each tower has a linear head.
        pretrained: whether the image tower starts from its checkpoint; False takes only its architecture.
        augment: whether training images are augmented, see `augment_image`.
    """

    projection: PositiveInt
    pretrained: bool
    augment: bool


class DualEncoder(PairEncoder):
    """ViT + BERT that embed images and texts into one space.

    Args:
        image_encoder: hub name or folder of a ViT with its image processor.
        text_encoder: hub name or folder of a BERT with its tokenizer.
        locked: whether the image tower is frozen (LiT); False trains both.
        cache_images: with a locked tower, embed each image once instead of once per epoch; the losses are the same.
        max_tokens: length at which texts are cut, unless the text tower's own limit is smaller.
        unlocked: settings that apply if the image tower is not locked.
    """

    name = "dual_encoder"
    workers_in_keys = 0
    model: TwoTowers

    def __init__(
        self,
        image_encoder: str,
        text_encoder: str,
        training: TrainConfig,
        locked: bool,
        cache_images: bool,
        max_tokens: PositiveInt,
        eval_batch_size: PositiveInt,
        unlocked: Unlocked,
    ) -> None:
        super().__init__(training, eval_batch_size)
        self.image_encoder = Checkpoint(image_encoder)
        self.text_encoder = Checkpoint(text_encoder)
        self.locked = locked
        self.cache_images = cache_images
        self.max_tokens = max_tokens
        self.unlocked = unlocked

    def build(self, device: torch.device) -> None:
        """Load both towers; the heads, and an image tower that is not pretrained, are drawn from the seed."""
        pretrained = self.locked or self.unlocked.pretrained
        names = self.image_encoder.name, self.text_encoder.name
        self._assemble(*names, pretrained, self.unlocked.projection, device)

    def _assemble(
        self, image_encoder: str, text_encoder: str, pretrained: bool, projection: int, device: torch.device
    ) -> None:
        from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoTokenizer

        from downstream.models.networks import PairCollate, TwoTowers

        processor = load_pretrained(AutoImageProcessor, image_encoder)
        tokenizer = load_pretrained(AutoTokenizer, text_encoder)
        # Both towers output their class token's state: a pooler would be an untrained layer.
        with seeded(self.training.seed):
            if pretrained:
                image_tower = load_model(AutoModel, image_encoder, add_pooling_layer=False)
            else:
                config = load_pretrained(AutoConfig, image_encoder)
                image_tower = AutoModel.from_config(config, add_pooling_layer=False)
            text_tower = load_model(AutoModel, text_encoder, add_pooling_layer=False)
            self.model = TwoTowers(image_tower, text_tower, self.locked, projection).to(device)
        limit = min(self.max_tokens, text_tower.config.max_position_embeddings)
        self.collate = PairCollate(processor, tokenizer, limit)
        self.device = device

    def augmentation(self) -> ImageAugmentation | None:
        """Return DS-CLIP's augmentation for an image tower that is trained."""
        from downstream.models.networks import ImageAugmentation

        if self.locked or not self.unlocked.augment:
            return None
        return ImageAugmentation(self.model.image_tower.config.image_size)

    def source(
        self, subset: EpochSamples[Sample], order: SampleOrder, folder: Path, fingerprint: str
    ) -> Samples[Any]:
        """Return `subset`, embedded by a locked tower."""
        from downstream.training.embedded_subset import embed_subset

        if not (self.locked and self.cache_images and len(subset)):
            return subset
        self.device = make_accelerator(self.device).device
        self.model.to(self.device).eval()
        drawn = np.unique(order.indices(0, self.training.samples_seen))
        return embed_subset(
            subset,
            drawn,
            folder / "embeddings" / fingerprint,
            self.image_features,
            partial(to_pixels, self.collate.processor),
            self.eval_batch_size,
            self.training.workers_on(self.device),
            self.device,
        )

    def probed_tower(self) -> FrozenTower | str:
        """Return the image tower for a linear probe; a locked one has none."""
        return LOCKED if self.locked else super().probed_tower()

    def save(self, path: Path) -> None:
        """Write ``image/`` and ``text/`` in the hub's format, the heads in ``heads.safetensors``."""
        self.model.image_tower.save_pretrained(path / "image")
        self.collate.processor.save_pretrained(path / "image")
        self.model.text_tower.save_pretrained(path / "text")
        self.collate.tokenizer.save_pretrained(path / "text")
        heads = {name: head.cpu().numpy() for name, head in self._heads().items()}
        save_file(heads, path / "heads.safetensors")
        write_text(path / "config.json", json.dumps({"locked": self.locked}))

    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` or `train` wrote to `path`."""
        path = model_folder(path)
        if not (path / "heads.safetensors").exists():
            raise UserError(f"{path} must be the folder of a dual encoder, but has no heads.safetensors")
        self.locked = json.loads((path / "config.json").read_text(encoding="utf-8"))["locked"]
        saved = load_file(path / "heads.safetensors")
        projection = len(saved["text_head.weight"])
        self._assemble(str(path / "image"), str(path / "text"), True, projection, device)
        for name, head in self._heads().items():
            head.copy_(head.new_tensor(saved[name]))

    def _heads(self) -> dict[str, torch.Tensor]:
        towers = ("image_tower.", "text_tower.")
        return {name: p.data for name, p in self.model.named_parameters() if not name.startswith(towers)}

    def working_folders(self, folder: Path) -> list[Path]:
        """Return checkpoints and cached embeddings (a gigabyte per 300,000 images)."""
        return [*super().working_folders(folder), folder / "embeddings"]
