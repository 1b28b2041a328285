"""The captioner: a vision encoder and a language model joined by new cross-attention (ICC paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.core.batch import Sample
from benchmark.core.progress import MetricLogger
from benchmark.core.ranges import NonNegativeFloat, PositiveInt, checked
from benchmark.models.checkpoints import (
    load_image_processor,
    load_model,
    load_pretrained,
    quiet_transformers,
    text_limit,
)
from downstream.batching import pixel_levels, to_pixels, width_multiple
from downstream.models.base import CaptioningModel, Checkpoint, model_folder, seeded, start_and_end
from downstream.models.timm_encoder import TIMM, as_positions, load_encoder, timm_processor
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import SampleOrder, TrainingData, TrainingSubset

if TYPE_CHECKING:
    import torch

CROSS_ATTENTION = ("crossattention", "ln_cross_attn")  # new weights, which no language model has


@checked
class Captioner(CaptioningModel):
    """Swin + GPT-2 as one `VisionEncoderDecoderModel`.

    Args:
        encoder: hub name or folder of a vision model with its image processor, or of any timm model.
        decoder: hub name or folder of a causal language model with its tokenizer.
        max_tokens: length at which training captions are cut, unless the decoder's own limit is smaller.
        encoder_lr_ratio: the encoder's learning rate, relative to that of the decoder.
    """

    name = "captioner"

    def __init__(
        self,
        encoder: str,
        decoder: str,
        training: TrainConfig,
        max_tokens: PositiveInt,
        beams: PositiveInt,
        max_new_tokens: PositiveInt,
        eval_batch_size: PositiveInt,
        encoder_lr_ratio: NonNegativeFloat = 1.0,
    ) -> None:
        self.encoder_lr_ratio = encoder_lr_ratio
        self.encoder = Checkpoint(encoder, "models.captioner.encoder")
        self.decoder = Checkpoint(decoder, "models.captioner.decoder")
        self.training = training
        self.max_tokens = max_tokens
        self.beams = beams
        self.max_new_tokens = max_new_tokens
        self.eval_batch_size = eval_batch_size

    def build(self, device: torch.device) -> None:
        """Join encoder and decoder; cross-attention (and a projection, if widths differ) is drawn from the seed."""
        from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, VisionEncoderDecoderModel

        self.processor = load_image_processor(self.encoder.name)
        self.tokenizer = load_pretrained("AutoTokenizer", self.decoder.name)
        # Not from_encoder_decoder_pretrained: it reads attributes that GPT-2's config lacks.
        need = "a language model with cross-attention to see the image; choose a GPT-2, BERT or RoBERTa"
        config = self.decoder.config_of(MODEL_FOR_CAUSAL_LM_MAPPING, "encoder_hidden_states", need)
        config.is_decoder = True
        config.add_cross_attention = True
        with seeded(self.training.seed):
            encoder = load_encoder(self.encoder.name)
            self.encoder.check_images(self.processor, encoder)
            decoder = load_model("AutoModelForCausalLM", self.decoder.name, CROSS_ATTENTION, config=config)
            self.model = VisionEncoderDecoderModel(encoder=encoder, decoder=decoder)
        self._finish(device)

    def try_out(self, pairs: Sequence[Sample], device: torch.device) -> None:
        """Compute the loss of the pairs, and write a caption of two tokens."""
        from downstream.models.networks import CaptionLoss

        self.build(device)
        with self.inference():
            CaptionLoss(self.model)(self.collate(pairs))
        self.model.generation_config.max_new_tokens = 2
        self.caption([pairs[0].image])

    def _finish(self, device: torch.device) -> None:
        """Set start, end and padding tokens and the beam search in the configs that transformers reads."""
        from downstream.models.networks import CaptionCollate

        start, end = start_and_end(self.tokenizer)
        for config in (self.model.config, self.model.generation_config):
            config.decoder_start_token_id = config.bos_token_id = start
            config.eos_token_id = config.pad_token_id = end
        self.model.config.vocab_size = self.model.config.decoder.vocab_size
        self.model.generation_config.num_beams = self.beams
        limit = text_limit(self.tokenizer, self.model.decoder, self.decoder)
        self.collate = CaptionCollate(self.processor, self.tokenizer, min(self.max_tokens, limit))
        self.model.generation_config.max_new_tokens = min(self.max_new_tokens, limit - 1)
        self.model.generation_config.do_sample = False
        self.model.to(device)
        self.device = device

    def fit(
        self, subset: TrainingSubset, folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train on `subset` for the budget."""
        from downstream.models.networks import CaptionLoss

        multiple = width_multiple(self.device, self.collate.max_tokens)
        collate = replace(self.collate, width_multiple=multiple)
        levels = pixel_levels(partial(to_pixels, self.processor), self.device)
        data = TrainingData(subset, SampleOrder(subset.epochs, self.training.seed), collate, levels=levels)
        ratios = {"model.encoder.": self.encoder_lr_ratio}
        trainer = Trainer(self.name, self.training, self.device, tracker, ratios, self.validate)
        return trainer.fit(CaptionLoss(self.model), data, folder / "checkpoints", fingerprint)

    def generate(self, pixels: torch.Tensor) -> Any:
        """Return the token ids of a caption per image, (n, t), by beam search."""
        with quiet_transformers():  # it asks for an attention mask, but every prompt is just the start token
            return self.model.generate(pixel_values=pixels)

    def save(self, path: Path) -> None:
        """Write model, image processor and tokenizer to `path`, as transformers loads and runs them.

        The processor of a timm encoder is part of the model's config, where only `load` finds it.
        """
        for part in (self.model, self.processor, self.tokenizer):
            part.save_pretrained(path)

    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` or `train` wrote to `path`, or any `VisionEncoderDecoderModel`."""
        name = str(model_folder(path))
        self.tokenizer = load_pretrained("AutoTokenizer", name)
        self.model = load_model("VisionEncoderDecoderModel", name)
        encoder = self.model.config.encoder
        if encoder.model_type == TIMM:
            as_positions(self.model.encoder)
            self.processor = timm_processor(encoder.pretrained_cfg, encoder.architecture)
        else:
            self.processor = load_image_processor(name)
        self._finish(device)
