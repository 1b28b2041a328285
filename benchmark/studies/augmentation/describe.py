"""Image to text: a vision-language model describes pictures (DS-CLIP, appendix A, Figure 1)."""

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from benchmark.core.batch import Sample
from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers, revision
from benchmark.studies.augmentation.base import Augmenter, first_words
from downstream.models.base import load_pretrained
from filters.icc.vba import ImageCaptioner


class Describe(Augmenter):
    """A chat model that sees images (LLaVA), or a captioner without a chat template (BLIP, BLIP-2).

    Args:
        checkpoint: hub name or folder with its processor.
        prompt: what a chat model is asked; a captioner is asked nothing.
        max_new_tokens: where the answer of a chat model is cut if it does not end.
        batch_size: images described at once.
    """

    def __init__(self, checkpoint: str, prompt: str, max_new_tokens: int = 128, batch_size: int = 32) -> None:
        self.checkpoint = checkpoint
        self.prompt = prompt
        self.max_new_tokens = max_new_tokens
        self._batch_size = batch_size
        self._model: Any = None
        self._processor: Any = None
        self._captioner: ImageCaptioner | None = None

    def identity(self) -> dict[str, Any]:
        """Add the checkpoint's revision."""
        return super().identity() | {"revision": revision(locate_checkpoint(self.checkpoint))}

    def setup(self, device: torch.device) -> None:
        """Load model and processor. Raises `UserError` when they cannot be had, or are others."""
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self._processor = load_pretrained(AutoProcessor, self.checkpoint)
        if not getattr(self._processor, "chat_template", None):
            self._captioner = ImageCaptioner(self.checkpoint)
            self._captioner.setup(device)
            return
        self._processor.tokenizer.padding_side = "left"  # what is written follows its prompt
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        model = load_pretrained(AutoModelForImageTextToText, self.checkpoint, dtype=dtype)
        self._model = model.to(device).eval()

    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one description a sample."""
        written: list[str] = []
        for start in range(0, len(samples), self._batch_size):
            images = [sample.image for sample in samples[start : start + self._batch_size]]
            written += map(first_words, self._describe(images))
        return written

    def _describe(self, images: list[Image.Image]) -> list[str]:
        if self._captioner is not None:
            return [beams[0] for beams in self._captioner.caption(images)]
        return self._answer(images)

    @torch.inference_mode()
    def _answer(self, images: list[Image.Image]) -> list[str]:
        asked = {"type": "text", "text": self.prompt}
        inputs = self._processor.apply_chat_template(
            [[{"role": "user", "content": [{"type": "image", "image": image}, asked]}] for image in images],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(self._model.device, self._model.dtype)
        with quiet_transformers():
            ids = self._model.generate(
                **inputs,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                max_new_tokens=self.max_new_tokens,
            )
        answers = ids[:, inputs["input_ids"].shape[1] :]
        return list(self._processor.batch_decode(answers, skip_special_tokens=True))
