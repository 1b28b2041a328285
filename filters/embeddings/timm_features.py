"""Image features of any timm model, such as DINO (Caron et al. 2021), whose features DS-CLIP clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device, autocast, check_precision
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import user_path
from benchmark.core.pixel_workers import Preprocessing, to_device
from benchmark.core.requirements import OnFirstUseError, Requirement, look
from benchmark.models.checkpoints import revision
from benchmark.models.hub import on_the_hub
from filters.base import Features

LOCAL = "local-dir:"


class TimmFeatures(Features):
    """L2-normalised pooled outputs of a timm model without its classifier.

    Args:
        model: timm's name of a model and its weights (``vit_small_patch8_224.dino``), or ``local-dir:FOLDER`` with
            a ``config.json`` and ``model.safetensors``.
        precision: ``fp32``, or ``bf16`` as for `load_clip`.
    """

    needs = frozenset({"image"})

    def __init__(self, model: str, precision: str = "fp32") -> None:
        self.model = model
        self.precision = check_precision(precision)
        self._network: Any = None
        self._transform: Any = None
        self._device: Device | None = None

    def identity(self) -> dict[str, Any]:
        """Identify local weights by their content, wherever they lie."""
        folder = _local_folder(self.model)
        return super().identity() | ({"model": revision(folder)} if folder else {})

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights."""
        yield look(f"timm {self.model}", lambda: _locate_weights(self.model))

    def setup(self, device: Device) -> None:
        """Load the model without its classifier. Raises `UserError` when its weights are missing or do not load."""
        import timm
        import torch
        from timm.data import config, transforms_factory

        autocast(self.precision, device)  # refuses before the weights are loaded
        if not _local_folder(self.model):
            _pretrained_config(self.model)
        try:
            network = timm.create_model(self.model, pretrained=True, num_classes=0).eval()
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            reason = str(error).split("\n")[0][:120]
            raise UserError(
                f"timm model {self.model} cannot be loaded ({reason}); load it once where there is a network, or"
                " give local-dir:FOLDER"
            ) from None
        settings = config.resolve_model_data_config(network)
        self._transform = transforms_factory.create_transform(**settings, is_training=False)
        self._network = network.to(device).to(memory_format=torch.channels_last)
        self._device = device

    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32]]:
        """Return ``image``, of shape (n, d)."""
        import torch

        assert self._device is not None, "setup comes before extract"
        size = 256 if self._device.type == "cuda" else 32  # on a CPU small batches fit into the caches
        outputs = []
        with torch.inference_mode(), autocast(self.precision, self._device):
            for start in range(0, len(batch), size):
                rows = slice(start, start + size)
                if batch.pixels is None:
                    pixels = torch.stack([self._transform(image) for image in batch.images[rows]])
                else:
                    pixels = batch.pixels[rows]
                pixels = to_device(pixels, self._device).contiguous(memory_format=torch.channels_last)
                outputs.append(self._network(pixels))
        pooled = torch.cat(outputs).float()
        return {"image": torch.nn.functional.normalize(pooled, dim=-1).cpu().numpy()}

    def preprocessing(self) -> Preprocessing:
        """Return the model's own, see `Preprocesses`."""
        return cast(Preprocessing, self._transform)


def _locate_weights(model: str) -> Path:
    """Return the folder or file of the weights. Raises `UserError`, or `OnFirstUseError` for a download."""
    if folder := _local_folder(model):
        return folder
    config = _pretrained_config(model)
    if config.hf_hub_id:
        return on_the_hub(config.hf_hub_id, ("model.safetensors", "pytorch_model.bin"))
    raise OnFirstUseError(f"from {config.url}")


def _pretrained_config(model: str) -> Any:
    """Return timm's description of the weights. Raises `UserError` for a name without weights in timm."""
    import timm

    if not timm.models.is_model_pretrained(model):
        known = timm.list_models(pretrained=True)
        raise UserError(f"timm has no weights for {model!r}; {did_you_mean(model, known)}")
    return timm.models.get_pretrained_cfg(model)


def _local_folder(model: str) -> Path | None:
    """Return the folder of a ``local-dir:`` model, else None. Raises `UserError` when one of its files is missing."""
    if not model.startswith(LOCAL):
        return None
    folder = user_path(model.removeprefix(LOCAL))
    for name in ("config.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise UserError(f"timm model {LOCAL}{folder} must hold a file {name}")
    return folder
