"""A small PAC-S: the demo's CLIP with projections fine-tuned on clean pairs and generated positives.

As in Sarto et al. 2023, an image is generated from the caption of each pair, and a caption from its image. Each
generated positive replaces its original in an additional contrastive loss.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.models.pac_clip import PACSCORE_WEIGHT, PREFIX, load_pac_clip
from filters.icc.vba import ImageCaptioner, TextToImage
from tools.demo_world.mix import CLEAN
from tools.demo_world.noise import KINDS, Pair
from tools.scale_models.data import HELD_OUT, Pairs
from tools.scale_models.export import MODELS, save_half
from tools.scale_models.loop import Recipe, Tensors, fit, seeded, shuffled

log = logging.getLogger(__name__)

DRAW = "pacscore"
FILE = "projections.safetensors"
CPU = torch.device("cpu")
LAMBDA_IMAGE, LAMBDA_TEXT = 0.05, 0.1  # the paper's weights of generated images and captions


@dataclass(frozen=True)
class PacTraining:
    """The models involved, and the recipe: the paper's learning rate and batch size, with few steps for few pairs."""

    pairs: int = 4000
    clip: Path = MODELS / "clip"
    diffusion: Path = MODELS / "diffusion"
    blip: Path = MODELS / "blip"
    recipe: Recipe = field(
        default_factory=lambda: Recipe(steps=400, batch=256, lr=1e-4, weight_decay=0.0, workers=0)
    )


def train(out: Path, config: PacTraining, device: torch.device) -> None:
    """Fine-tune the projections of the CLIP and write them, without the rest of the model, to `out`."""
    recipe = config.recipe
    dataset = Pairs(DRAW, config.pairs, recipe.seed, mix=CLEAN)
    pairs = [dataset[i] for i in range(config.pairs)]
    images, captions = generate(pairs, config, device)
    clip = load_clip(f"local-dir:{config.clip}", None, device)
    projections = Projections(clip.model)
    # Training captions get the prefix, which the paper uses only for scoring. A CLIP trained on the web has seen
    # captions with such a beginning; the demo's CLIP has not.
    inputs = {
        "image": image_inputs(clip, [Image.fromarray(pair.image) for pair in pairs]),
        "text": text_inputs(clip, [PREFIX + pair.caption for pair in pairs]),
        "generated_image": image_inputs(clip, images),
        "generated_text": text_inputs(clip, [PREFIX + caption for caption in captions]),
    }
    with seeded(recipe.seed):
        fit(projections, batches(inputs, recipe), projections.loss, recipe, device)
    save_half(projections.weights(), out / FILE)


def generate(
    pairs: Sequence[Pair], config: PacTraining, device: torch.device
) -> tuple[list[Image.Image], list[str]]:
    """Return an image generated from each pair's caption, and a caption generated from each pair's image."""
    generator, captioner = TextToImage(str(config.diffusion)), ImageCaptioner(str(config.blip))
    generator.setup(device)
    captioner.setup(device)
    images: list[Image.Image] = []
    captions: list[str] = []
    for start in range(0, len(pairs), 32):
        part = pairs[start : start + 32]
        images += generator.generate([pair.caption for pair in part], range(start, start + len(part)))
        beams = captioner.caption([Image.fromarray(pair.image) for pair in part])
        captions += [best for best, *_ in beams]
        if start % 512 == 0:
            log.info("generated positives of %d of %d pairs", start, len(pairs))
    return images, captions


class Projections(nn.Module):
    """The final projections of a CLIP with a ResNet, with copies of its weights; the temperature is fixed."""

    scale: Tensor

    def __init__(self, clip: Any) -> None:
        super().__init__()
        pooling = clip.visual.attnpool.c_proj
        self.image_weight = nn.Parameter(pooling.weight.detach().clone())
        self.image_bias = nn.Parameter(pooling.bias.detach().clone())
        self.text = nn.Parameter(clip.text_projection.detach().clone())
        self.register_buffer("scale", clip.logit_scale.detach().exp())

    def loss(self, batch: Tensors) -> Tensor:
        """Return L(V, T) + lambda_v L(V', T) + lambda_t L(V, T'); all inputs of the batch have shape (n, width)."""
        images, generated_images = self.images(batch["image"]), self.images(batch["generated_image"])
        texts, generated_texts = self.texts(batch["text"]), self.texts(batch["generated_text"])
        return (
            info_nce(images, texts, self.scale)
            + LAMBDA_IMAGE * info_nce(generated_images, texts, self.scale)
            + LAMBDA_TEXT * info_nce(images, generated_texts, self.scale)
        )

    def images(self, inputs: Tensor) -> Tensor:
        """Return the normalised image embeddings (n, d)."""
        return normalize(inputs @ self.image_weight.T + self.image_bias, dim=-1)

    def texts(self, inputs: Tensor) -> Tensor:
        """Return the normalised text embeddings (n, d)."""
        return normalize(inputs @ self.text, dim=-1)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights under their names in the CLIP's state dict."""
        return {
            "visual.attnpool.c_proj.weight": self.image_weight.detach().cpu(),
            "visual.attnpool.c_proj.bias": self.image_bias.detach().cpu(),
            "text_projection": self.text.detach().cpu(),
        }


