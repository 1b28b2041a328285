"""The trained networks with their losses, and how samples become their inputs.

The captioner predicts the next token; the dual encoder has a contrastive loss (Radford et al. 2021), with the image
tower locked or not (Zhai et al. 2022).
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812, its usual name
from PIL import Image, ImageFilter
from torch import nn
from torchvision.transforms import v2

from benchmark.core.batch import Sample
from downstream.batching import groups_of_similar_length, to_pixels
from downstream.models.base import seeded, start_and_end
from downstream.training.stepper import LossSum
from downstream.training.training_data import EmbeddedSample, Inputs

IGNORED = -100  # label of a position without loss
INITIAL_SCALE = 1 / 0.07  # CLIP, section 2.5
MAX_SCALE = 100.0
CROP_AREA = (0.5, 1.0)  # fraction of the image, as in SLIP and DeCLIP; DS-CLIP names none
CLIP_CROP_AREA = (0.9, 1.0)  # of open_clip's trainer (its `AugmentationCfg`)


def zero_of(model: nn.Module) -> torch.Tensor:
    """Return 0 as the loss of a process without samples: others wait for its gradients.

    Each gradient is a collective operation in the backward pass, so it is tied to every trainable parameter.
    """
    return 0 * torch.stack([p.sum() for p in model.parameters() if p.requires_grad]).sum()


def image_inputs(processor: Any, samples: Sequence[Sample | EmbeddedSample]) -> Inputs:
    """Return ``pixel_values`` (n, 3, h, w), or ``image_features`` (n, d) of samples that are all embedded."""
    features = [sample.features for sample in samples if isinstance(sample, EmbeddedSample)]
    if features:
        return {"image_features": torch.from_numpy(np.stack(features))}
    return {"pixel_values": to_pixels(processor, [s.image for s in samples if isinstance(s, Sample)])}


@dataclass(frozen=True)
class CaptionCollate:
    """Turns samples into tensors: the inputs of `image_inputs`, ``decoder_input_ids`` and ``labels`` (n, t).

    `t` is a multiple of `width_multiple`.
    """

    processor: Any
    tokenizer: Any
    max_tokens: int
    width_multiple: int = 1

    def __call__(self, samples: Sequence[Sample | EmbeddedSample]) -> Inputs:
        """Return the tensors of a batch."""
        ids, labels = self.tokens([sample.text for sample in samples])
        return image_inputs(self.processor, samples) | {"decoder_input_ids": ids, "labels": labels}

    def tokens(self, captions: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return decoder inputs and labels, each (n, t): ``<bos> a cat <pad>`` and ``a cat <eos> -100``.

        GPT-2 has one special token for start, end and padding: the loss is taken on the first end only. A caption
        cut at `max_tokens` gets no end, or the model would learn to stop in mid-sentence.
        """
        start, end = start_and_end(self.tokenizer)
        encoded = self.tokenizer(
            captions, add_special_tokens=False, truncation=True, max_length=self.max_tokens
        )["input_ids"]
        targets = [[*ids, end][: self.max_tokens] for ids in encoded]
        width = -(-max(map(len, targets)) // self.width_multiple) * self.width_multiple
        inputs = torch.full((len(captions), width), end)
        labels = torch.full((len(captions), width), IGNORED)
        for row, target in enumerate(targets):
            inputs[row, : len(target)] = torch.tensor([start, *target[:-1]])
            labels[row, : len(target)] = torch.tensor(target)
        return inputs, labels


class CaptionLoss(nn.Module):
    """Next-token cross-entropy, summed over the caption tokens of the batch."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    @property
    def towers(self) -> list[nn.Module]:
        """Encoder and decoder."""
        return [self.model.encoder, self.model.decoder]

    def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (sum of losses, number of tokens)."""
        if not inputs:
            zero = zero_of(self)
            return zero, zero.detach()
        ids, labels = inputs["decoder_input_ids"], inputs["labels"]
        has_loss = labels != IGNORED
        states = self.model.encoder(pixel_values=inputs["pixel_values"]).last_hidden_state
        losses = [
            self._loss(states[rows], ids[rows, :length], labels[rows, :length])
            for rows, length in groups_of_similar_length(has_loss)
        ]
        return torch.stack(losses).sum(), has_loss.sum()

    def _loss(self, states: torch.Tensor, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of the losses of captions (n, t), given the states (n, positions, d) of their images."""
        mask = None
        if self.model.config.decoder.model_type == "gpt2":
            # Without a 4D mask transformers waits for the device, to see whether rows pack several sequences.
            length = ids.shape[1]
            mask = torch.full((1, 1, length, length), -math.inf, device=ids.device).triu(1)
        logits = self.model(
            encoder_outputs=(states,), decoder_input_ids=ids, decoder_attention_mask=mask, use_cache=False
        ).logits
        return F.cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED, reduction="sum"
        )


class _SumOverRanks(torch.autograd.Function):
    """all_reduce with gradients; its backward pass is all_reduce again."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        total = tensor.contiguous().clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return _SumOverRanks.forward(ctx, grads[0])


def gather_rows(rows: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return the rows of all processes, (sum of n, d), with gradients to each, and the offset of this process's rows.

    Ranks may hold different numbers of rows, or none (unreadable samples, a smaller last batch): each puts its rows
    into a block of zeros, and the blocks are summed.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return rows, 0
    sizes = torch.zeros(dist.get_world_size(), dtype=torch.long, device=rows.device)
    sizes[dist.get_rank()] = len(rows)
    dist.all_reduce(sizes)
    before = int(sizes[: dist.get_rank()].sum())
    after = int(sizes.sum()) - before - len(rows)
    gathered: torch.Tensor = _SumOverRanks.apply(F.pad(rows, (0, 0, before, after)))
    return gathered, before


def info_nce(images: torch.Tensor, texts: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return the symmetric InfoNCE loss, summed over this process's pairs; negatives come from all processes.

    Args:
        images: (n, d), L2-normalised; row i belongs to row i of `texts`.
        texts: (n, d), L2-normalised.
        scale: inverse temperature.
    """
    all_images, first = gather_rows(images)
    all_texts, _ = gather_rows(texts)
    targets = torch.arange(first, first + len(images), device=images.device)
    to_text = F.cross_entropy(scale * images @ all_texts.T, targets, reduction="sum")
    to_image = F.cross_entropy(scale * texts @ all_images.T, targets, reduction="sum")
    return (to_text + to_image) / 2


class Pairs(NamedTuple):
    """Embedded images (n, d) and captions (n, kinds, d), and the logarithm of the inverse temperature.

    All rows are L2-normalised, but zeros for a caption that a pair lacks.
    """

    images: torch.Tensor
    texts: torch.Tensor
    log_scale: torch.Tensor


@dataclass(frozen=True)
class PairCollate:
    """Turns pairs into tensors: ``pixel_values`` or ``image_features``, ``input_ids`` and ``attention_mask``.

    The last two are (n, `kinds`, t): of each pair's own caption, then of its other captions; zeros if it lacks one.
    `t` is a multiple of `width_multiple`.
    """

    processor: Any
    tokenizer: Any
    max_tokens: int
    kinds: int = 1
    width_multiple: int = 1

    def __call__(self, pairs: Sequence[Sample | EmbeddedSample]) -> Inputs:
        """Return the tensors of `pairs`, which have either all images or all features."""
        lacking = (None,) * (self.kinds - 1)
        inputs = self._captions([(pair.text, *pair.others, *lacking)[: self.kinds] for pair in pairs])
        return inputs | image_inputs(self.processor, pairs)

    def _captions(self, captions: Sequence[Sequence[str | None]]) -> Inputs:
        given = torch.tensor([[caption is not None for caption in of_pair] for of_pair in captions])
        tokens = self.tokens([caption or "" for of_pair in captions for caption in of_pair])
        return {name: ids.view(*given.shape, -1) * given[:, :, None] for name, ids in tokens.items()}

    def tokens(self, texts: list[str]) -> Inputs:
        """Return ``input_ids`` and ``attention_mask``, each (n, t), cut at `max_tokens`."""
        encoded = self.tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=self.max_tokens,
            pad_to_multiple_of=self.width_multiple,
            return_tensors="pt",
        )
        return {name: encoded[name] for name in ("input_ids", "attention_mask")}


class PairNetwork(nn.Module, ABC):
    """Embeds images and captions into one space of `dimensions`, and has their contrastive loss.

    The loss is a sum over the captions of a pair, with weights: its own and, in DS-CLIP, a rewritten and a generated
    one (supplement, section B: alpha = beta = 1). An image is embedded once for all of them. The pairs that lack a
    caption are left out of its loss, also as negatives.
    """

    caption_weights: tuple[float, ...] = (1.0,)
    locked = False  # whether `image_features` is frozen, so that each image is embedded once
    dimensions: int
    width: int  # of `image_features`
    log_scale: nn.Parameter  # logarithm of the inverse temperature

    @abstractmethod
    def image_features(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Return the features (n, width) of pixels (n, 3, h, w), on which a linear probe is trained."""

    @abstractmethod
    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of image features."""

    @abstractmethod
    def embed_texts(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of tokenised texts, each (n, t)."""

    def forward(self, inputs: Inputs, gradients: Pairs | None = None) -> Any:
        """Return (sum of losses, number of pairs) of ``pixel_values`` or ``image_features`` and captions.

        Given `gradients` at the outputs of `embed`, return a number that has the same gradient as the loss.
        """
        if gradients is None:
            return self._loss(self.embed(inputs))
        total = (gradients.texts * self._embed_texts(inputs)).sum() + gradients.log_scale * self.log_scale
        if not self.locked:
            total = total + (gradients.images * self._embed_images(inputs)).sum()
        return total

    def embed(self, inputs: Inputs) -> Pairs:
        """Return the embedded pairs of a batch, which may be empty."""
        with torch.no_grad():
            self.log_scale.clamp_(0, math.log(MAX_SCALE))
        return Pairs(self._embed_images(inputs), self._embed_texts(inputs), self.log_scale)

    def embedding_gradients(self, embedded: Sequence[Pairs]) -> tuple[LossSum, list[Pairs]]:
        """Return the loss of a batch that was embedded in parts, and its gradients at the outputs of each part.

        Only the first part has one at the temperature; a locked tower has none at its images.
        """
        images, texts = (torch.cat(rows).detach() for rows in list(zip(*embedded, strict=True))[:2])
        pairs = Pairs(images, texts, self.log_scale.detach().clone())
        inputs = [tensor.requires_grad_() for tensor in (pairs[1:] if self.locked else pairs)]
        with torch.enable_grad():
            loss = self._loss(pairs)
        *of_rows, of_scale = torch.autograd.grad(loss.total, inputs)
        sizes = [len(part.texts) for part in embedded]
        rows = [gradient.split(sizes) for gradient in of_rows]
        scales = [of_scale, *[torch.zeros_like(of_scale)] * (len(sizes) - 1)]
        return LossSum(loss.total.detach(), loss.terms), [
            Pairs(*parts) for parts in zip(rows[0], rows[-1], scales, strict=True)
        ]

    def _loss(self, pairs: Pairs) -> LossSum:
        kinds = pairs.texts.shape[1]
        # A boolean index waits for the device; each pair has its own caption.
        given = [slice(None)] if kinds == 1 else pairs.texts.detach().any(-1).T
        with torch.autocast(pairs.texts.device.type, enabled=False):
            losses = [
                weight * info_nce(pairs.images[rows], pairs.texts[rows, kind], pairs.log_scale.exp())
                for kind, (weight, rows) in enumerate(zip(self.caption_weights, given, strict=True))
            ]
        return LossSum(torch.stack(losses).sum(), torch.full((), len(pairs.texts), device=pairs.texts.device))

    def _embed_images(self, inputs: Inputs) -> torch.Tensor:
        if not inputs:
            rows = self._no_rows()
            return rows.detach() if self.locked else rows
        features = inputs.get("image_features")
        if features is None:
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.locked):
                features = self.image_features(inputs["pixel_values"])
        return self.embed_images(features)

    def _embed_texts(self, inputs: Inputs) -> torch.Tensor:
        if not inputs:
            return self._no_rows()[:, None].expand(-1, len(self.caption_weights), -1)
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        if ids.shape[1] == 1:
            return self.embed_texts(ids[:, 0], mask[:, 0])[:, None]
        given = mask.any(-1)
        vectors = self.embed_texts(ids[given], mask[given])
        return vectors.new_zeros(*given.shape, vectors.shape[-1]).index_put((given,), vectors)

    def _no_rows(self) -> torch.Tensor:
        """Return (0, d), tied to every trainable parameter."""
        return zero_of(self).expand(1, self.dimensions)[:0]


class TwoTowers(PairNetwork):
    """An image tower and a text tower that embed into one space.

    With a locked image tower, its own embedding is the shared space and only the text tower has a linear head, as in
    the reference implementation of LiT (``img_head=False``). Otherwise both have one, as in CLIP, into a space of
    `projection` dimensions. New weights are drawn from the global generator: seed it.
    """

    def __init__(self, image_tower: Any, text_tower: Any, locked: bool, projection: int) -> None:
        super().__init__()
        self.image_tower = image_tower
        self.text_tower = text_tower
        # transformers warns of a cache when activations are checkpointed; none is needed.
        cached = "use_cache" in inspect.signature(text_tower.forward).parameters
        self._options = {"use_cache": False} if cached else {}
        self.locked = locked
        self.width = image_tower.config.hidden_size
        self.dimensions = self.width if locked else projection
        self.image_head = nn.Identity() if locked else nn.Linear(self.width, self.dimensions, bias=False)
        self.text_head = nn.Linear(text_tower.config.hidden_size, self.dimensions, bias=False)
        self.log_scale = nn.Parameter(torch.tensor(math.log(INITIAL_SCALE)))
        if locked:
            image_tower.requires_grad_(False)

    @property
    def towers(self) -> list[Any]:
        """The trained towers."""
        return [self.text_tower] if self.locked else [self.image_tower, self.text_tower]

    def train(self, mode: bool = True) -> "TwoTowers":
        """Switch training mode; a locked tower stays in evaluation mode, without dropout."""
        super().train(mode)
        if self.locked:
            self.image_tower.eval()
        return self

    def image_features(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Return the image tower's embedding, the last state of its class token, (n, image width)."""
        states: torch.Tensor = self.image_tower(pixel_values=pixel_values).last_hidden_state
        return states[:, 0].float()

    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of image features."""
        return F.normalize(self.image_head(features).float(), dim=-1)

    def embed_texts(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of tokenised texts, each (n, t)."""
        groups = groups_of_similar_length(attention_mask)
        features = torch.cat(
            [self._text_features(input_ids[rows, :t], attention_mask[rows, :t]) for rows, t in groups]
        )
        if sorted_rows := [rows for rows, _ in groups if isinstance(rows, torch.Tensor)]:
            features = features[torch.cat(sorted_rows).argsort()]  # in the original order
        return F.normalize(self.text_head(features).float(), dim=-1)

    def _text_features(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the last state of the class token of texts (n, t): (n, text width)."""
        if self.text_tower.config.model_type == "bert":
            # Of a 2D mask transformers waits for the device, to see whether there is padding.
            attention_mask = ((attention_mask - 1.0) * torch.finfo(torch.float32).max)[:, None, None]
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask} | self._options
        states = self.text_tower(**inputs).last_hidden_state
        class_token: torch.Tensor = states[:, 0]
        return class_token


class ClipNetwork(PairNetwork):
    """A CLIP of open_clip. A probe is trained on its vectors of images before they are normalised."""

    def __init__(self, clip: Any, dimensions: int) -> None:
        super().__init__()
        self.clip = clip
        self.dimensions = self.width = dimensions
        self.log_scale = clip.logit_scale  # one parameter of two names

    @property
    def towers(self) -> list[Any]:
        """The whole CLIP, which recomputes the activations of both towers."""
        return [self.clip]

    def image_features(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Return the vectors of pixels (n, 3, h, w), not normalised, (n, d)."""
        features: torch.Tensor = self.clip.encode_image(pixel_values)
        return features.float()

    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of image features."""
        return F.normalize(features, dim=-1)

    def embed_texts(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of tokenised texts, each (n, t)."""
        return F.normalize(self.clip.encode_text(input_ids).float(), dim=-1)


def open_clip_changes(size: int) -> Any:
    """Return a random crop, all that open_clip's trainer changes."""
    return v2.RandomResizedCrop(size, CLIP_CROP_AREA, interpolation=v2.InterpolationMode.BICUBIC)


def ds_clip_changes(size: int) -> Any:
    """Return a random crop, flip, colours, blur and RandAugment (DS-CLIP, supplement, section B).

    The paper lists these changes without strengths: colour and blur have SimCLR's (Chen et al. 2020), RandAugment has
    torchvision's.
    """
    return v2.Compose(
        [
            v2.RandomResizedCrop(size, scale=CROP_AREA, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            v2.RandomApply([v2.Lambda(_blur)], p=0.5),
            v2.RandAugment(),
        ]
    )


@dataclass(frozen=True)
class ImageAugmentation:
    """Augments training images by a random transform."""

    changes: Callable[[Image.Image], Image.Image]

    def __call__(self, sample: Sample, rng: np.random.Generator) -> Sample:
        """Return the sample with its image augmented, which depends only on `rng`."""
        with seeded(int(rng.integers(1 << 63))):
            return replace(sample, image=self.changes(sample.image))


def _blur(image: Image.Image) -> Image.Image:
    # Pillow's blur is twenty times as fast as torchvision's.
    return image.filter(ImageFilter.GaussianBlur(float(torch.empty(()).uniform_(0.1, 2.0))))
