"""A CLIP of open_clip, trained from random weights with open_clip's recipe (Lin et al. 2023, section 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.core.errors import UserError
from benchmark.core.identity import Identified
from benchmark.core.ranges import PositiveInt, checked
from benchmark.core.requirements import Requirement, look
from benchmark.models.clip_weights import HUB_FILES, LOCAL, clip_identity, locate_architecture
from downstream.models.base import model_folder, seeded
from downstream.models.pair_encoder import PairEncoder
from downstream.training.trainer import TrainConfig

if TYPE_CHECKING:
    import torch

    from downstream.models.clip_network import ClipNetwork
    from downstream.models.networks import ImageAugmentation


@dataclass(frozen=True)
class Architecture(Identified):
    """A setting that names an architecture: open_clip's name, or the folder of a model in open_clip's format."""

    name: str

    @property
    def model(self) -> str:
        """The name as open_clip reads it."""
        return f"{LOCAL}{self.name}" if Path(self.name).is_dir() else self.name

    def identity(self) -> dict[str, Any]:
        """Return the name, or the revision of the folder."""
        return {"model": clip_identity(self.model, None)["model"]}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the architecture's config."""
        yield look(f"CLIP architecture {Path(self.name).name}", lambda: locate_architecture(self.model))


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
        self.architecture = Architecture(architecture)

    def build(self, device: torch.device) -> None:
        """Draw all weights from the seed."""
        locate_architecture(self.architecture.model)
        with seeded(self.training.seed):
            self._assemble(self.architecture.model, device, load_weights=False)

    def _assemble(self, name: str, device: torch.device, load_weights: bool) -> None:
        import open_clip

        from benchmark.models.clip_models import load_clip
        from downstream.models.clip_network import ClipCollate, ClipNetwork, ClipProcessor

        loaded = load_clip(name, None, device, load_weights=load_weights)
        clip, self._config = loaded.model, open_clip.get_model_config(name)
        if not isinstance(clip, open_clip.CLIP | open_clip.CustomTextCLIP) or clip.logit_bias is not None:
            raise UserError(
                f"downstream.clip_scratch.architecture={self.architecture.name} must have the loss of CLIP; choose"
                " RN50 or ViT-B-32"
            )
        self.model = ClipNetwork(clip, self._config["embed_dim"])
        self.collate = ClipCollate(ClipProcessor(loaded.preprocess), loaded.tokenizer, clip.context_length)
        self.device = device

    def augmentation(self) -> ImageAugmentation:
        """Return the random crop of open_clip's trainer."""
        from downstream.models.clip_network import open_clip_changes
        from downstream.models.networks import ImageAugmentation

        return ImageAugmentation(self.model.clip.visual.image_size, open_clip_changes)

    def save(self, path: Path) -> None:
        """Write a folder that open_clip loads as ``local-dir:FOLDER``.

        By the architecture's name open_clip loads its file of weights too, and so does DataComp's evaluator.
        """
        from open_clip.push_to_hf_hub import save_config_for_hf
        from safetensors.torch import save_file

        clip, tokenizer = self.model.clip, self.collate.tokenizer
        weights = {name: tensor.cpu().contiguous() for name, tensor in clip.state_dict().items()}
        save_file(weights, path / HUB_FILES[0])
        save_config_for_hf(clip, path / "open_clip_config.json", self._config)
        if hasattr(tokenizer, "save_pretrained"):  # the tokenizer of OpenAI's CLIP is part of open_clip
            tokenizer.save_pretrained(path)

    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` or `train` wrote to `path`, or any folder in open_clip's format."""
        self._assemble(f"{LOCAL}{model_folder(path)}", device, load_weights=True)
