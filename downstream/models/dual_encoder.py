"""The dual encoder: ViT + BERT under InfoNCE; and its base, of all models that embed pairs.

The ViT is locked as in LiT (ICC paper, section 3.1; Zhai et al. 2022), or trained too (DS-CLIP, supplement, B).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from safetensors.numpy import load_file, save_file

from benchmark.core.batch import Sample
from benchmark.core.distributed import make_accelerator
from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.progress import MetricLogger
from benchmark.core.ranges import PositiveInt
from benchmark.models.checkpoints import load_image_processor, load_model, load_pretrained, text_limit
from downstream.batching import chunks, pixel_batches, pixel_levels, to_pixels, width_multiple
from downstream.evaluation.embedding import evaluate_embeddings
from downstream.evaluation.protocols import LOCKED, Evaluated, FrozenTower, Sets
from downstream.metrics.base import CaptionMetric
from downstream.models.base import Checkpoint, Downstream, model_folder, seeded
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import SampleOrder, Samples, SampleStream, TrainingData, TrainingSubset

if TYPE_CHECKING:
    import torch

    from downstream.models.networks import ImageAugmentation, PairCollate, PairNetwork, TwoTowers

log = logging.getLogger(__name__)
Vectors = npt.NDArray[np.float32]


class PairEncoder(Downstream):
    """A model that embeds images and texts into one space; `build` and `load` set its network and what it reads.

    Attributes:
        augment: changes training images; None for none.
        cache_images: whether a frozen image tower (`PairNetwork.locked`) embeds each image once instead of once per
            epoch; the losses are the same. The images of a stream are embedded each time.
    """

    model: PairNetwork
    collate: PairCollate
    augment: ImageAugmentation | None = None
    cache_images = True

    def __init__(self, training: TrainConfig, eval_batch_size: int) -> None:
        if training.batch_size < 2:
            raise UserError(
                f"downstream.{self.name}.training.batch_size must be at least 2: the loss compares pairs of a batch"
            )
        self.training = training
        self.eval_batch_size = eval_batch_size

    def try_out(self, pairs: Sequence[Sample], device: torch.device) -> None:
        """Compute the loss of the pairs."""
        self.build(device)
        with self.inference():
            self.model(self.collate(pairs))

    def fit(
        self, subset: TrainingSubset, folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train on `subset` for the budget."""
        if 0 < len(subset) < self.training.batch_size:
            log.warning(
                "%s: batches of %s hold some of the %s pairs more than once, and the loss takes copies for others",
                self.name,
                f"{self.training.batch_size:,}",
                f"{len(subset):,}",
            )
        order = SampleOrder(subset.epochs, self.training.seed)
        source = self._source(subset, order, folder / "embeddings" / fingerprint)
        weights = self.model.caption_weights = (1.0, *subset.caption_weights)
        multiple = width_multiple(self.device, self.collate.max_tokens)
        collate = replace(self.collate, kinds=len(weights), width_multiple=multiple)
        decodes, draws = source is subset, not subset.caption_weights
        levels = pixel_levels(partial(to_pixels, self.collate.processor), self.device)
        data = TrainingData(source, order, collate, self.augment, decodes, draws, levels)
        trainer = Trainer(self.name, self.training, self.device, tracker, validate=self.validate)
        return trainer.fit(self.model, data, folder / "checkpoints", fingerprint)

    def _source(
        self, subset: TrainingSubset, order: SampleOrder, folder: Path
    ) -> Samples[Any] | SampleStream[Any]:
        """Return `subset`, with its images embedded into `folder` by a frozen tower."""
        from downstream.training.embedded_subset import embed_subset

        frozen = self.model.locked and self.cache_images and self.augment is None
        if isinstance(subset, SampleStream) or not (frozen and len(subset)):
            return subset
        self.device = make_accelerator(self.device).device
        self.model.to(self.device).eval()
        drawn = np.unique(order.indices(0, self.training.samples_seen))
        pixels, workers = partial(to_pixels, self.collate.processor), self.training.workers_on(self.device)
        return embed_subset(
            subset, drawn, folder, self.image_features, pixels, self.eval_batch_size, workers, self.device
        )

    def image_features(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the image tower's features of `pixels`, (n, width), before any head."""
        with self.inference():
            features: torch.Tensor = self.model.image_features(pixels)
        return features

    def embed_images(self, images: Iterable[Image.Image]) -> Vectors:
        """Return the unit vectors of RGB `images`, float32 (n, d)."""
        self.model.eval()
        vectors = []
        preprocess = partial(to_pixels, self.collate.processor)
        for pixels in pixel_batches(images, preprocess, self.eval_batch_size, self.device):
            features = self.image_features(pixels)
            with self.inference():
                vectors.append(self.model.embed_images(features))
        return self._stack(vectors)

    def embed_texts(self, texts: Iterable[str]) -> Vectors:
        """Return the unit vectors of `texts`, float32 (n, d)."""
        self.model.eval()
        vectors = []
        for chunk in chunks(texts, self.eval_batch_size):
            tokens = {name: ids.to(self.device) for name, ids in self.collate.tokens(chunk).items()}
            with self.inference():
                vectors.append(self.model.embed_texts(**tokens))
        return self._stack(vectors)

    def _stack(self, vectors: list[torch.Tensor]) -> Vectors:
        empty = np.empty((0, self.model.dimensions), np.float32)
        return np.concatenate([empty, *(vector.float().cpu().numpy() for vector in vectors)])

    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Evaluate on every set for retrieval, then on every classification set; keep the ranks in `folder`."""
        self.model.eval()
        tower = FrozenTower(
            features=self.image_features,
            width=self.model.width,
            processor=self.collate.processor,
            batch_size=self.eval_batch_size,
            device=self.device,
            seed=self.training.seed,
            workers=self.training.workers_on(self.device),
        )
        return evaluate_embeddings(self, sets, LOCKED if self.model.locked else tower, folder)


@dataclass(frozen=True)
class Unlocked:
    """Settings of training without a locked image tower (DS-CLIP, supplement, section B).

    Args:
        projection: width of the shared space, into which each tower has a linear head.
        pretrained: whether the image tower starts from its checkpoint; False takes only its architecture.
        augment: whether training images are augmented, see `ds_clip_changes`.
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
        cache_images: see `PairEncoder`.
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
        self.image_encoder = Checkpoint(image_encoder, "models.dual_encoder.image")
        self.text_encoder = Checkpoint(text_encoder, "models.dual_encoder.text")
        self.locked = locked
        self.cache_images = cache_images
        self.max_tokens = max_tokens
        self.unlocked = unlocked

    def build(self, device: torch.device) -> None:
        """Load both towers; the heads, and an image tower that is not pretrained, are drawn from the seed."""
        pretrained = self.locked or self.unlocked.pretrained
        self._assemble(self.image_encoder, self.text_encoder, pretrained, self.unlocked.projection, device)

    def _assemble(
        self, image: Checkpoint, text: Checkpoint, pretrained: bool, projection: int, device: torch.device
    ) -> None:
        from transformers import MODEL_MAPPING, AutoModel

        from downstream.models.networks import ImageAugmentation, PairCollate, TwoTowers, ds_clip_changes

        need = "an encoder whose first token stands for the text; choose a BERT or RoBERTa"
        text.config_of(MODEL_MAPPING, "add_pooling_layer", need)
        processor = load_image_processor(image.name)
        tokenizer = load_pretrained("AutoTokenizer", text.name)
        if tokenizer.pad_token_id is None:
            raise UserError(
                f'{text}: its tokenizer has no padding token; name one as "pad_token" in its tokenizer_config.json'
            )
        # Both towers output their class token's state: a pooler would be an untrained layer.
        with seeded(self.training.seed):
            if pretrained:
                image_tower = load_model(AutoModel, image.name, add_pooling_layer=False)
            else:
                config = load_pretrained("AutoConfig", image.name)
                image_tower = AutoModel.from_config(config, add_pooling_layer=False)
            image.check_images(processor, image_tower)
            text_tower = load_model(AutoModel, text.name, add_pooling_layer=False)
            self.model = TwoTowers(image_tower, text_tower, self.locked, projection).to(device)
        limit = min(self.max_tokens, text_limit(tokenizer, text_tower, text))
        self.collate = PairCollate(processor, tokenizer, limit)
        augmented, size = not self.locked and self.unlocked.augment, image_tower.config.image_size
        self.augment = ImageAugmentation(ds_clip_changes(size)) if augmented else None
        self.device = device

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
        image, text = (Checkpoint(str(path / part)) for part in ("image", "text"))
        self._assemble(image, text, True, projection, device)
        for name, head in self._heads().items():
            head.copy_(head.new_tensor(saved[name]))

    def _heads(self) -> dict[str, torch.Tensor]:
        towers = ("image_tower.", "text_tower.")
        return {name: p.data for name, p in self.model.named_parameters() if not name.startswith(towers)}
