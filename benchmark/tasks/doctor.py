"""``task=doctor``: what this machine can run, and how to get what is missing."""

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.models.checkpoints import locate_checkpoint
from benchmark.models.clip_models import local_clip_folder
from benchmark.models.pac_clip import locate_pac_checkpoint
from filters.text.parsing import pipeline_revision
from filters.text.wordnet import find_wordnet


@dataclass(frozen=True)
class Finding:
    """One thing that a run may need: whether it is there, what was found, and how to get it."""

    name: str
    present: bool
    detail: str


def doctor(cfg: DictConfig) -> None:
    """Print a table of findings. Nothing is downloaded."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # only what is on this machine counts
    table = Table(title="What this machine can run", title_justify="left")
    for column in ("", "what", "found, or how to get it"):
        table.add_column(column)
    for finding in findings(cfg):
        mark = Text("yes", style="green") if finding.present else Text("no", style="red")
        table.add_row(mark, Text(finding.name), Text(finding.detail))
    Console().print(table)


def findings(cfg: DictConfig) -> list[Finding]:
    """Look at GPU, memory and disk, Java, WordNet, optional packages, W&B, and the checkpoints of ``models``."""
    checks: list[Callable[[], Finding]] = [_gpu, _cores, _disk, _java, _wordnet, _wandb]
    found = [check() for check in checks]
    found += [_package(*extra) for extra in EXTRAS]
    return found + _checkpoints(cfg)


EXTRAS = (
    ("ray", "engine=ray", "ray"),
    ("hydra_plugins.hydra_joblib_launcher", "hydra/launcher=joblib", "joblib"),
    ("hydra_plugins.hydra_submitit_launcher", "hydra/launcher=submitit_slurm", "slurm"),
    ("s3fs", "pools on S3", "cloud"),
)

# The settings in conf/models that name a checkpoint.
ROLES = frozenset({"encoder", "decoder", "image", "text", "checkpoint", "model", "llm", "base"})


def _gpu() -> Finding:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return Finding("GPU", bool(names), ", ".join(names) or "none; everything runs on CPU, real pools slowly")


def _cores() -> Finding:
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Finding("processor", True, f"{os.cpu_count()} cores, {pages / 2**30:.0f} GiB memory")


def _disk() -> Finding:
    folder = cache_dir()
    nearest = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(nearest).free / 2**30
    return Finding("disk", free > 2, f"{free:.0f} GiB free for {folder}; the demo needs 2")


def _java() -> Finding:
    from downstream.metrics.java import find_java
    from downstream.metrics.metric import UnavailableError

    try:
        return Finding("Java (METEOR, SPICE)", True, str(find_java().executable))
    except UnavailableError as error:
        return Finding("Java (METEOR, SPICE)", False, str(error))


def _wordnet() -> Finding:
    return _located("WordNet (filter=text_based)", lambda folder: str(find_wordnet(folder)), None)


def _wandb() -> Finding:
    from benchmark.results.wandb_tracker import has_key

    online = has_key()
    return Finding(
        "W&B key", online, "online" if online else "offline runs; `wandb login` to see them on a dashboard"
    )


def _package(module: str, use: str, extra: str) -> Finding:
    try:
        present = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        present = False
    return Finding(use, present, "installed" if present else f"pip install 'pairsift[{extra}]'")


def _checkpoints(cfg: DictConfig) -> list[Finding]:
    found = []
    for role, node in cfg.models.items():
        if role == "parser":
            found.append(_located("models.parser", lambda name: str(pipeline_revision(name)), node))
            continue
        if isinstance(node, str):
            found.append(_checkpoint(f"models.{role}", node, None))
            continue
        for key in sorted(ROLES & set(node)):
            name = f"models.{role}.{key}"
            if role == "pacscore" and key == "checkpoint":
                found.append(_located(name, lambda file: str(locate_pac_checkpoint(file)), node[key]))
            elif OmegaConf.is_missing(node, key) or node[key] is None:
                found.append(Finding(name, False, f"not given; add {name}=FOLDER"))
            else:
                found.append(_checkpoint(name, node[key], node.get("pretrained")))
    return found


def _checkpoint(name: str, value: str, pretrained: str | None) -> Finding:
    if pretrained:
        return Finding(name, True, f"{value} / {pretrained}: open_clip fetches it on first use")
    return _located(name, lambda place: str(local_clip_folder(place) or locate_checkpoint(place)), value)


def _located(name: str, locate: Callable[[Any], str], value: str | None) -> Finding:
    try:
        return Finding(name, True, locate(value))
    except UserError as error:
        return Finding(name, False, str(error))
