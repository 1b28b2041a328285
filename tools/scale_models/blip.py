"""A small BLIP: an image captioner in the format of Salesforce/blip-image-captioning-base."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.vocabulary_forms import NOUNS as FORMS
from tools.demo_world.mix import CLEAN
from tools.demo_world.noise import Pair
from tools.scale_models.autoencoder import reconstruct
from tools.scale_models.data import HELD_OUT, Pairs
from tools.scale_models.export import MODELS, save_transformers
from tools.scale_models.loop import Recipe, Tensors, fit, seeded, shuffled
from tools.scale_models.masked_lm import IGNORED
from tools.scale_models.tokenizers import bert_tokenizer

FIRST = 600_000_000  # first index in the `llm` draw; other models are trained on earlier samples
RECONSTRUCTED = 4  # every fourth image is an autoencoder's reconstruction, as VBA captions generated images
BEAMS = 5


@dataclass(frozen=True)
class BlipTraining:
    """Recipe and shape of the small BLIP's text decoder; the image encoder has the shape of the model in `vit`."""

    pairs: int = 40_000
    vit: Path = MODELS / "vit"
    autoencoder: Path = MODELS / "diffusion" / "vae"
    vocabulary: int = 1600
    positions: int = 40
    width: int = 64
    layers: int = 2
    heads: int = 2
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=3200, batch=32, lr=1.5e-3))


def train(out: Path, config: BlipTraining, device: torch.device) -> None:
    """Train a BLIP on clean pairs, its image encoder initialised from `vit`; write model and processor to `out`."""
    from diffusers import AutoencoderKL
    from transformers import BlipForConditionalGeneration, BlipImageProcessor, BlipProcessor, ViTModel

    recipe = config.recipe
    vit: Any = ViTModel.from_pretrained(config.vit, add_pooling_layer=False, local_files_only=True)
    side = int(vit.config.image_size)
    # BLIP's bootstrapping kept only captions that match their images (Li et al. 2022).
    pairs = Pairs("llm", config.pairs, recipe.seed, FIRST, CLEAN, side)
    images = BlipImageProcessor(
        size={"height": side, "width": side}, image_mean=[0.5, 0.5, 0.5], image_std=[0.5, 0.5, 0.5]
    )
    pixels, texts = _pixels_and_captions(pairs, images, recipe.workers)
    vae = AutoencoderKL.from_pretrained(config.autoencoder, local_files_only=True)
    pixels[::RECONSTRUCTED] = reconstruct(vae, pixels[::RECONSTRUCTED].float()).half()
    tokenizer = bert_tokenizer(texts, config.vocabulary, config.positions)
    with seeded(recipe.seed):
        model = BlipForConditionalGeneration(_blip_config(config, vit.config, tokenizer))
        missing = model.vision_model.load_state_dict(
            to_blip_names(vit.state_dict()), strict=False
        ).missing_keys
        assert not missing, missing
        batches = _batches(pixels, texts, tokenizer, recipe)
        fit(model, batches, lambda batch: _loss(model, batch), recipe, device)
    save_transformers(model, out)
    BlipProcessor(images, tokenizer).save_pretrained(out)


def _blip_config(config: BlipTraining, vit: Any, tokenizer: Any) -> Any:
    from transformers import BlipConfig

    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": config.width,
        "encoder_hidden_size": vit.hidden_size,
        "intermediate_size": 4 * config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "max_position_embeddings": config.positions,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.05,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "sep_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "image_size",
             "patch_size", "layer_norm_eps")  # fmt: skip
    return BlipConfig(text_config=text, vision_config={name: getattr(vit, name) for name in names})


