"""Checkpoints: the local folder of a name or path, the revision of its weights, reading files of weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub  # its parts are imported when they are used
from safetensors import SafetensorError, safe_open

from benchmark.core.errors import UserError, panics_as_errors
from benchmark.core.identity import Identified
from benchmark.core.paths import refuse_pointers, user_path
from benchmark.core.requirements import Requirement, look, provide
from benchmark.models.hub import to_download, unused_files, used_files

if TYPE_CHECKING:
    import torch

WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt")


def locate_checkpoint(name: str) -> Path:
    """Return the local folder of `name`, after downloading it if necessary. Raises `UserError`."""
    return provide(partial(find_checkpoint, name))


@lru_cache
def find_checkpoint(name: str) -> Path:
    """Return the local folder of `name`: a path, or a hub name that is cached.

    Raises `UserError`, which says what to do, if the folder or files in it are missing; `OnFirstUseError` for a
    download, which completes an interrupted download.
    """
    path = user_path(name)
    if path.is_dir():
        refuse_pointers(path.rglob("*"))
        if missing := _missing_weights(path):
            raise UserError(f"checkpoint {name} is incomplete: it lacks {missing}; copy or download it again")
        return path
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    if looks_like_path:
        raise UserError(
            f"checkpoint {name} is not there; give an existing folder in the hub's format, or a hub name"
        )
    found = "it is not on this machine"
    try:
        try:  # unused files are not downloaded, and not missing
            listed = [file.path for file in huggingface_hub.get_cached_repo_tree(name)]
        except huggingface_hub.errors.CachedRepoTreeNotFoundError:
            listed = []
        unused = unused_files(listed)
        path = Path(huggingface_hub.snapshot_download(name, local_files_only=True, ignore_patterns=unused))
        missing = _missing_weights(path)
        if not missing and not any(file.is_file() for weights in WEIGHTS for file in path.rglob(weights)):
            missing = "all weights"
        if not missing:
            return path
        found = f"only a part of it is on this machine (without {missing})"
    except huggingface_hub.errors.HFValidationError:
        raise UserError(f"checkpoint {name!r} must be a folder or a hub name") from None
    except (OSError, ValueError):
        pass
    raise to_download(name, found, used_files)


def checkpoint_requirement(name: str) -> Requirement:
    """Return whether the checkpoint `name` is on this machine, or how large its download is."""
    return look(f"checkpoint {Path(name).name}", partial(find_checkpoint, name))


class FromCheckpoint(Identified):
    """An object that loads `checkpoint`, a hub name or folder; its output depends on the revision."""

    checkpoint: str

    def identity(self) -> dict[str, Any]:
        """Name the checkpoint by its revision."""
        return super().identity() | {"checkpoint": revision(locate_checkpoint(self.checkpoint))}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the checkpoint, and the requirements of the parts."""
        yield checkpoint_requirement(self.checkpoint)
        yield from super().requirements()


def _missing_weights(folder: Path) -> str:
    """Return the first file that an index of weights in several files names but that is missing, or nothing."""
    for index in sorted(folder.rglob("*.safetensors.index.json")):
        try:
            files = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return index.name
        if missing := sorted(file for file in files if not (index.parent / file).is_file()):
            return str(missing[0])
    return ""


def load_pretrained(loader: str | Any, name: str, **options: Any) -> Any:
    """Load `name`, a folder or hub name, without running any Python that comes with it.

    `loader` is a class of transformers by its name, such as ``"AutoTokenizer"``, or a class of another library.
    Raises `UserError` if files are missing or do not fit. For a tokenizer without files, transformers would make an
    empty tokenizer.
    """
    import transformers

    loader = getattr(transformers, loader) if isinstance(loader, str) else loader
    folder = locate_checkpoint(name)
    failure = f"checkpoint {name} does not load as {loader.__name__}"
    try:
        with quiet_transformers(), panics_as_errors(failure):
            loaded = loader.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"{failure}: {reason}") from error
    tokenizer = getattr(loaded, "tokenizer", loaded)
    special = getattr(tokenizer, "all_special_tokens", None)
    if special is not None and len(tokenizer) <= len(special):
        raise UserError(f"checkpoint {name} lacks the files of its tokenizer; copy or download it again")
    return loaded


