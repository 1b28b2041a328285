"""``task=doctor``: what this machine can run, and how to get what is missing."""

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
from benchmark.core.extras import EXTRAS, install_command, require
from benchmark.core.paths import cache_dir
from benchmark.models.checkpoints import locate_checkpoint
from benchmark.models.clip_models import local_clip_folder
from benchmark.models.pac_clip import locate_pac_checkpoint
from filters.text.parsing import pipeline_revision
from filters.text.wordnet import find_wordnet


@dataclass(frozen=True)
class Finding:
    """Something that a run may need: whether it is there, and where it lies or how to get it."""

    name: str
    present: bool
    detail: str


def doctor(cfg: DictConfig) -> None:
    """Print a table of findings, without downloading anything."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # otherwise looking for a checkpoint would fetch it
    table = Table(title="What this machine can run", title_justify="left")
    for column in ("", "what", "found, or how to get it"):
        table.add_column(column)
    for finding in findings(cfg):
        mark = Text("yes", style="green") if finding.present else Text("no", style="red")
        table.add_row(mark, Text(finding.name), Text(finding.detail))
    Console().print(table)


def findings(cfg: DictConfig) -> list[Finding]:
    """Return what was found: GPU, memory, disk, Java, WordNet, W&B, extras, and the checkpoints of ``models``."""
    checks: list[Callable[[], Finding]] = [_gpu, _cores, _disk, _java, _wordnet, _wandb]
    machine = [check() for check in checks]
    return machine + [_extra(name) for name in EXTRAS] + _checkpoints(cfg)


# The keys in conf/models whose value is a checkpoint.
CHECKPOINT_KEYS = frozenset({"encoder", "decoder", "image", "text", "checkpoint", "model", "llm", "base"})


def _gpu() -> Finding:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return Finding(
        "GPU", bool(names), ", ".join(names) or "none; everything runs on the CPU, slowly for real pools"
    )


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


def _extra(name: str) -> Finding:
    needed_by = EXTRAS[name].needed_by
    try:
        require(name)
    except UserError:
        return Finding(f"extra {name}", False, f"{install_command(name)} for {needed_by}")
    return Finding(f"extra {name}", True, needed_by)


def _checkpoints(cfg: DictConfig) -> list[Finding]:
    checkpoints = []
    for role, node in cfg.models.items():
        if role == "parser":
            checkpoints.append(_located("models.parser", lambda name: str(pipeline_revision(name)), node))
            continue
        if isinstance(node, str):
            checkpoints.append(_checkpoint(f"models.{role}", node, None))
        if not isinstance(node, DictConfig):
            continue  # a path, seen to above, or a number
        for key in sorted(CHECKPOINT_KEYS & set(node)):
            name = f"models.{role}.{key}"
            if role == "pacscore" and key == "checkpoint":
                checkpoints.append(_located(name, lambda file: str(locate_pac_checkpoint(file)), node[key]))
            elif OmegaConf.is_missing(node, key) or node[key] is None:
                checkpoints.append(Finding(name, False, f"not set; add {name}=FOLDER"))
            else:
                checkpoints.append(_checkpoint(name, node[key], node.get("pretrained")))
    return checkpoints


def _checkpoint(name: str, value: str, pretrained: str | None) -> Finding:
    if pretrained:
        return Finding(name, True, f"{value} / {pretrained}: open_clip fetches it on first use")
    return _located(
        name,
        lambda name_or_path: str(local_clip_folder(name_or_path) or locate_checkpoint(name_or_path)),
        value,
    )


def _located(name: str, locate: Callable[[Any], str], value: str | None) -> Finding:
    try:
        return Finding(name, True, locate(value))
    except UserError as error:
        return Finding(name, False, str(error))