def info_nce(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """Return the symmetric InfoNCE loss of normalised embeddings (n, d); image i belongs to text i."""
    logits = scale * images @ texts.T
    labels = torch.arange(len(logits), device=logits.device)
    return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2


def image_inputs(clip: ClipModel, images: Sequence[Image.Image]) -> Tensor:
    """Return the inputs of the visual projection, (n, width): the model's output with the identity in its place."""
    pooling = clip.model.visual.attnpool
    projection, pooling.c_proj = pooling.c_proj, _identity(pooling.c_proj)
    try:
        parts = [
            torch.stack([clip.preprocess(i) for i in images[s : s + 64]]) for s in range(0, len(images), 64)
        ]
        with torch.no_grad():
            return torch.cat([clip.model.encode_image(part.to(clip.device)).cpu() for part in parts])
    finally:
        pooling.c_proj = projection


def text_inputs(clip: ClipModel, texts: Sequence[str]) -> Tensor:
    """Return the inputs of the text projection, (n, width)."""
    model = clip.model
    projection, model.text_projection = model.text_projection, None
    try:
        return clip.project_texts(texts).cpu()
    finally:
        model.text_projection = projection


def _identity(layer: nn.Linear) -> nn.Linear:
    identity = nn.Linear(layer.in_features, layer.in_features)
    nn.init.eye_(identity.weight)
    nn.init.zeros_(identity.bias)
    return identity.to(layer.weight.device)


def batches(inputs: Mapping[str, Tensor], recipe: Recipe) -> Iterator[Tensors]:
    """Yield shuffled batches with the same rows of every input."""
    for rows in shuffled(len(inputs["text"]), recipe):
        yield {name: tensor[rows] for name, tensor in inputs.items()}


def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Evaluate the fine-tuned model and its base (``before_``) on held-out pairs of the draw.

    Returns text-to-image R@1 among 500 clean pairs, how often a pair's caption scores higher than the next pair's
    caption, and the mean PAC-S of each kind of noise in `samples` pairs.
    """
    base = f"local-dir:{MODELS / 'clip'}"
    before = load_clip(base, None, CPU)
    after = load_pac_clip(base, None, str(folder / FILE), CPU)
    clean = Pairs(DRAW, 500, seed, HELD_OUT, CLEAN)
    mixed = Pairs(DRAW, samples, seed, HELD_OUT)
    drawn = [[pairs[i] for i in range(len(pairs))] for pairs in (clean, mixed)]
    figures = _figures(after, *drawn)
    return figures | {f"before_{name}": value for name, value in _figures(before, *drawn).items()}


def _figures(clip: ClipModel, clean: Sequence[Pair], mixed: Sequence[Pair]) -> dict[str, float]:
    cosines = _cosines(clip, clean)
    own = cosines.diag()
    figures = {
        f"recall_at_1_of_{len(clean)}": (cosines.argmax(dim=0) == torch.arange(len(clean)))
        .float()
        .mean()
        .item(),
        "prefers_own_caption": (own > cosines.roll(-1, dims=1).diag()).float().mean().item(),
    }
    scores = PACSCORE_WEIGHT * _cosines(clip, mixed).diag().clamp(min=0)
    for kind in KINDS:
        chosen = torch.tensor([pair.kind == kind for pair in mixed])
        if chosen.any():
            figures[f"score_{kind}"] = scores[chosen].mean().item()
    return figures


def _cosines(clip: ClipModel, pairs: Sequence[Pair]) -> Tensor:
    """Return the cosines of all images (rows) with all prefixed captions (columns), shape (n, n)."""
    images = clip.embed_images([Image.fromarray(pair.image) for pair in pairs])
    texts = clip.embed_texts([PREFIX + pair.caption for pair in pairs])
    return torch.from_numpy(images @ texts.T)