def load_image_processor(name: str) -> Any:
    """Load a checkpoint's image processor, by its model's config if the name of its class is a former one.

    Many name ``ViTFeatureExtractor``, which transformers 5 does not know any more.
    """
    config = load_pretrained("AutoConfig", name)
    return load_pretrained("AutoImageProcessor", name, config=getattr(config, "encoder", config))


def load_model(
    loader: str | Any, name: str, new: tuple[str, ...] = (), dtype: torch.dtype | None = None, **options: Any
) -> Any:
    """Load a model with its weights, by default in fp32; only weights named with one of `new` may be missing.

    transformers initialises missing weights at random and only logs it: a whole tower would be noise.
    Raises `UserError` if others are missing.
    """
    options |= {"dtype": dtype or "float32", "output_loading_info": True}
    model, info = load_pretrained(loader, name, **options)
    missing = sorted(key for key in info["missing_keys"] if not any(part in key for part in new))
    if missing:
        raise UserError(
            f"checkpoint {name} lacks {len(missing)} weights of {type(model).__name__}: {missing[0]}, ..."
        )
    return model


def text_limit(tokenizer: Any, model: Any, subject: object) -> int:
    """Return how many tokens a language model takes. RoBERTa counts positions from after its padding index.

    Raises `UserError`, about `subject`, without a maximum, or if the tokenizer has tokens that the model does not
    know.
    """
    known = model.get_input_embeddings().num_embeddings
    if max(tokenizer.get_vocab().values()) >= known:
        raise UserError(
            f"{subject}: its tokenizer has {len(tokenizer):,} tokens, but its model knows {known:,}; use the"
            " tokenizer of these weights, or add embeddings to them (resize_token_embeddings)"
        )
    if (positions := getattr(model.config, "max_position_embeddings", None)) is None:
        raise UserError(f"{subject} must have max_position_embeddings in its config.json, its maximum length")
    embeddings = [part for name, part in model.named_modules() if name.endswith("position_embeddings")]
    first = max((part.padding_idx + 1 for part in embeddings if part.padding_idx is not None), default=0)
    return int(positions) - first


@contextmanager
def no_questions() -> Iterator[None]:
    """Let transformers refuse a checkpoint that brings Python; it would ask on the terminal whether to run it."""
    from transformers import dynamic_module_utils

    seconds = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = seconds


@lru_cache
def revision(folder: Path) -> str:
    """Return the identity of the weights in a folder or file: the hub's commit, or a hash of the content."""
    if folder.parent.name == "snapshots":
        return folder.name
    if folder.is_file():
        return hash_files(folder, [folder])
    patterns = (*WEIGHTS, "*.json", "*.txt", "*.model")
    return hash_files(folder, (p for p in folder.rglob("*") if any(map(p.match, patterns))))


def hash_files(folder: Path, paths: Iterable[Path]) -> str:
    """Return a hash of the names in `folder` and the contents of those `paths` that are files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def read_weights(path: Path) -> dict[str, Any]:
    """Return the content of a file of weights, on the CPU: safetensors, or PyTorch's format without code.

    Raises `UserError` for a file in neither format.
    """
    import torch

    try:
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dictionary
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises errors of any kind on a broken file
        raise UserError(f"{path} cannot be read as weights: {str(error).split(chr(10))[0][:200]}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} cannot be read as weights: it holds a {type(content).__name__}")
    return content


def decode_greedily(model: Any, **options: Any) -> Any:
    """Return the tokens that a language model generates, without sampling even if its own settings ask for it."""
    with quiet_transformers():
        return model.generate(**options, do_sample=False, temperature=None, top_p=None, top_k=None)


@contextmanager
def quiet_transformers(*others: str) -> Iterator[None]:
    """Suppress the progress bars and loading reports of transformers, and of `others` like it: diffusers."""
    libraries: list[Any] = [import_module(f"{name}.utils.logging") for name in ("transformers", *others)]
    before = [(of.get_verbosity(), of.is_progress_bar_enabled()) for of in libraries]
    for of in libraries:
        of.set_verbosity_error()
        of.disable_progress_bar()
    try:
        yield
    finally:
        for of, (verbosity, bars) in zip(libraries, before, strict=True):
            of.set_verbosity(verbosity)
            if bars:
                of.enable_progress_bar()
