"""Stable Diffusion in small: captions to pictures of 64 pixels, as stabilityai/stable-diffusion-2 makes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from benchmark.demo.training.autoencoder import centred, drawn, encode, reconstruct, train_autoencoder
from benchmark.demo.training.data import HELD_OUT, Pairs
from benchmark.demo.training.export import save_half
from benchmark.demo.training.loop import Recipe, Tensors, fit, seeded, shuffled
from benchmark.demo.training.tokenizers import clip_hub_tokenizer

FIRST = 500_000_000  # index in the `llm` draw, whose earlier samples are others'
# Stable Diffusion 2 learned from web pairs that its makers filtered by aesthetics and by text in the picture: most
# captions there say what is shown, and few do not.
CLEANED = {"concrete": 0.7, "abstract": 0.1, "news": 0.1, "product": 0.1}
UNCONDITIONAL = 0.1  # share of captions left out, for classifier-free guidance (Ho & Salimans 2022)
CLIP = Path(__file__).resolve().parent.parent / "models" / "clip"  # the judge of generated pictures
STEPS, GUIDANCE = 20, 9.0  # the ICC paper's sampling (appendix A.7)


@dataclass(frozen=True)
class DiffusionTraining:
    """Shapes and recipes of the small latent diffusion model: the autoencoder's, then the denoiser's."""

    pairs: int = 40_000
    size: int = 64
    channels: tuple[int, ...] = (8, 16, 32, 48)
    latents: int = 12
    vocabulary: int = 1472
    positions: int = 24
    text_width: int = 96
    text_layers: int = 2
    width: tuple[int, int] = (32, 72)
    pictures: int = 20_000  # the first of the pairs, that the autoencoder learns from
    autoencoder: Recipe = field(
        default_factory=lambda: Recipe(steps=2500, batch=8, lr=2e-3, weight_decay=0.0, workers=0)
    )
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=8000, batch=32, lr=2e-3, weight_decay=0.01))


def train(out: Path, config: DiffusionTraining, device: torch.device) -> None:
    """Train autoencoder, then denoiser and text encoder together, and write the whole pipeline to `out`."""
    from diffusers import StableDiffusionPipeline

    with seeded(config.autoencoder.seed):
        pictures = _pairs(config, config.pictures)
        vae = train_autoencoder(pictures, config.channels, config.latents, config.autoencoder, device)
    latents, texts = encoded(vae, _pairs(config, config.pairs), config.recipe.workers)
    tokenizer = clip_hub_tokenizer(texts, config.vocabulary, config.positions)
    with seeded(config.recipe.seed):
        unet, text_encoder = _denoiser(config, latents.shape[-1]), _text_encoder(config, len(tokenizer))
        scheduler = _scheduler()
        both = nn.ModuleList([unet, text_encoder])
        batches = _batches(latents, texts, tokenizer, config.recipe)
        signal = scheduler.alphas_cumprod.to(device)
        fit(both, batches, lambda batch: _loss(unet, text_encoder, signal, batch), config.recipe, device)
    pipeline: Any = StableDiffusionPipeline(
        vae, text_encoder, tokenizer, unet, scheduler, None, None, requires_safety_checker=False
    )
    pipeline.to("cpu").save_pretrained(out)
    for path in out.rglob("*.safetensors"):
        save_half(load_file(path), path)


def _pairs(config: DiffusionTraining, samples: int) -> Pairs:
    return Pairs("llm", samples, config.recipe.seed, FIRST, CLEANED, config.size)


def encoded(vae: Any, pairs: Pairs, workers: int) -> tuple[Tensor, list[str]]:
    """Return the scaled latents (n, channels, height, width; float16) and the captions of all pairs."""
    latents, captions = [], []
    for batch in drawn(pairs, workers):
        latents.append((encode(vae, centred(batch["pixels"])) * vae.config.scaling_factor).half().cpu())
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
        # Attention where the grid is coarse: there it costs a quarter, and a cell is as large as a thing.
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=config.text_width,
        # The caption as a whole, added to the time step: attention alone learns late what a caption is for.
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
    """Yield `latents` and `tokens` (n, positions); a tenth of the captions are empty."""
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

    `signal` (1000,) is each time step's share of the variance that is the picture's.
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
    """Return the pipeline in `folder`, silent, its denoiser in the memory layout that a CPU is fast with."""
    from diffusers import StableDiffusionPipeline

    pipeline = StableDiffusionPipeline.from_pretrained(folder, safety_checker=None, local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    pipeline.unet.to(memory_format=torch.channels_last)
    return pipeline


def generate(pipeline: Any, captions: Sequence[str], seed: int, guidance: float = GUIDANCE) -> list[Any]:
    """Return one PIL image per caption, in batches of 32; the i-th has its own generator, seeded `seed` + i."""
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
    """Return how much the model in `folder` loses, on held-out pairs of its draw.

    The autoencoder's root mean square error of `samples` // 10 pictures (of levels from 0 to 1). Of as many
    clean captions, at most 100: the mean cosine by the demo's CLIP between the picture generated from a caption
    and that caption, and all others; the share whose picture is nearest to it.
    """
    from benchmark.models.clip_models import load_clip

    pipeline = load(folder)
    samples = min(samples // 10, 100)
    pairs = Pairs("llm", samples, seed, FIRST + HELD_OUT, {"concrete": 1.0}, pipeline.vae.config.sample_size)
    (batch,) = drawn(pairs, 0)
    pictures = centred(batch["pixels"])
    error = (reconstruct(pipeline.vae, pictures) - pictures) / 2
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
