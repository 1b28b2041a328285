"""The files of PAC-S and PAC-S++ and the numbers of the metric; `pac_clip` loads the weights, with torch."""

from collections.abc import Iterator
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, State, look
from benchmark.models.checkpoints import revision
from benchmark.models.clip_weights import clip_requirement, clip_revision

PREFIX = "A photo depicts "  # before every caption (as in CLIPScore)
PACSCORE_WEIGHT = 2.0  # factor of the clipped cosine; CLIPScore has 2.5
PAC_WEIGHTS = "PAC-S weights"
WHERE = (
    "get clip_ViT-B-32.pth, openClip_ViT-L-14.pth, PAC++_clip_ViT-B-32.pth or PAC++_clip_ViT-L-14.pth "
    "by the links of https://github.com/aimagelab/pacscore and set models.pacscore.checkpoint to the file"
)


def locate_pac_checkpoint(checkpoint: str | None) -> Path:
    """Return the path of the checkpoint. Raises `UserError`, which says where to get it, if it is absent."""
    if checkpoint is None:
        raise UserError(f"models.pacscore.checkpoint is null, and PAC-S needs its authors' weights: {WHERE}")
    path = user_path(checkpoint)
    if not path.is_file():
        raise UserError(f"checkpoint {checkpoint} is not there; {WHERE}")
    return path


def pac_requirements(model: str, pretrained: str | None, checkpoint: str | None) -> Iterator[Requirement]:
    """Yield the checkpoint, and the weights of the base model if the checkpoint is partial."""
    own = look(PAC_WEIGHTS, lambda: locate_pac_checkpoint(checkpoint))
    yield own
    if own.state is State.PRESENT and is_partial(Path(own.detail)):
        yield clip_requirement(model, pretrained)


def is_partial(checkpoint: Path) -> bool:
    """Return whether the file holds only the tensors that the fine-tuning changed."""
    return checkpoint.suffix == ".safetensors"


def pac_revision(model: str, checkpoint: str | None) -> dict[str, str]:
    """Return the revisions that identify the weights: the checkpoint's, and the base model's if it is a folder."""
    return clip_revision(model) | {"checkpoint_revision": revision(locate_pac_checkpoint(checkpoint))}
