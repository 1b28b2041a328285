"""A small Stable Diffusion: generates images of 64 pixels from captions, as stabilityai/stable-diffusion-2 does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from tools.demo_world.mix import CLEAN, NO_TEXT, Mix
from tools.scale_models.autoencoder import (
    encode,
    image_batches,
    normalized,
    reconstruct,
    train_autoencoder,
)
from tools.scale_models.clip import NAME_SHIFT
from tools.scale_models.data import HELD_OUT, Pairs, world_of
from tools.scale_models.export import MODELS, save_half
from tools.scale_models.loop import Recipe, Tensors, fit, seeded, shuffled
from tools.scale_models.tokenizers import clip_hub_tokenizer

FIRST = 500_000_000  # first index in the `llm` draw; other models are trained on earlier samples
# Stable Diffusion 2 was trained on web pairs filtered by aesthetics: most captions describe or name something
# visible. Its pairs were also chosen by CLIP, so CLIP knows their names.
MOSTLY_CLEAN = Mix(
    {"concrete": 0.6, "title": 0.2, "product": 0.05, "person": 0.05, "abstract": 0.05, "news": 0.05},
    {NO_TEXT: 1.0},
    consistency=0.5,
    name_shift=NAME_SHIFT,
)
UNCONDITIONAL = 0.1  # fraction of captions replaced by "" for classifier-free guidance (Ho & Salimans 2022)
CLIP = MODELS / "clip"  # evaluates generated images
STEPS, GUIDANCE = 20, 9.0  # the ICC paper's sampling (appendix A.7)


@dataclass(frozen=True)
class DiffusionTraining:
    """Shape and recipes of the small latent diffusion model: `autoencoder` is trained first, then the denoiser."""

    pairs: int = 40_000
    size: int = 64
    channels: tuple[int, ...] = (8, 16, 32, 48)
    latents: int = 12
    vocabulary: int = 1472
    positions: int = 24
    text_width: int = 96
    text_layers: int = 2
    width: tuple[int, int] = (32, 72)
    pictures: int = 20_000  # training pairs of the autoencoder
    autoencoder: Recipe = field(
        default_factory=lambda: Recipe(steps=2500, batch=8, lr=2e-3, weight_decay=0.0, workers=0)
    )
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=8000, batch=32, lr=2e-3, weight_decay=0.01))


def train(out: Path, config: DiffusionTraining, device: torch.device) -> None:
    """Train the autoencoder, then denoiser and text encoder together, and write the pipeline to `out`."""
    from diffusers import StableDiffusionPipeline

    with seeded(config.autoencoder.seed):
        autoencoder_pairs = _pairs(config, config.pictures)
        vae = train_autoencoder(
            autoencoder_pairs, config.channels, config.latents, config.autoencoder, device
        )
    latents, texts = encode_pairs(vae, _pairs(config, config.pairs), config.recipe.workers)
    tokenizer = clip_hub_tokenizer(texts, config.vocabulary, config.positions)
    with seeded(config.recipe.seed):
        unet, text_encoder = _denoiser(config, latents.shape[-1]), _text_encoder(config, len(tokenizer))
        scheduler = _scheduler()
        trained = nn.ModuleList([unet, text_encoder])
        batches = _batches(latents, texts, tokenizer, config.recipe)
        signal = scheduler.alphas_cumprod.to(device)
        fit(trained, batches, lambda batch: _loss(unet, text_encoder, signal, batch), config.recipe, device)
    pipeline: Any = StableDiffusionPipeline(
        vae, text_encoder, tokenizer, unet, scheduler, None, None, requires_safety_checker=False
    )
    pipeline.to("cpu").save_pretrained(out)
    for path in out.rglob("*.safetensors"):
        save_half(load_file(path), path)


def world() -> str:
    """Return a string that identifies its training pairs."""
    return world_of(MOSTLY_CLEAN)


def _pairs(config: DiffusionTraining, samples: int) -> Pairs:
    return Pairs("llm", samples, config.recipe.seed, FIRST, MOSTLY_CLEAN, config.size)


def encode_pairs(vae: Any, pairs: Pairs, workers: int) -> tuple[Tensor, list[str]]:
    """Return the scaled latents (n, channels, height, width; float16) and the captions of all pairs."""
    latents, captions = [], []
    for batch in image_batches(pairs, workers):
        latents.append((encode(vae, normalized(batch["pixels"])) * vae.config.scaling_factor).half().cpu())
        captions += batch["captions"]
    return torch.cat(latents), captions


def _denoiser(config: DiffusionTraining, side: int) -> Any:
    from diffusers import UNet2DConditionModel

    unet: Any = UNet2DConditionModel(
        sample_size=side,
        in_channels=config.latents,
        out_channels=config.latents,
        layers_per_block=1,
        block_out_channels=config.width,
        # Attention only on the coarse grid, which costs a quarter; a cell has the size of a thing.
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=config.text_width,
        # The pooled caption is added to the time embedding: with only attention, captions take much longer to learn.
        addition_embed_type="text",
        addition_embed_type_num_heads=config.text_width // 32,
        attention_head_dim=2,
        norm_num_groups=8,
        use_linear_projection=True,
    )
    return unet.to(memory_format=torch.channels_last)


def _text_encoder(config: DiffusionTraining, vocabulary: int) -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel

    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=vocabulary,
            hidden_size=config.text_width,
            intermediate_size=4 * config.text_width,
            projection_dim=config.text_width,
            num_hidden_layers=config.text_layers,
            num_attention_heads=config.text_width // 32,
            max_position_embeddings=config.positions,
            bos_token_id=vocabulary - 2,
            eos_token_id=vocabulary - 1,
            pad_token_id=vocabulary - 1,
        )
    )


def _scheduler() -> Any:
    from diffusers import DPMSolverMultistepScheduler

    return DPMSolverMultistepScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        algorithm_type="dpmsolver++",
        solver_order=2,
        prediction_type="v_prediction",
        steps_offset=1,
    )


def _batches(latents: Tensor, texts: Sequence[str], tokenizer: Any, recipe: Recipe) -> Iterator[Tensors]:
    """Yield batches of `latents` and `tokens` (n, positions), with 10% of the captions empty."""
    tokens = _tokens(tokenizer, texts)
    empty = _tokens(tokenizer, [""])
    generator = torch.Generator().manual_seed(recipe.seed)
    for rows in shuffled(len(texts), recipe):
        kept = torch.rand(len(rows), 1, generator=generator) >= UNCONDITIONAL
        yield {"latents": latents[rows].float(), "tokens": torch.where(kept, tokens[rows], empty)}


def _tokens(tokenizer: Any, texts: Sequence[str]) -> Tensor:
    ids: Tensor = tokenizer(list(texts), padding="max_length", truncation=True, return_tensors="pt").input_ids
    return ids


def _loss(unet: Any, text_encoder: Any, signal: Tensor, batch: Tensors) -> Tensor:
    """Return the squared error of the predicted velocity (Salimans & Ho 2022, appendix D).

    `signal` (1000,) is the share of the signal in the variance at each time step, the cumulative product of alphas.
    """
    latents = batch["latents"]
    times = torch.randint(len(signal), (len(latents),), device=latents.device)
    noise = torch.randn_like(latents)
    alpha, sigma = (part[times].view(-1, 1, 1, 1) for part in (signal.sqrt(), (1 - signal).sqrt()))
    noisy = (alpha * latents + sigma * noise).contiguous(memory_format=torch.channels_last)
    words = text_encoder(batch["tokens"]).last_hidden_state
    velocity = unet(noisy, times, words).sample
    return nn.functional.mse_loss(velocity, alpha * noise - sigma * latents)


def load(folder: Path) -> Any:
    """Return the pipeline in `folder` without progress bars, its denoiser in channels-last layout, faster on CPUs."""
    from diffusers import StableDiffusionPipeline

    pipeline = StableDiffusionPipeline.from_pretrained(folder, safety_checker=None, local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    pipeline.unet.to(memory_format=torch.channels_last)
    return pipeline


def generate(pipeline: Any, captions: Sequence[str], seed: int, guidance: float = GUIDANCE) -> list[Any]:
    """Return one PIL image per caption, generated in batches of 32; image i has a generator with seed `seed` + i."""
    images: list[Any] = []
    for start in range(0, len(captions), 32):
        chosen = list(captions[start : start + 32])
        generators = [torch.Generator().manual_seed(seed + start + i) for i in range(len(chosen))]
        images += pipeline(
            chosen, num_inference_steps=STEPS, guidance_scale=guidance, generator=generators
        ).images
    return images


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Evaluate the pipeline in `folder` on min(`samples` // 10, 100) held-out clean pairs of its draw.

    Returns the autoencoder's root mean square error (levels from 0 to 1); the mean cosine, by the demo's CLIP,
    between a caption and the image generated from it, and between a caption and the other images; and R@1 from
    captions to generated images.
    """
    from benchmark.models.clip_models import load_clip

    pipeline = load(folder)
    samples = min(samples // 10, 100)
    pairs = Pairs("llm", samples, seed, FIRST + HELD_OUT, CLEAN, pipeline.vae.config.sample_size)
    (batch,) = image_batches(pairs, 0)
    pixels = normalized(batch["pixels"])
    error = (reconstruct(pipeline.vae, pixels) - pixels) / 2
    images = generate(pipeline, batch["captions"], seed)
    clip = load_clip(f"local-dir:{CLIP}", None, torch.device("cpu"))
    cosines = torch.from_numpy(clip.embed_texts(batch["captions"]) @ clip.embed_images(images).T)
    others = (cosines.sum() - cosines.trace()) / (cosines.numel() - samples)
    return {
        "autoencoder_rmse": error.square().mean().sqrt().item(),
        "cosine_of_own_caption": cosines.diag().mean().item(),
        "cosine_of_others": others.item(),
        f"recall_at_1_of_{samples}": (cosines.argmax(dim=1) == torch.arange(samples)).float().mean().item(),
    }
