"""The autoencoder of the small diffusion model, an AutoencoderKL: images to a small grid of latents and back."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tools.demo_world.noise import Pair
from tools.scale_models.data import Pairs
from tools.scale_models.loop import Recipe, Tensors, fit, shuffled

KL_WEIGHT = 1e-3  # weight of the mean KL divergence of the latents from a normal distribution


def train_autoencoder(
    pairs: Pairs, channels: tuple[int, ...], latents: int, recipe: Recipe, device: torch.device
) -> Any:
    """Return an AutoencoderKL trained on the images of `pairs`.

    Args:
        pairs: training pairs.
        channels: channels per level; height and width are halved between levels.
        latents: channels of the latents.
        recipe: hyperparameters.
        device: device to train on.

    The `scaling_factor` in its config gives the latents unit standard deviation, as in Stable Diffusion (Rombach et
    al. 2022, appendix G).
    """
    from diffusers import AutoencoderKL

    model: Any = AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * len(channels),
        up_block_types=("UpDecoderBlock2D",) * len(channels),
        block_out_channels=channels,
        latent_channels=latents,
        layers_per_block=1,
        norm_num_groups=1,  # norms over few channels would remove the brightness and colour of an image
        sample_size=pairs.size,
        mid_block_add_attention=False,
    )
    images = torch.cat([batch["pixels"] for batch in image_batches(pairs, recipe.workers)])
    batches = ({"pixels": images[rows]} for rows in shuffled(len(pairs), recipe))
    fit(model, batches, lambda batch: _loss(model, batch), recipe, device)
    latent = encode(model, normalized(images[:2000]))
    model.register_to_config(scaling_factor=round(1 / latent.std().item(), 4))
    return model


def _loss(model: Any, batch: Tensors) -> Tensor:
    pixels = normalized(batch["pixels"])
    with torch.autocast(pixels.device.type, torch.bfloat16):
        posterior = model.encode(pixels).latent_dist
        decoded = model.decode(posterior.mean + posterior.std * torch.randn_like(posterior.mean)).sample
    divergence = posterior.mean.float() ** 2 + posterior.var.float() - 1 - posterior.logvar.float()
    loss: Tensor = (decoded.float() - pixels).abs().mean() + KL_WEIGHT * 0.5 * divergence.mean()
    return loss


def image_batches(pairs: Pairs, workers: int) -> Iterator[dict[str, Any]]:
    """Yield batches of all pairs in order: `pixels`, uint8, shape (n, 3, size, size), and the list `captions`."""
    yield from DataLoader(pairs, 500, num_workers=workers, collate_fn=_collate)


def _collate(pairs: list[Pair]) -> dict[str, Any]:
    pixels = torch.stack([torch.from_numpy(pair.image).permute(2, 0, 1) for pair in pairs])
    return {"pixels": pixels, "captions": [pair.caption for pair in pairs]}


def normalized(pixels: Tensor) -> Tensor:
    """Return uint8 pixels as floats in [-1, 1]."""
    return pixels.float() / 127.5 - 1


@torch.no_grad()
def encode(model: Any, pixels: Tensor) -> Tensor:
    """Return the means of the posteriors of `pixels` in [-1, 1]: unscaled latents, (n, channels, height, width)."""
    return torch.cat([model.encode(part.to(model.device)).latent_dist.mean for part in pixels.split(64)])


@torch.no_grad()
def reconstruct(model: Any, pixels: Tensor) -> Tensor:
    """Return `pixels` after encoding and decoding; shape (n, 3, height, width), values in [-1, 1]."""
    return torch.cat([model.decode(part).sample.clamp(-1, 1) for part in encode(model, pixels).split(64)])
