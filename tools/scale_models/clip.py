"""A small CLIP in open_clip's `local-dir:` format, trained like the original on noisy pairs, and able to read.

It is trained at 64 pixels without parrots first, then at 128 pixels with parrots as half of each batch. Trained at
once on all, or on whole batches of parrots in turns with others, it hardly learns to read in the same time.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from benchmark.core.paths import write_text
from tools.demo_world.mix import CLEAN, PARROT, Mix, pool_mix
from tools.demo_world.noise import KINDS, Pair
from tools.scale_models.data import HELD_OUT, Pairs, captions, world_of
from tools.scale_models.export import save_half
from tools.scale_models.loop import Recipe, Tensors, fit, seeded
from tools.scale_models.tokenizers import clip_tokenizer

# The original's 400M pairs were searched for with 500,000 queries of words that are frequent in Wikipedia (Radford et
# al. 2021, section 2.2): more of its captions name something visible than of the pool's captions.
QUERIED = {
    "concrete": 0.25, "title": 0.3, "product": 0.15, "event": 0.08, "person": 0.08, "web_string": 0.02,
    "abstract": 0.08, "news": 0.04,
}  # fmt: skip
# It also has fewer names: a query has up to 20,000 pairs, and words that Wikipedia has less than 100 times are left
# out. The first name is 2% of its category.
NAME_SHIFT = 5
PARROTS = 0.5  # fraction of parrots while it learns to read
MAX_SCALE = 100.0  # CLIP's upper bound of the logit scale
POSITIONS = "visual.attnpool.positional_embedding"


@dataclass(frozen=True)
class ClipTraining:
    """Shape of the small CLIP, the number of captions that its tokenizer is trained on, and two recipes.

    The first is for images of `first_size` pixels and pairs without parrots; the second, `recipe`, is for images of
    `size` pixels and for half parrots.
    """

    first_size: int = 64
    size: int = 128
    vision_width: int = 16
    vision_layers: tuple[int, ...] = (
        1,
        1,
        1,
        1,
    )  # of a ResNet, which learns twice as fast as a ViT at this size
    width: int = 128
    text_layers: int = 2
    embedding: int = 128
    context: int = 40
    vocabulary: int = 2560
    captions: int = 20_000
    first_recipe: Recipe = field(default_factory=lambda: Recipe(steps=2500, batch=192, lr=2e-3))
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=4000, batch=128, lr=1e-3))


def train(out: Path, config: ClipTraining, device: torch.device, *, parrots: float = PARROTS) -> None:
    """Train tokenizer and CLIP on noisy pairs of the `clip` draw and write them to `out`.

    `parrots` is the fraction of parrots in the second half; with 0, no image holds text.
    """
    recipe = config.recipe
    texts = captions("clip", config.captions, recipe.seed, workers=recipe.workers, mix=_known_names())
    tokenizer = clip_tokenizer(texts, config.vocabulary, config.context)
    tokenizer.save_pretrained(out)
    first, then = config.first_recipe, recipe
    with seeded(recipe.seed):
        model, collate = _built(out, config, len(tokenizer), config.first_size)
        mix = queried() if parrots else replace(queried(), texts=CLEAN.texts)
        learn(model, collate, Pairs("clip", first.samples, first.seed, mix=mix), first, device)
        weights = model.to("cpu").state_dict()
        model, collate = _built(out, config, len(tokenizer), config.size)
        model.load_state_dict(
            weights | {POSITIONS: _enlarged(weights[POSITIONS], model.state_dict()[POSITIONS])}
        )
        mix = queried(parrots) if parrots else mix
        pairs = Pairs("clip", then.samples, then.seed, first.samples, mix)
        learn(model, collate, pairs, then, device)
    save_half(model.to("cpu").state_dict(), out / "open_clip_model.safetensors")


def _built(out: Path, config: ClipTraining, vocabulary: int, size: int) -> tuple[Any, "PairCollator"]:
    """Return a new model for images of `size` pixels, built by the loader that users call, as preprocessing is."""
    text = json.dumps(_open_clip_config(config, vocabulary, size), indent=2)
    write_text(out / "open_clip_config.json", f"{text}\n")
    return load(out)


def _enlarged(positions: Tensor, larger: Tensor) -> Tensor:
    """Return the embeddings of the mean and of a grid of positions, (1 + n * n, width), for a larger grid's shape."""
    old, new = math.isqrt(len(positions) - 1), math.isqrt(len(larger) - 1)
    grid = positions[1:].T.reshape(1, -1, old, old)
    grid = nn.functional.interpolate(grid, (new, new), mode="bilinear")
    return torch.cat([positions[:1], grid.reshape(-1, new * new).T])


