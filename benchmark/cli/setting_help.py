"""The settings of a config, with types, defaults and meanings, for ``--help filter=icc``."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf, open_dict

from benchmark.cli.check_settings import Arguments, arguments_of, shown_value
from benchmark.cli.mistakes import HIDDEN
from benchmark.cli.settings import setting_types
from benchmark.core.ranges import requirement
from benchmark.run.config import CONF, register_resolvers

COMMENT = re.compile(r"^( *)(\w+):[^#\n]*(?:# (.*))?$", re.MULTILINE)
ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
TRAINING = "downstream.captioner.training"


def setting_lines(group: str, name: str, width: int) -> list[str]:
    """Return for each setting of a config ``NAME=DEFAULT``, and below it its type and meaning; first those of no part.

    A config without a file is a part of the user's: the first paragraph of its docstring comes before.
    """
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("config", [] if group == "training" else [f"{group}={name}"])
    path, about = CONF / group / f"{name}.yaml", list[str]()
    comments = _comments(CONF / "config.yaml", "")
    if path.is_file():
        comments |= _comments(path, TRAINING if group == "training" else group)
    else:
        parts = [
            n for n in (cfg[group], *cfg[group].values()) if isinstance(n, DictConfig) and "_target_" in n
        ]
        about = (inspect.getdoc(get_object(parts[0]["_target_"])) or name).split("\n\n")[0].splitlines()
    # A task's settings that other tasks read too have its name.
    nodes = (
        [TRAINING] if group == "training" else [group, *([name] if group == "task" and name in cfg else [])]
    )
    with open_dict(cfg):
        for other in cfg.keys() - {node.partition(".")[0] for node in nodes}:
            del cfg[other]
    lines = []
    found = sorted(_settings(cfg, "", Arguments.of(setting_types())), key=lambda found: found[0].count("."))
    for setting, default, kind, meaning in found:
        if any(setting.startswith(f"{node}.") for node in nodes):
            must, text = (
                "" if kind in (Any, None) else requirement(kind),
                meaning or comments.get(setting, ""),
            )
            lines.append(f"  {setting}={default}")
            words = "; ".join(dict.fromkeys(filter(None, [must, text])))
            lines += textwrap.wrap(words, width, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return [*about, *(["", "Settings, with their defaults:", *lines] if lines else [])]


def _settings(node: DictConfig, prefix: str, arguments: Arguments) -> Iterator[tuple[str, str, Any, str]]:
    """Yield the name, default, type and meaning of each setting below a name."""
    meanings = _meanings(str(node["_target_"])) if "_target_" in node else {}
    raw: Any = OmegaConf.to_container(node)
    for key in map(str, node):
        name, kind = f"{prefix}{key}", arguments.types.get(key, arguments.others)
        if key.startswith("_") or key in HIDDEN or name == "task.name":
            continue
        inner = arguments_of(node[key], name, kind) if isinstance(raw[key], dict) else None
        if inner:
            yield from _settings(node[key], f"{name}.", inner)
        else:
            yield name, shown_value(raw[key]).replace("???", ""), kind, meanings.get(key, "")


def _meanings(target: str) -> dict[str, str]:
    """Return the first sentence of the docstring of a class or function on each argument."""
    made = get_object(target)
    texts = [inspect.getdoc(part) or "" for part in (made, getattr(made, "__init__", None))]
    found = ARGUMENT.findall("\n".join(text.partition("Args:\n")[2].partition("\n\n")[0] for text in texts))
    sentences = {name: re.split(r"(?<!\sal)\.\s", " ".join(text.split()))[0] for name, text in found}
    return {
        name: re.sub(r"\bNone\b", "null", s).replace("`", "").rstrip(".") for name, s in sentences.items()
    }


def _comments(path: Path, package: str) -> dict[str, str]:
    """Return the comments behind the settings of a file, by the names of the settings."""
    text = path.read_text(encoding="utf-8")
    if declared := re.search(r"^# @package (\S+)", text):
        package = declared[1].removeprefix("_global_")
    comments, names = {}, dict[int, str]()  # names by their indent
    for indent, key, comment in COMMENT.findall(text):
        names = {depth: name for depth, name in names.items() if depth < len(indent)} | {len(indent): key}
        comments[".".join(filter(None, [package, *names.values()]))] = comment
    return comments
