"""Repositories of the Hugging Face hub: files on this machine, sizes of downloads, and errors."""

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path, PurePosixPath

import huggingface_hub

from benchmark.core.errors import UserError
from benchmark.core.requirements import NotFetchedError, OnFirstUseError

HUB_TIMEOUT = 5.0  # seconds that the hub has to say how large files are
# Weights for other runtimes, and the additional copies in diffusion models' repositories.
UNUSED = ["*.msgpack", "*.h5", "*.onnx", "*.ot", "*.tflite", "onnx/*", "coreml/*", "*.ckpt"]
UNUSED += ["*-ema.safetensors", "*.fp16.*"]
# MB of the files that are used, as the hub's pages say: for a machine without a network.
MEGABYTES = {
    "bert-base-uncased": 441,
    "google/vit-base-patch16-224": 346,
    "gpt2": 551,
    "microsoft/swin-base-patch4-window7-224-in22k": 439,
    "princeton-nlp/sup-simcse-roberta-base": 500,
    "roberta-large": 1_424,
    "Salesforce/blip2-opt-2.7b": 15_500,
}


def on_the_hub(repository: str, files: Sequence[str]) -> Path:
    """Return the cached one of the alternative `files` of a hub repository. Raises as `find_checkpoint`."""
    for file in files:
        cached = huggingface_hub.try_to_load_from_cache(repository, file)
        if isinstance(cached, str):
            return Path(cached)
    raise to_download(repository, "it is not on this machine", lambda of: [f for f in files if f in of][:1])


def to_download(name: str, found: str, choose: Callable[[Sequence[str]], list[str]]) -> Exception:
    """Return the error to raise if the files of a hub repository that `choose` returns have to be downloaded.

    `found` and errors as in `hub_errors`.
    """

    def sizes() -> dict[str, int]:
        hub = huggingface_hub.HfApi()
        info = hub.model_info(name, files_metadata=True, timeout=HUB_TIMEOUT)
        if info.gated:  # its files are listed for everybody
            hub.auth_check(name)
        listed = {file.rfilename: file.size or 0 for file in info.siblings or []}
        return {file: listed[file] for file in choose(list(listed))}

    def fetch() -> None:
        with hub_errors(name, found, unasked):
            huggingface_hub.snapshot_download(name, allow_patterns=list(sizes()))

    def later(size: int) -> OnFirstUseError:
        folder = Path(huggingface_hub.constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
        return OnFirstUseError(f"{name}: {size / 1e6:,.0f} MB from the hub", size, folder, fetch)

    unasked = later(MEGABYTES.get(name, 0) * 1_000_000)
    with hub_errors(name, found, unasked):
        return later(sum(sizes().values()))
    return unasked


@contextmanager
def hub_errors(name: str, found: str, later: OnFirstUseError) -> Iterator[None]:
    """Turn what the hub client raises into a `UserError`, without a network a `NotFetchedError` with `later`.

    `found` describes the files of `name` on this machine.
    """
    client = vars(import_module("huggingface_hub.utils._http"))
    http = client.get("httpx2") or client["httpx"]  # its errors pass through; the second in older versions

    try:
        yield
    except (
        huggingface_hub.errors.LocalEntryNotFoundError,
        huggingface_hub.errors.OfflineModeIsEnabled,
        http.TransportError,
    ):
        raise NotFetchedError(
            f"checkpoint {name}: {found}, and the hub is disabled or cannot be reached; where there is a network run"
            " task=fetch with the same settings, or give a folder",
            later,
        ) from None
    except huggingface_hub.errors.RepositoryNotFoundError:  # also for a gated repository
        raise UserError(
            f"checkpoint {name}: {found}, and the hub has no such repository, or asks for consent; run"
            f" `hf auth login` and ask for access at https://huggingface.co/{name}, or give a folder"
        ) from None
    except (OSError, ValueError, http.HTTPError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(
            f"checkpoint {name}: {found}, and the hub answers: {reason}; give a folder instead"
        ) from None


def unused_files(files: Sequence[str]) -> list[str]:
    """Return patterns of the `files` of a hub repository that need no download.

    They are `UNUSED`, and weights in PyTorch's format if the same folder has them as safetensors.
    """
    used = [file for file in files if not any(fnmatch.fnmatch(file, pattern) for pattern in UNUSED)]
    safe = {PurePosixPath(file).parent for file in used if file.endswith(".safetensors")}
    twice = (file for file in map(PurePosixPath, used) if file.parent in safe and file.suffix == ".bin")
    return UNUSED + [
        str(file) for file in twice if file.name.startswith(("pytorch_model", "diffusion_pytorch"))
    ]


def used_files(files: Sequence[str]) -> list[str]:
    """Return the `files` of a hub repository without `unused_files`."""
    unused = unused_files(files)
    return [file for file in files if not any(fnmatch.fnmatch(file, pattern) for pattern in unused)]
