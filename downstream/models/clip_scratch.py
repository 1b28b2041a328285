"""A CLIP of open_clip, trained from random weights with open_clip's recipe (Lin et al. 2023, section 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveInt, checked
from benchmark.core.requirements import Requirement, look
from benchmark.models.clip_models import (
    HUB_FILES,
    LOCAL,
    ClipTokenizer,
    clip_identity,
    load_clip,
    locate_architecture,
)
from downstream.models.base import model_folder, seeded
from downstream.models.dual_encoder import PairEncoder
from downstream.training.trainer import TrainConfig

if TYPE_CHECKING:
    import torch

    from downstream.models.networks import ClipNetwork


@checked
class ClipScratch(PairEncoder):
    """A CLIP of open_clip with its preprocessing and tokenizer, from random weights.

    Args:
        architecture: open_clip's name (RN50, ViT-B-32), or a folder with an ``open_clip_config.json``, whose weights
            are not used.
    """

    name = "clip_scratch"
    model: ClipNetwork

    def __init__(self, architecture: str, training: TrainConfig, eval_batch_size: PositiveInt) -> None:
        super().__init__(training, eval_batch_size)
        self.architecture = architecture

    @property
    def _clip(self) -> str:
        """The architecture as open_clip reads it."""
        return f"{LOCAL}{self.architecture}" if Path(self.architecture).is_dir() else self.architecture

    def identity(self) -> dict[str, Any]:
        """Return the settings, a folder by its revision."""
        return super().identity() | {"architecture": clip_identity(self._clip, None)["model"]}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the architecture's config."""
        yield look(f"CLIP {Path(self.architecture).name}", lambda: locate_architecture(self._clip))

    def build(self, device: torch.device) -> None:
        """Draw all weights from the seed."""
        locate_architecture(self._clip)
        with seeded(self.training.seed):
            self._assemble(self._clip, device, load_weights=False)

    def _assemble(self, name: str, device: torch.device, load_weights: bool) -> None:
        import open_clip

        from downstream.models import networks

        loaded = load_clip(name, None, device, load_weights=load_weights)
        clip, self._config = loaded.model, open_clip.get_model_config(name)
        if not isinstance(clip, open_clip.CLIP | open_clip.CustomTextCLIP) or clip.logit_bias is not None:
            raise UserError(
                f"downstream.clip_scratch.architecture={self.architecture} must have the loss of CLIP; choose"
                " RN50 or ViT-B-32"
            )
        self.model = networks.ClipNetwork(clip, self._config["embed_dim"])
        tokenizer = ClipTokenizer(loaded.tokenizer)
        self.collate = networks.PairCollate(loaded.processor, tokenizer, clip.context_length)
        if self.collate.tokens([""])["input_ids"].max() >= clip.vocab_size:  # the end token is the last
            raise UserError(
                f"downstream.clip_scratch.architecture={self.architecture}: its tokenizer has more tokens than"
                f" text_cfg.vocab_size={clip.vocab_size}; raise it"
            )
        self.augment = networks.ImageAugmentation(networks.open_clip_changes(clip.visual.image_size))
        self.device = device

    def save(self, path: Path) -> None:
        """Write a folder that open_clip loads as ``local-dir:FOLDER``, its weights by the architecture's name too."""
        from open_clip.push_to_hf_hub import save_config_for_hf
        from safetensors.torch import save_file

        clip, tokenizer = self.model.clip, self.collate.tokenizer.tokenizer
        weights = {name: tensor.cpu().contiguous() for name, tensor in clip.state_dict().items()}
        save_file(weights, path / HUB_FILES[0])
        save_config_for_hf(clip, path / "open_clip_config.json", self._config)
        if hasattr(tokenizer, "save_pretrained"):  # the tokenizer of OpenAI's CLIP is part of open_clip
            tokenizer.save_pretrained(path)

    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` or `train` wrote to `path`, or any folder in open_clip's format."""
        self._assemble(f"{LOCAL}{model_folder(path)}", device, load_weights=True)
