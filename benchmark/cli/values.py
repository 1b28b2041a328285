"""A configuration from values of Python: text is taken literally, never as a list, a sweep or an interpolation."""

import re
import reprlib
from collections.abc import Iterator, Mapping
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import ConfigAttributeError, ConfigKeyError

from benchmark.cli import overrides
from benchmark.cli.check_settings import shown_value
from benchmark.cli.jobs import planned_sweeps
from benchmark.cli.mistakes import explain_command, unknown_setting
from benchmark.cli.own_parts import name_own_parts
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import user_path
from benchmark.run.config import CONF, USER_ERRORS, shipped_names

SETTING = re.compile(r"[~+]*\w[\w./@-]*")
TEXT = re.compile(r"[\w./:%@+-]+", re.ASCII)  # that needs no quotes: the name of a config, MODULE:NAME
INTERPOLATION = re.compile(r"(\\*)\$\{")


def compose_values(*settings: Mapping[str, Any]) -> DictConfig:
    """Return the configuration of one run, with the node `hydra`. Raises `UserError` for a wrong name or value.

    Args:
        settings: by their names, or nested: text, numbers, truth values, None, paths, and lists of these. ``+NAME``
            adds a setting, and ``~NAME`` removes one. Later mappings count before earlier ones.
    """
    values = dict(chain(*map(_flat, settings)))
    choices = {name: value for name, value in values.items() if _group(name) or name[0] == "~"}
    typed = {name: name if name[0] == "~" else f"{name}={_typed(value)}" for name, value in values.items()}
    named = name_own_parts([typed[name] for name in choices])
    given = [*named, *(typed[name] for name in values if name not in choices)]
    if planned_sweeps(named):
        raise UserError(f"{' '.join(named)} lists several runs; call once for each of them")
    try:
        with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
            cfg = compose("config", named, return_hydra_config=True)
    except USER_ERRORS as error:
        raise UserError(explain_command(error, given)) from error
    for name in [name for name in values if name not in choices]:
        try:
            added = name[0] == "+" or overrides.need_not_exist(name)
            OmegaConf.update(cfg, name.lstrip("+"), _literal(values[name]), force_add=added)
        except (ConfigAttributeError, ConfigKeyError) as error:
            raise UserError(unknown_setting(name, given)) from error
    with read_write(cfg.hydra), open_dict(cfg.hydra):
        cfg.hydra.overrides.task = given
        cfg.hydra.mode = RunMode.MULTIRUN  # as in a sweep, a run with a result is not made again
    return cfg


def _group(name: str) -> str:
    """Return the group of configs that a setting chooses from; empty for any other setting."""
    group = name.lstrip("+").partition("@")[0]
    return group if group in {*overrides.GROUPS, *overrides.NESTED_GROUPS.values()} else ""


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by their whole names, with values that configurations take."""
    for key, value in settings.items():
        name = overrides.NESTED_GROUPS.get(f"{prefix}{key}", f"{prefix}{key}")
        if not SETTING.fullmatch(name):
            raise UserError(f"{name} must be the name of a setting")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
            continue
        plain = _plain(name, value)
        count = overrides.parse_count(name, shown_value(plain)) if name in overrides.COUNTS else None
        if count is not None:
            is_named = name == "size" and count in overrides.SIZES
            yield ("size", overrides.SIZES[count]) if is_named else (overrides.COUNTS[name], count)
        else:
            _check_choice(name, plain)
            yield name, plain


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


def _check_choice(name: str, value: Any) -> None:
    """Raise `UserError` for what cannot be the name of a config, if a setting chooses one."""
    if (group := _group(name)) and isinstance(value, list) and group not in overrides.COMBINED:
        raise UserError(f"{name}={','.join(map(str, value))} lists several runs; call once for each of them")
    for one in (value if isinstance(value, list) else [value]) if group else ():
        if value is not None and not (isinstance(one, str) and TEXT.fullmatch(one)):
            raise UserError(f"{name}={one} is unknown; {did_you_mean(str(one), shipped_names(group))}")


def _typed(value: Any) -> str:
    """Return a value as it is typed in a command."""
    if isinstance(value, list):
        return f"[{','.join(map(_typed, value))}]"
    if isinstance(value, str):
        return (
            value
            if TEXT.fullmatch(value) and not overrides.NO_NAME.fullmatch(value)
            else overrides.quoted(value)
        )
    return shown_value(value)


def _literal(value: Any) -> Any:
    """Return a value in which OmegaConf reads no interpolation."""
    if isinstance(value, list):
        return list(map(_literal, value))
    return INTERPOLATION.sub(r"\1\1\\${", value) if isinstance(value, str) else value
