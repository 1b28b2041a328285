"""The settings of a config, with types, defaults and meanings, for ``--help filter=icc``."""

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from benchmark.cli.check_settings import Arguments, arguments_of, shown_value
from benchmark.cli.mistakes import HIDDEN
from benchmark.cli.settings import setting_types
from benchmark.core.ranges import requirement
from benchmark.run.config import CONF, UNBOUNDED, register_resolvers

COMMENT = re.compile(r"^ *(\w+):[^#\n]*# (?:\([^)]*\) ?)?(.*)", re.MULTILINE)  # without the type
ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
Setting = tuple[str, str, Any, str]  # name, default, type and meaning


def setting_lines(group: str, name: str, width: int) -> list[str]:
    """Return ``NAME=DEFAULT`` for each setting of a config with type and meaning; settings of its parts are last."""
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("config", [f"{group}={name}"])
    settings = list(_settings(cfg, "", Arguments.of(setting_types()), [group, *[name] * (group == "task")]))
    path, shared = CONF / group / f"{name}.yaml", (CONF / "config.yaml").read_text(encoding="utf-8")
    comments = {key: text for key, text in COMMENT.findall(shared) if key in UNBOUNDED}
    comments |= dict(COMMENT.findall(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    lines = []
    for setting, default, kind, meaning in sorted(settings, key=lambda setting: setting[0].count(".")):
        *above, key = setting.split(".")
        meaning = meaning or (comments.get(key, "") if len(above) < 3 else "")  # deeper: of another config
        parts = ["" if kind in (Any, None) else requirement(kind), meaning]
        about = "; ".join(dict.fromkeys(filter(None, parts)))
        cut = default if len(default) <= width else f"{default[:width]}..."
        lines += [f"  {setting}={cut}", *(f"      {part}" for part in textwrap.wrap(about, width - 6))]
    return ["", "Settings, with their defaults:", *lines] if lines else []


def _settings(node: DictConfig, prefix: str, arguments: Arguments, only: Sequence[str]) -> Iterator[Setting]:
    """Yield the settings below a name, at the top level only the groups `only`."""
    meanings = _meanings(str(node["_target_"])) if "_target_" in node else {}
    raw: Any = OmegaConf.to_container(node)
    for key in filter(raw.__contains__, only or raw):
        name, kind = f"{prefix}{key}", arguments.types.get(key, arguments.others)
        if key.startswith("_") or key in HIDDEN or name == "task.name":
            continue
        inner = arguments_of(node[key], name, kind) if isinstance(raw[key], dict) else None
        if inner:
            yield from _settings(node[key], f"{name}.", inner, ())
        elif prefix:
            yield name, shown_value(raw[key]).replace("???", ""), kind, meanings.get(key, "")


def _meanings(target: str) -> dict[str, str]:
    """Return the first sentence of the docstring of a class or function on each argument."""
    made = get_object(target)
    texts = [inspect.getdoc(part) or "" for part in (made, getattr(made, "__init__", None))]
    found = ARGUMENT.findall("\n".join(text.partition("Args:\n")[2].partition("\n\n")[0] for text in texts))
    sentences = {name: re.split(r"(?<!\sal)\.\s", " ".join(text.split()))[0] for name, text in found}
    return {n: re.sub(r"\bNone\b", "null", s).replace("`", "").rstrip(".") for n, s in sentences.items()}
