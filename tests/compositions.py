"""Compositions of Hydra that are remembered: tests make a thousand, of some hundred choices of configs."""

import copy
import os
import pickle
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hydra._internal import config_loader_impl, defaults_list
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, ListConfig, OmegaConf

PART = 9  # configs of a defaults list that are merged at once


class Defaults(list[Any]):
    """The defaults list of a composition."""

    tree: Any
    choices: Mapping[str, str]
    stored: Any  # configs of the store, whose ids are in the key
    files: Hashable


def remember_compositions(patch: pytest.MonkeyPatch) -> None:
    """Parse each YAML file once, and merge the configs of each choice once, as long as no file and no part changes.

    Nor does Hydra make a map of all choices for each of these files, which costs a third of a composition: a default
    that named another choice by `${}` would need it, and would fail without.
    """
    Plugins.instance()  # its search makes the classes of the sources again
    nothing, remembered = OmegaConf.create(), dict[Hashable, Defaults]()
    make, merged = config_loader_impl.create_defaults_list, dict[Hashable, bytes]()
    loader: Any = config_loader_impl.ConfigLoaderImpl
    merge, load = loader._compose_config_from_defaults_list, loader._load_single_config

    def create_defaults_list(repo: Any, config_name: Any, overrides_list: Any, **options: Any) -> Any:
        overrides = defaults_list.Overrides(repo, overrides_list)
        groups = (overrides.override_choices, overrides.append_group_defaults, overrides.deletions)
        stored = [*_stored(ConfigStore.instance().repo)]
        key = (_files(repo), tuple(map(id, stored)), config_name, repr(groups), repr(options))
        if (known := remembered.get(key)) is None:
            created = make(repo, config_name, overrides_list, **options)
            known = remembered[key] = Defaults(created.defaults)
            known.tree, known.choices = created.defaults_tree, created.overrides.known_choices
            known.stored, known.files = stored, key[:2]
        overrides.known_choices = dict(known.choices)
        return defaults_list.DefaultsList(known, known.tree, overrides.config_overrides, overrides)

    def compose_config(self: Any, defaults: Defaults, repo: Any) -> Any:
        begun: list[Any] = []
        for start in range(0, len(defaults), PART):  # lists that begin alike share what their beginning gives
            end = start + PART
            key = (defaults.files, *((repr(default), default.primary) for default in defaults[:end]))
            if key not in merged:
                merged[key] = pickle.dumps(merge(self, begun + defaults[start:end], repo))
            begun = [merged[key]]
        return pickle.loads(*begun)

    def load_config(self: Any, default: Any, repo: Any) -> Any:
        if isinstance(default, bytes):
            return ConfigResult("", "", pickle.loads(default), {})
        return load(self, default, repo)

    patch.setattr(config_loader_impl, "create_defaults_list", create_defaults_list)
    patch.setattr(loader, "_compose_config_from_defaults_list", compose_config)
    patch.setattr(loader, "_load_single_config", load_config)
    patch.setattr(ConfigRepository, "__deepcopy__", lambda self, _: copy.copy(self), raising=False)
    patch.setattr("hydra._internal.defaults_list._create_interpolation_map", lambda *_: nothing)
    for scheme in ("file", "pkg"):
        _parse_once(patch, SourcesRegistry.instance().types[scheme])
    for kind in (DictConfig, ListConfig):
        _copy_fast(patch, kind)


def _parse_once(patch: pytest.MonkeyPatch, source: type[ConfigSource]) -> None:
    """Parse a file of the source again only if it has changed; a package's never does."""
    parse, parsed = source.load_config, dict[Hashable, bytes]()

    def load_config(self: ConfigSource, config_path: str) -> ConfigResult:
        path = Path(self.path, self._normalize_file_name(config_path))
        key: Hashable = (self.provider, path)
        if self.scheme() == "file":
            if not path.is_file():
                return parse(self, config_path)
            key = (key, path.stat().st_mtime_ns, path.stat().st_size)
        if key not in parsed:
            parsed[key] = pickle.dumps(parse(self, config_path))  # a third of the time of a deep copy
        return pickle.loads(parsed[key])

    patch.setattr(source, "load_config", load_config)


def _copy_fast(patch: pytest.MonkeyPatch, kind: type[Any]) -> None:
    """Copy configs by pickling, in two fifths of the time; a composition and each part that is built make copies."""
    deepcopy = kind.__deepcopy__

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        parent, self.__dict__["_parent"] = self.__dict__["_parent"], None
        try:
            made = pickle.loads(pickle.dumps(self))
        except (pickle.PicklingError, AttributeError, TypeError):  # an object of the user's
            made = deepcopy(self, memo)
        finally:
            self.__dict__["_parent"] = parent
        made.__dict__["_parent"] = parent
        return made

    patch.setattr(kind, "__deepcopy__", copied)


def _files(repo: Any) -> Hashable:
    """Return the folders that configs come from, with the time and the size of each file."""
    found: list[Any] = []
    for source in repo.get_sources():
        found.append((source.provider, source.path))
        for folder, _, names in os.walk(source.path) if source.scheme() == "file" else ():
            for name in names:
                status = Path(folder, name).stat()
                found.append((folder, name, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _stored(configs: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the configs of Hydra's store."""
    for config in configs.values():
        yield from _stored(config) if isinstance(config, dict) else [config]
