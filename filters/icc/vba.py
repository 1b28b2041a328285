"""The visual-bottleneck autoencoder: caption to image to caption (ICC paper, section 2, appendix A.7 and A.8)."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from benchmark.core.devices import Device, default_dtype
from benchmark.core.extras import require
from benchmark.models.checkpoints import (
    FromCheckpoint,
    load_model,
    load_pretrained,
    locate_checkpoint,
    quiet_transformers,
)
from filters.icc.autoencoder import Autoencoder, Beams, caption_seed, one_line

if TYPE_CHECKING:
    import torch


class TextToImage(FromCheckpoint):
    """A diffusion pipeline, sampled with DPM-Solver++ multistep.

    Args:
        checkpoint: hub name or folder in diffusers' format.
        steps: sampling steps; 20 in the paper.
        guidance: scale of classifier-free guidance; 9 in the paper.
    """

    def __init__(self, checkpoint: str, steps: int = 20, guidance: float = 9.0) -> None:
        require("diffusion")
        self.checkpoint = checkpoint
        self.steps = steps
        self.guidance = guidance
        self._pipeline: Any = None

    def setup(self, device: Device) -> None:
        """Load the pipeline: bf16 on a GPU that computes it."""
        from diffusers import AutoPipelineForText2Image, DPMSolverMultistepScheduler

        dtype = default_dtype(device)
        with quiet_transformers("diffusers"):
            pipeline = load_pretrained(
                AutoPipelineForText2Image,
                self.checkpoint,
                dtype=dtype,
                safety_checker=None,  # it would blacken some images
                requires_safety_checker=False,
                use_safetensors=True,
                **_networks(locate_checkpoint(self.checkpoint), dtype),
            )
            pipeline.scheduler = DPMSolverMultistepScheduler.from_config(
                pipeline.scheduler.config, algorithm_type="dpmsolver++"
            )
        pipeline.set_progress_bar_config(disable=True)
        self._pipeline = pipeline.to(device)

    def generate(self, captions: Sequence[str], seeds: Sequence[int]) -> list[Image.Image]:
        """Return one image per caption, at the model's own size; the noise depends only on the seed."""
        import torch

        # Noise from CPU generators is the same on every device.
        noise = [torch.Generator().manual_seed(seed) for seed in seeds]
        with quiet_transformers("diffusers"):
            images: list[Image.Image] = self._pipeline(
                list(captions), num_inference_steps=self.steps, guidance_scale=self.guidance, generator=noise
            ).images
        return images


def _networks(folder: Path, dtype: torch.dtype) -> dict[str, Any]:
    """Load the networks of a diffusion pipeline by name: its own loader would leave missing weights at random."""
    parts = json.loads((folder / "model_index.json").read_text("utf-8"))
    networks = {}
    for name, (library, kind) in ((n, part) for n, part in parts.items() if isinstance(part, list)):
        has_weights = any((folder / name).glob("*.safetensors"))
        if has_weights and library in ("diffusers", "transformers") and name != "safety_checker":
            auto_class = getattr(importlib.import_module(library), kind)
            networks[name] = load_model(auto_class, str(folder / name), dtype=dtype, use_safetensors=True)
    return networks


class ImageCaptioner(FromCheckpoint):
    """BLIP-2, or BLIP base or large, decoding with beams.

    Args:
        checkpoint: hub name or folder of a BLIP or BLIP-2 captioner.
        prompt: beginning of every caption, which is removed from the output.
        beams: number of beams.
        max_new_tokens: maximum length of a caption.
        returned: number of captions of an image, best first: 1 in the authors' code. None for all beams.
    """

    def __init__(
        self,
        checkpoint: str,
        prompt: str = "",
        beams: int = 5,
        max_new_tokens: int = 40,
        returned: int | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.prompt = prompt
        self.beams = beams
        self.max_new_tokens = max_new_tokens
        self._returned = returned
        self._model: Any = None
        self._processor: Any = None

    def identity(self) -> dict[str, Any]:
        """Name the checkpoint by its revision, and the number of captions if it is not that of the beams."""
        return super().identity() | ({"returned": self._returned} if self._returned else {})

    def setup(self, device: Device) -> None:
        """Load model and processor: bf16 on a GPU that computes it."""
        dtype = default_dtype(device)
        model = load_model("AutoModelForImageTextToText", self.checkpoint, dtype=dtype)
        self._processor = load_pretrained("AutoProcessor", self.checkpoint)
        self._model = model.to(device).eval()

    def caption(self, images: Sequence[Image.Image]) -> list[Beams]:
        """Return the beams of each image, best first."""
        count = self._returned or self.beams
        text = {"text": [self.prompt] * len(images)} if self.prompt else {}
        inputs = self._processor(images=list(images), return_tensors="pt", **text)
        inputs = inputs.to(self._model.device, self._model.dtype)
        with quiet_transformers():
            ids = self._model.generate(
                **inputs,
                do_sample=False,
                num_beams=self.beams,
                num_return_sequences=count,
                max_new_tokens=self.max_new_tokens,
            )
        prompt = one_line(self.prompt)
        captions = [
            one_line(text).removeprefix(prompt).strip()
            for text in self._processor.batch_decode(ids, skip_special_tokens=True)
        ]
        return [captions[start : start + count] for start in range(0, len(captions), count)]


class VisualBottleneck(Autoencoder):
    """Generates an image of each caption and captions the image.

    Args:
        text_to_image: generates the images.
        captioner: captions them.
        batch: number of captions per batch.
    """

    def __init__(self, text_to_image: TextToImage, captioner: ImageCaptioner, batch: int = 32) -> None:
        self.text_to_image = text_to_image
        self.captioner = captioner
        self._batch = batch

    def setup(self, device: Device) -> None:
        """Load both models."""
        self.text_to_image.setup(device)
        self.captioner.setup(device)

    def reconstruct(self, captions: Sequence[str]) -> list[Beams]:
        """Return the captioner's beams for the image generated from each caption."""
        beams: list[Beams] = []
        for start in range(0, len(captions), self._batch):
            part = [one_line(caption) for caption in captions[start : start + self._batch]]
            images = self.text_to_image.generate(part, [caption_seed(caption) for caption in part])
            beams += self.captioner.caption(images)
        return beams
