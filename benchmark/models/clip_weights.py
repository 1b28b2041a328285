"""The location and identity of the weights of an open_clip model, without loading them or importing torch."""

from functools import partial
from importlib.metadata import distribution
from pathlib import Path

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.fetched_files import fetch_files
from benchmark.core.paths import user_path
from benchmark.core.requirements import OnFirstUseError, Requirement, look
from benchmark.models.checkpoints import WEIGHTS, revision
from benchmark.models.hub import on_the_hub

LOCAL = "local-dir:"
# open_clip takes the first that is there.
HUB_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")


def local_clip_folder(model: str) -> Path | None:
    """Return the folder of a ``local-dir:`` model. Raises `UserError` when it is not there."""
    if not model.startswith(LOCAL):
        return None
    folder = Path(model.removeprefix(LOCAL))
    if not (folder / "open_clip_config.json").is_file():
        raise UserError(f"checkpoint {folder} is not there; give a folder with an open_clip_config.json")
    return folder


def clip_revision(model: str) -> dict[str, str]:
    """Return the revision of a ``local-dir:`` model; empty for others, whose name and tag identify the weights."""
    folder = local_clip_folder(model)
    return {"revision": revision(folder)} if folder else {}


def clip_identity(model: str, pretrained: str | None) -> dict[str, str | None]:
    """Return `model` and `pretrained` for a cache key: a folder or file by the revision of its content."""
    folder = local_clip_folder(model)
    weights = Path(pretrained) if pretrained else None
    return {
        "model": revision(folder) if folder else model,
        "pretrained": revision(weights) if weights and weights.is_file() else pretrained,
    }


def clip_requirement(model: str, pretrained: str | None) -> Requirement:
    """Return whether the weights that `load_clip` would load are on this machine, or how large their download is."""
    name = f"CLIP {Path(model).name} {Path(pretrained).name if pretrained else ''}".strip()
    return look(name, lambda: _locate_weights(model, pretrained))


def _locate_weights(model: str, pretrained: str | None) -> Path:
    """Return the file or folder of the weights. Raises `UserError`, or `OnFirstUseError` for a download."""
    if folder := local_clip_folder(model):
        if not any(path for pattern in WEIGHTS for path in folder.glob(pattern)):
            raise UserError(f"checkpoint {folder} holds no weights; copy or download it again")
        return folder
    if pretrained and Path(pretrained).is_file():
        return Path(pretrained)
    check_clip_model(model, pretrained)
    if model.startswith("hf-hub:"):
        return on_the_hub(model.removeprefix("hf-hub:"), HUB_FILES)
    from open_clip import get_pretrained_cfg, list_pretrained_tags_by_model

    tag = get_pretrained_cfg(model, pretrained or "")
    if not tag:
        tags = list_pretrained_tags_by_model(model)
        raise UserError(
            f"model {model} has no weights {pretrained!r}, nor is that a file; {did_you_mean(str(pretrained), tags)}"
        )
    if tag.get("hf_hub"):
        repository, _, file = str(tag["hf_hub"]).rpartition("/")
        return on_the_hub(repository, (file,) if file else HUB_FILES)
    path = user_path("~/.cache/clip") / Path(tag["url"]).name  # where open_clip keeps what it fetches
    if not path.is_file():
        fetch = partial(fetch_files, {path: tag["url"]})
        raise OnFirstUseError(f"from {tag['url']}", folder=path.parent, make=fetch)
    return path


def locate_architecture(model: str) -> Path:
    """Return the config of an architecture without importing open_clip. Raises `UserError` for an unknown one."""
    if folder := local_clip_folder(model):
        return folder
    folder = Path(str(distribution("open-clip-torch").locate_file("open_clip/model_configs")))
    configs = {path.stem: path for path in folder.glob("*.json")}
    if model not in configs:
        raise UserError(f"open_clip has no model {model!r}; {did_you_mean(model, configs)}")
    return configs[model]


def check_clip_model(model: str, pretrained: str | None) -> None:
    """Raise `UserError` for an unknown model, or one without weights."""
    if model.startswith("hf-hub:"):
        return
    locate_architecture(model)
    if not pretrained and not model.startswith(LOCAL):  # open_clip would only warn, and leave random weights
        import open_clip

        tags = ", ".join(open_clip.list_pretrained_tags_by_model(model))
        raise UserError(
            f"model {model} needs weights; set pretrained, beside model (models.clip.pretrained for the pool's CLIP),"
            f" to one of {tags}, or to a weights file"
        )