def to_blip_names(vit: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a ViT under the names of BLIP's image encoder, which is the same network."""
    substitutions = {
        "embeddings.cls_token": "embeddings.class_embedding",
        "embeddings.position_embeddings": "embeddings.position_embedding",
        "embeddings.patch_embeddings.projection": "embeddings.patch_embedding",
        "layers.": "encoder.layers.",
        "attention.o_proj": "self_attn.projection",
        "layernorm_before": "layer_norm1",
        "layernorm_after": "layer_norm2",
    }
    weights: dict[str, Tensor] = {}
    for name, tensor in vit.items():
        if ".attention.q_proj." in name:
            joined = torch.cat([vit[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")])
            weights[
                name.replace("layers.", "encoder.layers.").replace("attention.q_proj", "self_attn.qkv")
            ] = joined
        elif not any(part in name for part in ("k_proj", "v_proj")):
            new = "post_layernorm" + name.removeprefix("layernorm") if name.startswith("layernorm.") else name
            for old, substitute in substitutions.items():
                new = new.replace(old, substitute)
            weights[new] = tensor
    return weights


def _pixels_and_captions(pairs: Pairs, images: Any, workers: int) -> tuple[Tensor, list[str]]:
    """Return the preprocessed images of all pairs (n, 3, height, width; float16) and their captions."""

    def collate(batch: Sequence[Pair]) -> tuple[Tensor, list[str]]:
        pixels = images([pair.image for pair in batch], return_tensors="pt")["pixel_values"]
        return pixels.half(), [pair.caption for pair in batch]

    batches = list(DataLoader(pairs, 500, num_workers=workers, collate_fn=collate))
    return torch.cat([pixels for pixels, _ in batches]), [text for _, texts in batches for text in texts]


def _batches(pixels: Tensor, texts: Sequence[str], tokenizer: Any, recipe: Recipe) -> Iterator[Tensors]:
    """Yield batches of `pixel_values`, `input_ids` and `attention_mask`."""
    for rows in shuffled(len(texts), recipe):
        chosen = [texts[row] for row in rows]
        tokens = tokenizer(chosen, padding=True, truncation=True, return_tensors="pt")
        text = {name: tokens[name] for name in ("input_ids", "attention_mask")}
        yield {"pixel_values": pixels[rows].float()} | text


def _loss(model: Any, batch: Tensors) -> Tensor:
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, IGNORED)
    loss: Tensor = model(**batch, labels=labels).loss
    return loss


def mentioned(caption: str, words: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the keys of `words` with a word or phrase that `caption` contains, ignoring case."""
    text = f" {caption.lower().rstrip('.')} "
    return {key for key, options in words.items() if any(f" {word} " in text for word in options)}


# The words that name each kind and each colour.
NOUNS = {
    kind: [form for noun in nouns for form in (noun.singular, noun.plural)] for kind, nouns in FORMS.items()
}
SHADES = {colour: words.split() for colour, words in visible_words.SHADES.items()}


def load(folder: Path) -> tuple[Any, Any]:
    """Return the model and the processor in `folder`."""
    from transformers import AutoProcessor, BlipForConditionalGeneration

    model = BlipForConditionalGeneration.from_pretrained(folder, local_files_only=True)
    return model.eval(), AutoProcessor.from_pretrained(folder, local_files_only=True)


@torch.no_grad()
def caption(model: Any, processor: Any, images: Sequence[Any]) -> list[str]:
    """Return a caption of each image: the best of five beams."""
    texts: list[str] = []
    for start in range(0, len(images), 32):
        pixels = processor.image_processor(list(images[start : start + 32]), return_tensors="pt")[
            "pixel_values"
        ]
        ids = model.generate(pixels, num_beams=BEAMS, max_new_tokens=30)
        texts += processor.batch_decode(ids, skip_special_tokens=True)
    return texts


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Evaluate the model in `folder` on `samples` // 4 held-out clean pairs of its draw.

    Returns the loss per token on the pairs' captions, and the fractions of the kinds and of the colours in generated
    captions that the image shows (`right`), or that the next pair's image shows (`by_chance`).
    """
    model, processor = load(folder)
    side = model.config.vision_config.image_size
    pairs = Pairs("llm", samples // 4, seed, FIRST + HELD_OUT, CLEAN, side)
    pixels, texts = _pixels_and_captions(pairs, processor.image_processor, 0)
    (batch,) = _batches(pixels, texts, processor.tokenizer, Recipe(steps=1, batch=len(texts), lr=0.0))
    figures = {"token_loss": _loss(model, batch).item()}
    held_out = [pairs[i] for i in range(len(pairs))]
    generated = caption(model, processor, [pair.image for pair in held_out])
    things = [pair.scene.things if pair.scene else () for pair in held_out]
    for family, words in (("kind", NOUNS), ("colour", SHADES)):
        shown = [{getattr(thing, family) for thing in group} for group in things]
        said = [mentioned(text, words) for text in generated]
        total = sum(map(len, said)) or 1
        figures[f"{family}_right"] = sum(len(a & b) for a, b in zip(said, shown, strict=True)) / total
        other = [*shown[1:], *shown[:1]]
        figures[f"{family}_by_chance"] = sum(len(a & b) for a, b in zip(said, other, strict=True)) / total
    return figures
