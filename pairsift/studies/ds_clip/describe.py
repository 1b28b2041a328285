"""Image to text: a vision-language model describes images (DS-CLIP, appendix A, Figure 1)."""

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from benchmark.core.batch import Sample
from benchmark.core.devices import default_dtype
from benchmark.core.ranges import PositiveInt
from benchmark.models.checkpoints import FromCheckpoint, decode_greedily, load_model, load_pretrained
from filters.icc.vba import ImageCaptioner
from pairsift.studies.ds_clip.caption_writer import Augmenter, first_words


class Describe(FromCheckpoint, Augmenter):
    """Describes images with a vision-language chat model (LLaVA), or with a captioner (BLIP, BLIP-2).

    A checkpoint without a chat template is used as a captioner.

    Args:
        checkpoint: hub name or folder of a model with its processor.
        prompt: the user message for a chat model; a captioner gets no prompt.
    """

    def __init__(
        self, checkpoint: str, prompt: str, max_new_tokens: PositiveInt = 128, batch_size: PositiveInt = 32
    ) -> None:
        self.checkpoint = checkpoint
        self.prompt = prompt
        self.max_new_tokens = max_new_tokens
        self._batch_size = batch_size
        self._model: Any = None
        self._processor: Any = None
        self._captioner: ImageCaptioner | None = None

    def setup(self, device: torch.device) -> None:
        """Load model and processor. Raises `UserError` if the checkpoint is missing or of another model type."""
        self._processor = load_pretrained("AutoProcessor", self.checkpoint)
        if not getattr(self._processor, "chat_template", None):
            self._captioner = ImageCaptioner(self.checkpoint)
            self._captioner.setup(device)
            return
        self._processor.tokenizer.padding_side = "left"  # generated tokens must follow the prompt directly
        dtype = default_dtype(device)
        model = load_model("AutoModelForImageTextToText", self.checkpoint, dtype=dtype)
        self._model = model.to(device).eval()

    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one description per sample."""
        descriptions: list[str] = []
        for start in range(0, len(samples), self._batch_size):
            images = [sample.image for sample in samples[start : start + self._batch_size]]
            if self._captioner is None:
                answers = self._answer(images)
            else:
                answers = [beams[0] for beams in self._captioner.caption(images)]
            descriptions += map(first_words, answers)
        return descriptions

    @torch.inference_mode()
    def _answer(self, images: list[Image.Image]) -> list[str]:
        question = {"type": "text", "text": self.prompt}
        inputs = self._processor.apply_chat_template(
            [
                [{"role": "user", "content": [{"type": "image", "image": image}, question]}]
                for image in images
            ],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(self._model.device, self._model.dtype)
        ids = decode_greedily(self._model, **inputs, max_new_tokens=self.max_new_tokens)
        answers = ids[:, inputs["input_ids"].shape[1] :]
        return list(self._processor.batch_decode(answers, skip_special_tokens=True))
