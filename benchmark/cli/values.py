"""A configuration from values of Python: text is taken literally, never as a list, a sweep or an interpolation."""

import re
import reprlib
from collections.abc import Iterator, Mapping
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import ConfigAttributeError, ConfigKeyError

from benchmark.cli.check_settings import shown_value
from benchmark.cli.jobs import planned_sweeps
from benchmark.cli.mistakes import explain_command, unknown_setting
from benchmark.cli.overrides import (
    COMBINED,
    COUNTS,
    GROUPS,
    NESTED_GROUPS,
    NO_NAME,
    SIZES,
    need_not_exist,
    parse_count,
    quoted,
)
from benchmark.cli.own_parts import name_own_parts
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import user_path
from benchmark.run.config import CONF, USER_ERRORS, shipped_names

NAME = re.compile(r"[\w./:%@+-]+", re.ASCII)  # of a config, MODULE:NAME, or other text without quotes
SETTING = re.compile(r"[~+]*\w[\w./@-]*")
INTERPOLATION = re.compile(r"(\\*)\$\{")


def compose_values(*settings: Mapping[str, Any]) -> DictConfig:
    """Return the configuration of one run, with the node `hydra`. Raises `UserError` for a wrong name or value.

    Args:
        settings: by their names, or nested: text, numbers, truth values, None, paths, and lists of these. ``+NAME``
            adds a setting, and ``~NAME`` removes one. Later mappings count before earlier ones.
    """
    choices, values = list[str](), dict[str, Any]()
    for typed, given in chain(*map(_flat, settings)):
        name, value = _counted(typed, given)
        if name[:1] == "~":
            choices.append(name)
        elif name.partition("@")[0].lstrip("+") in {*GROUPS, *NESTED_GROUPS}:
            choices.append(f"{NESTED_GROUPS.get(name, name)}={_config(name, value)}")
        else:
            values[name] = value
    choices = name_own_parts(choices)
    if planned_sweeps(choices):
        raise UserError(f"{' '.join(choices)} lists several runs; call once for each of them")
    overrides = [*choices, *(f"{name}={_written(value)}" for name, value in values.items())]
    try:
        with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
            cfg = compose("config", choices, return_hydra_config=True)
    except USER_ERRORS as error:
        raise UserError(explain_command(error, overrides)) from error
    for name, value in values.items():
        try:
            OmegaConf.update(
                cfg, name.lstrip("+"), _literal(value), force_add=name[0] == "+" or need_not_exist(name)
            )
        except (ConfigAttributeError, ConfigKeyError) as error:
            raise UserError(unknown_setting(name, overrides)) from error
    with read_write(cfg.hydra), open_dict(cfg.hydra):
        cfg.hydra.overrides.task = overrides
    return cfg


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by their whole names, with values that configurations take."""
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if not SETTING.fullmatch(name):
            raise UserError(f"{name} must be the name of a setting")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, _plain(name, value)


def _plain(name: str, value: object) -> Any:
    """Return a value as text, a number, a truth value, None, or a list of these."""
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, Path) or (isinstance(value, str) and value.startswith("~/")):
        return str(user_path(value))
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    kinds = "text, a number, True, False, None, a path, or a list or mapping of these"
    raise UserError(f"{name}={reprlib.repr(value)} must be {kinds}")


def _counted(name: str, value: Any) -> tuple[str, Any]:
    """Return a size as the config or number, and a budget as the number, that ``200k``, 200_000 or ``10%`` means."""
    count = parse_count(name, shown_value(value)) if name in COUNTS else None
    if count is None:
        return name, value
    return ("size", SIZES[count]) if name == "size" and count in SIZES else (COUNTS[name], count)


def _config(name: str, value: Any) -> str:
    """Return the name of a config, or names of configs in brackets."""
    group = name.lstrip("+").partition("@")[0]
    names = value if isinstance(value, list) else [value]
    if isinstance(value, list) and group not in COMBINED:
        raise UserError(f"{name}={','.join(map(str, value))} lists several runs; call once for each of them")
    for one in names:
        if value is not None and not (isinstance(one, str) and NAME.fullmatch(one)):
            raise UserError(f"{name}={one} is unknown; {did_you_mean(str(one), shipped_names(group))}")
    return _written(value)


def _written(value: Any) -> str:
    """Return a value as it is typed in a command."""
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, str):
        return value if NAME.fullmatch(value) and not NO_NAME.fullmatch(value) else quoted(value)
    return shown_value(value)


def _literal(value: Any) -> Any:
    """Return a value in which OmegaConf reads no interpolation."""
    if isinstance(value, list):
        return list(map(_literal, value))
    return INTERPOLATION.sub(r"\1\1\\${", value) if isinstance(value, str) else value
