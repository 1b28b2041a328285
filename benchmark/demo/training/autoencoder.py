"""The diffusion model's autoencoder: pictures to a small grid of latents and back, as AutoencoderKL."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from benchmark.demo.noise import Pair
from benchmark.demo.training.data import Pairs
from benchmark.demo.training.loop import Recipe, Tensors, fit, shuffled

KL = 1e-3  # weight of the latents' divergence from a normal distribution, as a mean over their elements


def train_autoencoder(
    pairs: Pairs, channels: tuple[int, ...], latents: int, recipe: Recipe, device: torch.device
) -> Any:
    """Return an AutoencoderKL that has learned the pictures of `pairs`.

    Each of `channels` but the last halves height and width. Its `scaling_factor` makes the latents' standard
    deviation 1, as Stable Diffusion's does (Rombach et al. 2022, appendix G).
    """
    from diffusers import AutoencoderKL

    model: Any = AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * len(channels),
        up_block_types=("UpDecoderBlock2D",) * len(channels),
        block_out_channels=channels,
        latent_channels=latents,
        layers_per_block=1,
        norm_num_groups=1,  # of a few channels each, norms would take away how bright and how coloured a picture is
        sample_size=pairs.size,
        mid_block_add_attention=False,
    )
    pictures = torch.cat([batch["pixels"] for batch in drawn(pairs, recipe.workers)])
    batches = ({"pixels": pictures[rows]} for rows in shuffled(len(pairs), recipe))
    fit(model, batches, lambda batch: _loss(model, batch), recipe, device)
    latent = encode(model, centred(pictures[:2000]))
    model.register_to_config(scaling_factor=round(1 / latent.std().item(), 4))
    return model


def _loss(model: Any, batch: Tensors) -> Tensor:
    pixels = centred(batch["pixels"])
    with torch.autocast(pixels.device.type, torch.bfloat16):
        posterior = model.encode(pixels).latent_dist
        decoded = model.decode(posterior.mean + posterior.std * torch.randn_like(posterior.mean)).sample
    divergence = posterior.mean.float() ** 2 + posterior.var.float() - 1 - posterior.logvar.float()
    loss: Tensor = (decoded.float() - pixels).abs().mean() + KL * 0.5 * divergence.mean()
    return loss


def drawn(pairs: Pairs, workers: int) -> Iterator[dict[str, Any]]:
    """Yield `pixels` (n, 3, size, size), uint8, and the list of `captions` of all pairs, in order."""
    yield from DataLoader(pairs, 500, num_workers=workers, collate_fn=_collate)


def _collate(pairs: list[Pair]) -> dict[str, Any]:
    pixels = torch.stack([torch.from_numpy(pair.image).permute(2, 0, 1) for pair in pairs])
    return {"pixels": pixels, "captions": [pair.caption for pair in pairs]}


def centred(pixels: Tensor) -> Tensor:
    """Return uint8 pixels as floats from -1 to 1."""
    return pixels.float() / 127.5 - 1


@torch.no_grad()
def encode(model: Any, pixels: Tensor) -> Tensor:
    """Return the latents (n, channels, height, width), unscaled, of `pixels` from -1 to 1: posteriors' means."""
    return torch.cat([model.encode(part.to(model.device)).latent_dist.mean for part in pixels.split(64)])


@torch.no_grad()
def reconstruct(model: Any, pixels: Tensor) -> Tensor:
    """Return what decoding gives back of `pixels` (n, 3, height, width), from -1 to 1."""
    return torch.cat([model.decode(part).sample.clamp(-1, 1) for part in encode(model, pixels).split(64)])