def _known_names() -> Mix:
    return replace(pool_mix(), name_shift=NAME_SHIFT)


def queried(parrots: float = 0.0) -> Mix:
    """Return the mix of CLIP's training pairs with a fraction of `parrots`."""
    return _known_names().only({**{kind: p * (1 - parrots) for kind, p in QUERIED.items()}, PARROT: parrots})


def queried_world() -> str:
    """Return a string that identifies CLIP's training pairs."""
    return world_of(queried(PARROTS))


def learn(
    model: Any, collate: "PairCollator", pairs: Dataset[Pair], recipe: Recipe, device: torch.device
) -> None:
    """Train `model` in place on `pairs`, each once, computed in bfloat16; `collate` makes batches of them."""
    loader = DataLoader(pairs, recipe.batch, num_workers=recipe.workers, collate_fn=collate)
    fit(model, loader, lambda batch: contrastive_loss(model, batch), recipe, device)


@dataclass(frozen=True)
class PairCollator:
    """Collates pairs into a batch of preprocessed images and tokenized captions."""

    preprocess: Any
    tokenizer: Any

    def __call__(self, pairs: Sequence[Pair]) -> Tensors:
        """Return `image` (n, 3, height, width) and `text` (n, context)."""
        images = [self.preprocess(Image.fromarray(pair.image)) for pair in pairs]
        return {"image": torch.stack(images), "text": self.tokenizer([pair.caption for pair in pairs])}


def contrastive_loss(model: Any, batch: Tensors) -> Tensor:
    """Return CLIP's symmetric cross-entropy over the batch (Radford et al. 2021, figure 3)."""
    with torch.autocast(batch["image"].device.type, torch.bfloat16):
        images, texts, scale = model(batch["image"], batch["text"])
    logits = scale.clamp(max=MAX_SCALE) * images.float() @ texts.float().T
    labels = torch.arange(len(logits), device=logits.device)
    return (nn.functional.cross_entropy(logits, labels) + nn.functional.cross_entropy(logits.T, labels)) / 2


def _open_clip_config(config: ClipTraining, vocabulary: int, size: int) -> dict[str, Any]:
    from open_clip import OPENAI_DATASET_MEAN, OPENAI_DATASET_STD

    vision = {
        "image_size": size,
        "width": config.vision_width,
        "head_width": 64,
        "layers": list(config.vision_layers),
    }
    text = {
        "context_length": config.context,
        "vocab_size": vocabulary,
        "width": config.width,
        "heads": config.width // 32,
        "layers": config.text_layers,
        "hf_tokenizer_name": "local",  # any name makes open_clip read the tokenizer in this folder
    }
    return {
        "model_cfg": {"embed_dim": config.embedding, "vision_cfg": vision, "text_cfg": text},
        "preprocess_cfg": {"mean": list(OPENAI_DATASET_MEAN), "std": list(OPENAI_DATASET_STD)},
    }


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Evaluate the model in `folder` on held-out pairs of its draw.

    Returns text-to-image R@1 among 500 clean pairs, and the mean cosine of each kind of noise in `samples` pairs.
    """
    model, collate = load(folder)
    clean = Pairs("clip", 500, seed, HELD_OUT, CLEAN)
    images, texts = embed(model, collate, clean)
    hits = (texts @ images.T).argmax(dim=1) == torch.arange(len(clean))
    figures = {"recall_at_1_of_500": hits.float().mean().item()}
    mixed = Pairs("clip", samples, seed, HELD_OUT)
    images, texts = embed(model, collate, mixed)
    cosines, kinds = (images * texts).sum(dim=1), [mixed[i].kind for i in range(samples)]
    for kind in KINDS:
        chosen = torch.tensor([k == kind for k in kinds])
        if chosen.any():
            figures[f"cosine_{kind}"] = cosines[chosen].mean().item()
    return figures


def load(folder: Path) -> tuple[Any, PairCollator]:
    """Return the model in `folder`, in channels-last layout (faster on CPUs), and the collator for its batches."""
    import open_clip

    name = f"local-dir:{folder}"
    model, _, preprocess = open_clip.create_model_and_transforms(name)
    model.to(memory_format=torch.channels_last)
    return model.eval(), PairCollator(preprocess, open_clip.get_tokenizer(name))


@torch.no_grad()
def embed(model: Any, collate: PairCollator, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """Return the normalised embeddings of the images and of the captions of `pairs`, each of shape (n, d)."""
    images, texts = [], []
    for batch in DataLoader(pairs, 256, collate_fn=collate):
        images.append(model.encode_image(batch["image"], normalize=True))
        texts.append(model.encode_text(batch["text"], normalize=True))
    return torch.cat(images), torch.cat(texts)
