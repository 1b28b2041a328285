"""Checkpoints: the local folder of a name or path, the revision of its weights, reading files of weights."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmark.core.errors import UserError

WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt")
# Weights for other runtimes, and the additional copies in diffusion models' repositories.
UNUSED = ["*.msgpack", "*.h5", "*.onnx", "*.ot", "onnx/*", "*.ckpt", "*-ema.safetensors", "*.fp16.*"]


@lru_cache
def locate_checkpoint(name: str) -> Path:
    """Return the local folder of `name`: a path, or a hub name that is cached or can be downloaded.

    Raises `UserError`, which says what to do, if it is neither.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    if looks_like_path:
        raise UserError(
            f"checkpoint {name} is not there; give an existing folder in the hub's format, or a hub name"
        )
    # Imported here: the hub client takes half a second to import, and local folders do not need it.
    import httpx
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except HFValidationError:
        raise UserError(f"checkpoint {name!r} must be a folder or a hub name") from None
    except (OSError, ValueError):
        pass
    try:
        return Path(snapshot_download(name, ignore_patterns=UNUSED))
    except LocalEntryNotFoundError:
        reason = "it is not on this machine, and the hub is disabled or cannot be reached"
    except (OSError, ValueError, httpx.HTTPError) as error:  # absent, gated, refused
        reason = str(error).strip().split("\n")[0][:200]
    raise UserError(
        f"checkpoint {name}: {reason}; run `hf download {name}` where there is a network, or give a folder"
    )


@lru_cache
def revision(folder: Path) -> str:
    """Return what identifies the weights in a folder or file: the hub's commit, or a hash of the content."""
    if folder.parent.name == "snapshots":
        return folder.name
    digest = hashlib.sha256()
    files = [folder] if folder.is_file() else sorted(p for p in folder.rglob("*") if p.is_file())
    for path in files:
        counts = path.suffix in {".json", ".txt", ".model"} or any(path.match(w) for w in WEIGHTS)
        if path != folder and not counts:
            continue
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def read_weights(path: Path) -> dict[str, Any]:
    """Return the content of a file of weights, on the CPU: safetensors, or PyTorch's format without code.

    Raises `UserError` for a file in neither format.
    """
    import torch
    from safetensors.torch import load_file

    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises errors of any kind on a broken file
        raise UserError(f"{path} cannot be read as weights: {str(error).split(chr(10))[0][:200]}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} cannot be read as weights: it holds a {type(content).__name__}")
    return content


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Suppress the progress bars and loading reports of transformers."""
    from transformers.utils import logging

    with _quiet(logging):
        yield


@contextmanager
def quiet_diffusers() -> Iterator[None]:
    """Suppress the progress bars and loading reports of diffusers and transformers."""
    from diffusers.utils import logging

    with _quiet(logging), quiet_transformers():
        yield


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:  # both libraries have these functions, without types
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
