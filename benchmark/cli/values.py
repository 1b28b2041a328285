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
from omegaconf import DictConfig, open_dict, read_write

from benchmark.cli.check_settings import shown_value
from benchmark.cli.jobs import planned_sweeps
from benchmark.cli.mistakes import explain_command
from benchmark.cli.overrides import (
    COMBINED,
    COUNTS,
    GROUPS,
    NESTED_GROUPS,
    SIZES,
    need_not_exist,
    parse_count,
    quoted,
)
from benchmark.cli.own_parts import name_own_parts
from benchmark.core.errors import UserError
from benchmark.core.paths import user_path
from benchmark.run.config import CONF, USER_ERRORS

SETTING = re.compile(r"[~+]*\w[\w./@-]*")
TEXT = re.compile(r"[\w./:%@+-]+", re.ASCII)  # that needs no quotes: the name of a config, MODULE:NAME
NO_TEXT = re.compile(
    r"null|true|false|nan|[+-]?inf|[+-]?[\d_.]+(e[+-]?\d+)?", re.IGNORECASE
)  # without quotes


def compose_values(*settings: Mapping[str, Any]) -> DictConfig:
    """Return the configuration of one run, with the node `hydra`. Raises `UserError` for a wrong name or value.

    Args:
        settings: by their names, or nested: text, numbers, truth values, None, paths, and lists of these. ``+NAME``
            adds a setting, and ``~NAME`` removes one. Later mappings count before earlier ones.
    """
    values = dict(chain(*map(_flat, settings)))
    given = [name if name[0] == "~" else f"{name}={_typed(value)}" for name, value in values.items()]
    named = name_own_parts([f"++{o}" if need_not_exist(o.partition("=")[0]) else o for o in given])
    if planned_sweeps(named):
        raise UserError(f"{' '.join(named)} lists several runs; call once for each of them")
    try:
        with initialize_config_dir(str(CONF), version_base="1.3", job_name="benchmark"):
            cfg = compose("config", named, return_hydra_config=True)
    except USER_ERRORS as error:
        raise UserError(explain_command(error, given)) from error
    with read_write(cfg.hydra), open_dict(cfg.hydra):
        cfg.hydra.overrides.task = given
        cfg.hydra.mode = RunMode.MULTIRUN  # as in a sweep, a run with a result is not made again
    return cfg


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by their whole names, with values that configurations take."""
    for key, value in settings.items():
        name = NESTED_GROUPS.get(f"{prefix}{key}", f"{prefix}{key}")
        if not SETTING.fullmatch(name):
            raise UserError(f"{name} must be the name of a setting")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
            continue
        plain = _plain(name, value)
        group = name.lstrip("+").partition("@")[0]
        if isinstance(plain, list) and group in GROUPS and group not in COMBINED:
            raise UserError(
                f"{name}={','.join(map(str, plain))} lists several runs; call once for each of them"
            )
        count = parse_count(name, shown_value(plain)) if name in COUNTS else None
        if count is not None:
            is_named = name == "size" and count in SIZES
            yield ("size", SIZES[count]) if is_named else (COUNTS[name], count)
        else:
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


def _typed(value: Any) -> str:
    """Return a value as it is typed in a command."""
    if isinstance(value, list):
        return f"[{','.join(map(_typed, value))}]"
    if isinstance(value, str) and (NO_TEXT.fullmatch(value) or not TEXT.fullmatch(value)):
        return quoted(value)
    return value if isinstance(value, str) else shown_value(value)
